//! `infold memory show` and `infold memory why`: one memory with all that is known of it, and what a branch was given.

use std::fmt::Write as _;

use infold_core::memory::{MemoryScope, MemoryState};
use infold_engine::{ShownDetail, WhyShown};
use serde_json::Value;

use super::Memories;
use super::list::from;
use crate::commands::Invocation;
use crate::commands::sessions::now_ms;
use crate::draw::{Style, Tone, ago, one_line, thousands, wrapped};
use crate::failure::tell;
use crate::output::Form;

/// How far lines are indented.
const INDENT: usize = 2;

/// Arguments of `memory show`.
#[derive(Debug, clap::Args)]
pub struct ShowMemoryArgs {
    /// The memory's name
    memory: String,
}

/// Arguments of `memory why`.
#[derive(Debug, clap::Args)]
pub struct WhyArgs {
    /// The branch's id
    branch: String,
}

/// Shows one memory.
pub fn run(args: &ShowMemoryArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let memories = Memories::with(invocation, &args.memory)?;
    let shown = memories.ask(memories.engine.show_memory(&memories.who, &args.memory))?;
    let output = &invocation.output;
    match output.form {
        Form::Json => output.json(&infold_control::memory_detail_json(&shown)),
        Form::Text => Ok(output.text(&text(&shown, now_ms(), &output.style))?),
    }
}

/// Says which memories a branch was given, and why.
pub fn why(args: &WhyArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let memories = Memories::open(invocation)?;
    let why = memories.ask(memories.engine.why_shown(&memories.who, &args.branch))?;
    let output = &invocation.output;
    match (output.form, &why) {
        (Form::Json, why) => output.json(&infold_control::branch_memories_json(why.as_ref())),
        (Form::Text, Some(why)) if !why.row.memories.is_empty() => Ok(output.text(&reasons(why, &output.style))?),
        (Form::Text, _) => {
            tell("note", "the branch was given no memories");
            Ok(())
        }
    }
}

fn text(shown: &ShownDetail, now_ms: u64, style: &Style) -> String {
    let (row, memory) = (&shown.detail.row, &shown.detail.row.memory);
    let lesson = &memory.lesson;
    let mut text = format!("{}  {}\n", style.tone(Tone::Strong, memory.id.as_str()), one_line(lesson.title.as_str()));
    for line in lesson.lesson.as_str().lines() {
        for line in wrapped(&one_line(line), style.width.saturating_sub(INDENT)) {
            // Writing into a string cannot fail.
            let _ = writeln!(text, "  {line}");
        }
    }
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<12} {value}");
    };
    let state = match &memory.state {
        MemoryState::Replaced(by) => format!("replaced by {by}"),
        _ => super::list::state(memory).1.to_owned(),
    };
    line("kind", lesson.kind.as_str().to_owned());
    line("state", state);
    line("sure", format!("{:.2}", shown.confidence));
    line("from", origin(shown));
    line(
        "counts in",
        match &memory.scope {
            MemoryScope::Project(project) => format!("project {}", project.as_str()),
            MemoryScope::Everywhere => "every project".to_owned(),
        },
    );
    let merged = if row.is_merged { ", merged" } else { "" };
    memory.git_branch.iter().for_each(|name| line("git branch", format!("{}{merged}", one_line(name.as_str()))));
    lesson.files.iter().for_each(|file| line("file", one_line(file.path.as_str())));
    lesson.commands.iter().for_each(|command| line("command", one_line(command.as_str())));
    if row.is_changed {
        line("note", "the code has changed since".to_owned());
    }
    if let Some(old) = &shown.replaces {
        line("replaces", format!("{} {}", old.id, one_line(old.lesson.title.as_str())));
    }
    line("made", ago(now_ms, memory.made_at_ms));
    line("shown", format!("{} times, {} branches relied on it", thousands(row.shown), thousands(row.used)));
    for evidence in &shown.detail.evidence {
        let of = evidence.branch.as_ref().or(evidence.session.as_ref());
        let of = of.map(|name| format!(" in {name}")).unwrap_or_default();
        line("evidence", format!("{}{of}, {}", evidence.what, ago(now_ms, evidence.at_ms)));
    }
    for given in &shown.detail.shown_in {
        line("given to", format!("{} of session {}, {}", given.branch, given.session, ago(now_ms, given.at_ms)));
    }
    text
}

fn origin(shown: &ShownDetail) -> String {
    let memory = &shown.detail.row.memory;
    let mut words = from(memory).to_owned();
    memory.origin.label.iter().for_each(|label| words.push_str(&format!(", {}", one_line(label.as_str()))));
    memory.origin.session.iter().for_each(|session| words.push_str(&format!(", session {session}")));
    memory.origin.branch.iter().for_each(|(branch, _)| words.push_str(&format!(", branch {branch}")));
    words
}

fn reasons(why: &WhyShown, style: &Style) -> String {
    let mut text = String::new();
    for (given, now) in why.row.memories.iter().zip(&why.memories) {
        let title = match now {
            Some(now) => one_line(now.row.memory.lesson.title.as_str()),
            None => "forgotten since".to_owned(),
        };
        let id = style.tone(Tone::Strong, given.id.as_str());
        let _ = writeln!(text, "{}. {id}  {title}", given.rank);
        for (name, part) in parts(&given.parts) {
            let _ = writeln!(text, "   {name:<14} {part}");
        }
    }
    text
}

/// The parts of a score, one name and value each; those of parts within a part have both names.
fn parts(value: &Value) -> Vec<(String, String)> {
    let Some(fields) = value.as_object() else { return Vec::new() };
    fields
        .iter()
        .flat_map(|(name, part)| match part {
            Value::Object(_) => {
                parts(part).into_iter().map(|(inner, value)| (format!("{name} {inner}"), value)).collect()
            }
            other => vec![(name.clone(), one_line(&other.to_string()))],
        })
        .collect()
}
