//! Summaries: the text that replaces the old part of a thread.
//!
//! The mechanical part is made of facts alone and is bounded, so that there is always a summary that fits. A model's
//! words are put beside it and never replace it. They are left out, with the reason, where they are empty, too long, or
//! would make the summary larger than what it replaces.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::SummaryFacts;
use super::facts::head_chars;
use crate::memory::{head, one_line};
use crate::{Counter, grouped};

/// What is shown of a branch: what it is for, and what it has so far.
const BRANCH_DESCRIPTION_CHARS_MAX: usize = 200;
const BRANCH_FOUND_CHARS_MAX: usize = 600;
/// The heading of what a model wrote.
const MODEL_HEADING: &str = "# Summary";

/// How long each part of a summary may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryBounds {
    /// Characters of the user's own words, with a line around each message. What is beyond is stored.
    pub words_chars_max: usize,
    /// Characters of a model's words about the old part.
    pub model_words_chars_max: usize,
    /// Characters of the notes.
    pub notes_chars_max: usize,
    /// Files that are named.
    pub files_max: usize,
    /// Commands that are named.
    pub commands_max: usize,
    /// Open branches that are described.
    pub branches_max: usize,
}

impl SummaryBounds {
    /// Half of everything, for a summary that is too large still.
    pub(super) fn halved(&self) -> Self {
        Self {
            words_chars_max: self.words_chars_max / 2,
            model_words_chars_max: self.model_words_chars_max / 2,
            notes_chars_max: self.notes_chars_max / 2,
            files_max: self.files_max / 2,
            commands_max: self.commands_max / 2,
            branches_max: self.branches_max / 2,
        }
    }
}

/// A branch that is open while its parent's thread is compacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchSoFar {
    /// Its id.
    pub id: String,
    /// What it is for.
    pub description: String,
    /// What it has found or done so far.
    pub so_far: String,
}

/// What a summary says beside the facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryFrame<'a> {
    /// The handle under which the old part is stored.
    pub handle: &'a str,
    /// How many items the old part has.
    pub items: usize,
    /// How many pinned items follow the summary as they were.
    pub pinned: usize,
    /// Branches that are open.
    pub branches: &'a [BranchSoFar],
    /// The agent's own notes.
    pub notes: &'a str,
}

/// The summary that needs no model: the facts within their bounds, and where the rest is.
pub fn mechanical_summary(facts: &SummaryFacts, frame: &SummaryFrame<'_>, bounds: &SummaryBounds) -> String {
    let facts = facts.bounded(bounds);
    let mut text = lead(frame);
    write_words(&mut text, &facts);
    write_branches(&mut text, frame.branches, bounds.branches_max);
    write_list(&mut text, "# Files changed", facts.files_changed.iter().cloned());
    write_list(&mut text, "# Files read", facts.files_read.iter().cloned());
    write_left_out(&mut text, facts.files_left_out, "file");
    write_commands(&mut text, &facts);
    write_text(&mut text, "# Notes", frame.notes, bounds.notes_chars_max);
    write_text(&mut text, MODEL_HEADING, &facts.model_words, bounds.model_words_chars_max);
    text.truncate(text.trim_end().len());
    text
}

fn lead(frame: &SummaryFrame<'_>) -> String {
    let mut text = format!(
        "[The conversation so far, compacted. Its {} items are stored: use the \"read_result\" tool with ref_id=\"{}\" to \
         read them.",
        grouped(frame.items as u64),
        frame.handle
    );
    if frame.pinned > 0 {
        let _ = write!(text, " {} pinned items follow below, word for word.", grouped(frame.pinned as u64));
    }
    text.push_str("]\n");
    text
}

fn write_words(text: &mut String, facts: &SummaryFacts) {
    if facts.words.is_empty() && facts.words_left_out == 0 {
        return;
    }
    text.push_str("\n# What the user said, word for word\n");
    for words in &facts.words {
        let _ = writeln!(text, "<user>\n{}\n</user>", words.text);
        if words.cut_chars > 0 {
            let _ = writeln!(text, "[{} more characters are stored]", grouped(words.cut_chars));
        }
    }
    write_left_out(text, facts.words_left_out, "message");
}

fn write_branches(text: &mut String, branches: &[BranchSoFar], branches_max: usize) {
    let line = |branch: &BranchSoFar| {
        let description = head(&one_line(&branch.description), BRANCH_DESCRIPTION_CHARS_MAX);
        let so_far = head(&one_line(&branch.so_far), BRANCH_FOUND_CHARS_MAX);
        let so_far = if so_far.is_empty() { "nothing".to_owned() } else { so_far };
        format!("{}: {description}. So far: {so_far}", branch.id)
    };
    write_list(text, "# Open branches", branches.iter().take(branches_max).map(line));
    let left_out = branches.iter().skip(branches_max).map(|branch| branch.id.as_str()).collect::<Vec<_>>();
    if !left_out.is_empty() {
        let _ = writeln!(text, "[also open: {}]", head(&left_out.join(", "), BRANCH_FOUND_CHARS_MAX));
    }
}

fn write_commands(text: &mut String, facts: &SummaryFacts) {
    let lines = facts.commands.iter().map(|run| {
        let status = match (run.exit_code, &run.error) {
            (Some(code), Some(error)) => format!("exit code {code}: {error}"),
            (None, Some(error)) => format!("failed: {error}"),
            (Some(code), None) => format!("exit code {code}"),
            (None, None) => "done".to_owned(),
        };
        format!("`{}`: {status}", run.command)
    });
    write_list(text, "# Commands", lines);
    write_left_out(text, facts.commands_left_out, "command");
}

fn write_list(text: &mut String, heading: &str, lines: impl Iterator<Item = String>) {
    for (at, line) in lines.enumerate() {
        if at == 0 {
            let _ = writeln!(text, "\n{heading}");
        }
        let _ = writeln!(text, "- {line}");
    }
}

fn write_left_out(text: &mut String, count: u64, what: &str) {
    if count > 0 {
        let plural = if count == 1 { "" } else { "s" };
        let _ = writeln!(text, "[{} earlier {what}{plural} left out here: in what is stored]", grouped(count));
    }
}

fn write_text(text: &mut String, heading: &str, body: &str, chars_max: usize) {
    let body = head_chars(body.trim(), chars_max);
    if !body.is_empty() {
        let _ = writeln!(text, "\n{heading}\n{body}");
    }
}

/// What a model was asked to write about the old part of a thread, and gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummariserWords<'a> {
    /// No model was asked.
    NotAsked,
    /// It wrote this.
    Said(&'a str),
    /// It gave no answer, for this reason.
    Failed(&'a str),
}

/// What became of a model's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fate", rename_all = "snake_case")]
pub enum WordsFate {
    /// They are in the summary.
    Used,
    /// No model was asked, or no summary was needed.
    NotAsked,
    /// The model gave no answer.
    Failed {
        /// What went wrong.
        why: String,
    },
    /// The model wrote nothing.
    Empty,
    /// The model wrote more than there is room for.
    TooLong {
        /// How long its words are.
        chars: u64,
        /// How long they may be.
        chars_max: u64,
    },
    /// With them the summary would be as large as what it replaces, or would not reach the target.
    NoRoom {
        /// The summary's size with them.
        summary_tokens: u64,
        /// The most that it may have.
        tokens_max: u64,
    },
}

/// A summary, and what became of the model's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedSummary {
    /// The summary's text.
    pub text: String,
    /// What became of the model's words.
    pub words: WordsFate,
}

/// How large a merged summary may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeBounds {
    /// Characters that a model's words may have.
    pub words_chars_max: usize,
    /// Tokens that the whole summary may have: fewer than what it replaces.
    pub tokens_max: u64,
}

/// Puts a model's words beside the mechanical summary, or says why they are left out.
pub fn merge_summary(
    mechanical: &str,
    words: SummariserWords<'_>,
    bounds: &MergeBounds,
    counter: Counter,
) -> MergedSummary {
    let alone = |words| MergedSummary { text: mechanical.to_owned(), words };
    let said = match words {
        SummariserWords::NotAsked => return alone(WordsFate::NotAsked),
        SummariserWords::Failed(why) => return alone(WordsFate::Failed { why: why.to_owned() }),
        SummariserWords::Said(said) => said.trim(),
    };
    let chars = said.chars().count();
    if chars == 0 {
        return alone(WordsFate::Empty);
    }
    if chars > bounds.words_chars_max {
        return alone(WordsFate::TooLong { chars: chars as u64, chars_max: bounds.words_chars_max as u64 });
    }
    let text = format!("{mechanical}\n\n{MODEL_HEADING}\n{said}");
    let summary_tokens = counter.count(&text);
    if summary_tokens > bounds.tokens_max {
        return alone(WordsFate::NoRoom { summary_tokens, tokens_max: bounds.tokens_max });
    }
    MergedSummary { text, words: WordsFate::Used }
}
