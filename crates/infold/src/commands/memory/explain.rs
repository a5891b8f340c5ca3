//! Why a search found memories, and whether a branch that opens for the same words would be given each.

use std::fmt::Write as _;

use infold_core::memory::{InjectionRules, MemoryState};
use infold_engine::{FindReason, GiveFate, ListedMemory};
use serde_json::Value;

use crate::draw::{Style, Tone, one_line, wrapped};

/// How far lines are indented below a memory's title.
const INDENT: &str = "   ";

/// Memories that were found, each with its reasons.
pub fn text(memories: &[ListedMemory], reasons: &[FindReason], rules: &InjectionRules, style: &Style) -> String {
    let mut text = String::new();
    for ((memory, reason), place) in memories.iter().zip(reasons).zip(1..) {
        let id = style.tone(Tone::Strong, memory.row.memory.id.as_str());
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{place}. {id}  {}", one_line(memory.row.memory.lesson.title.as_str()));
        let tone = if reason.fate == GiveFate::Given { Tone::Good } else { Tone::Warn };
        let mut line = |tone: Tone, words: &str| {
            for line in wrapped(words, style.width.saturating_sub(INDENT.len())) {
                let _ = writeln!(text, "{INDENT}{}", style.tone(tone, &line));
            }
        };
        line(tone, &fate(memory, reason, rules));
        line(Tone::Plain, &order(memory, &reason.parts));
    }
    text
}

/// What would become of a memory, and why.
fn fate(memory: &ListedMemory, reason: &FindReason, rules: &InjectionRules) -> String {
    let InjectionRules { confidence_min, relevance_min, .. } = rules;
    let relevance = reason.parts["relevance"].as_f64().unwrap_or(0.0);
    let sure = format!("confidence {:.2}, at least {confidence_min:.2} is needed", memory.confidence);
    let related = format!("relevance {relevance:.2}, at least {relevance_min:.2} is needed");
    let why = match (reason.fate, &memory.row.memory.state) {
        (GiveFate::Given, _) => return format!("a branch would be given it, if it has room: {related}; {sure}"),
        (GiveFate::NotLive, MemoryState::Waiting) => "it waits for you: `infold memory review`".to_owned(),
        (GiveFate::NotLive, MemoryState::Replaced(by)) => format!("{by} has taken its place"),
        (GiveFate::NotLive, MemoryState::Rejected) => "you rejected it".to_owned(),
        (GiveFate::NotLive | GiveFate::BehindOthers, _) => "as many as may be given are before it".to_owned(),
        (GiveFate::Unsure, _) => format!("it is not sure enough: {sure}"),
        (GiveFate::Unrelated, _) => format!("it has too little to do with these words: {related}"),
        (GiveFate::Silenced, _) => "nothing is given here: see `infold memory silence` and memory.inject".to_owned(),
    };
    format!("no branch would be given it: {why}")
}

/// What a memory's place comes from, the largest part first.
fn order(memory: &ListedMemory, parts: &Value) -> String {
    let number = |field: &str| parts[field].as_f64().unwrap_or(0.0);
    let signs = parts["signs"].as_object().into_iter().flatten();
    let mut signs: Vec<(&str, f64)> = signs.map(|(word, sign)| (word.as_str(), sign.as_f64().unwrap_or(0.0))).collect();
    signs.sort_by(|one, other| other.1.total_cmp(&one.1));
    let sum: f64 = signs.iter().map(|(_, sign)| sign).sum();
    let words: Vec<String> = signs.iter().map(|(word, sign)| format!("{word} {sign:.2}")).collect();
    let (score, left) = (number("score"), number("left of the sum"));
    let changed = if memory.row.is_changed { ", the code has changed since" } else { "" };
    format!("score {score:.2}: {}; {sum:.2} in all, of which {left:.2} is left{changed}", words.join(", "))
}
