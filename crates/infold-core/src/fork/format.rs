//! The context as the child reads it: one block for each item, in order, under a heading that says who speaks.
//!
//! Left out are what the model thought (another model cannot use it, and providers seal it), the
//! instructions above the conversation (the child has its own) and the content of images and
//! documents, of which a note stays. Words that the client put in say so, lest the child take them
//! for the person's.

use std::borrow::Cow;

use super::constants::{FORK_TIER2_LIMIT, FORK_TIER3_LIMIT, ForkLimits};
use super::message::{Message, readable_summary};
use super::stats::ProcessingStats;
use super::truncate::{count, head};
use crate::transcript::{CallOutcome, Item, Kind, Voice};

/// What follows each block; the last block goes without.
const SEPARATOR: &str = "\n\n";
const SUMMARY_HEADING: &str = "[Summary of the conversation before]\n";
/// Longest name of a tool or of a kind of content that is shown whole.
const NAME_CHARS_MAX: usize = 128;

/// What is written before and after the text of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    before: Cow<'static, str>,
    after: &'static str,
}

impl Frame {
    /// `None` if items of this kind are not shown.
    pub fn of(kind: &Kind) -> Option<Self> {
        let headed = |before: Cow<'static, str>| Some(Self { before, after: "" });
        match kind {
            Kind::User { text, .. } | Kind::Assistant { text } if text.is_empty() => None,
            Kind::User { voice: Voice::Person, .. } => headed("[User]\n".into()),
            Kind::User { voice: Voice::Client, .. } => headed("[Added by the client]\n".into()),
            Kind::Assistant { .. } => headed("[Assistant]\n".into()),
            Kind::Call { tool, .. } => {
                Some(Self { before: format!("[Tool call]\n{}(", name(tool)).into(), after: ")" })
            }
            Kind::Result { tool, outcome, .. } => headed(result_heading(tool, *outcome).into()),
            Kind::Compaction { .. } => readable_summary(kind).and_then(|_| headed(SUMMARY_HEADING.into())),
            Kind::Other { name: other, .. } => headed(format!("[{}: left out]", name(other)).into()),
            Kind::System { .. } | Kind::Reasoning { .. } | Kind::Clearing { .. } => None,
        }
    }

    /// Characters of the block without its text.
    pub fn chars(&self) -> usize {
        count(&self.before) + self.after.len() + SEPARATOR.len()
    }
}

fn name(name: &str) -> &str {
    head(name, NAME_CHARS_MAX)
}

fn result_heading(tool: &str, outcome: CallOutcome) -> String {
    let tool = if tool.is_empty() { String::new() } else { format!(": {}", name(tool)) };
    match outcome {
        CallOutcome::Failed => format!("[Tool result{tool}, failed]\n"),
        CallOutcome::Unsaid | CallOutcome::Succeeded => format!("[Tool result{tool}]\n"),
    }
}

fn body(item: &Item) -> &str {
    match item.kind {
        Kind::Other { .. } => "",
        _ => item.text(),
    }
}

/// Characters that an item adds to a context; 0 if it is not shown.
pub(super) fn item_chars(item: &Item) -> usize {
    Frame::of(&item.kind).map_or(0, |frame| frame.chars() + count(body(item)))
}

/// The length of a context, by the sum of its items' characters.
pub(super) fn context_chars(items_chars: usize) -> usize {
    items_chars.saturating_sub(SEPARATOR.len())
}

/// The most characters that the items of a context of this length can have in all.
pub(super) fn room_for(context_chars: usize) -> usize {
    context_chars.saturating_add(SEPARATOR.len())
}

/// Writes the items of all messages as one text, in order.
pub fn format_messages_as_context(messages: &[Message]) -> String {
    let mut context = String::new();
    for item in messages.iter().flat_map(|message| &message.items) {
        if let Some(frame) = Frame::of(&item.kind) {
            for part in [&frame.before, body(item), frame.after, SEPARATOR] {
                context.push_str(part);
            }
        }
    }
    context.truncate(context.len().saturating_sub(SEPARATOR.len()));
    context
}

/// Writes the lines that let the child know what was done to its context: those of the requirement, with the figures of
/// this fork.
pub fn build_fork_preamble(stats: &ProcessingStats, limits: &ForkLimits) -> String {
    let compaction = if stats.compaction_detected {
        "Compaction summary included (messages before compaction removed)"
    } else {
        "No compaction detected"
    };
    let tiers = stats.tier_distribution;
    let removed = match stats.removed_messages {
        0 => "All messages preserved".to_owned(),
        removed => format!("{removed} oldest messages removed to fit {} char budget", limits.char_budget),
    };
    format!(
        "You are working with forked context from a parent agent session.\n\
         Context processing applied:\n\
         - {compaction}\n\
         - Tool results: {} full, {} truncated to {FORK_TIER2_LIMIT} chars, {} truncated to {FORK_TIER3_LIMIT} chars\n\
         - {removed}\n\
         If you need complete file contents or detailed results, re-read the files directly.",
        tiers.tier1, tiers.tier2, tiers.tier3,
    )
}
