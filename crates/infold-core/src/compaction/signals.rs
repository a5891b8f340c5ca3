//! Signals: what a thread is like, which says how much of its end is kept whole.
//!
//! Where much goes wrong, more of the latest turns stay, because the errors are what is being worked on. A long thread
//! keeps fewer of them. Where most of a thread is calls and results, fewer results stay: they can be read again.

use serde::{Deserialize, Serialize};

use crate::memory::exit_status;
use crate::transcript::{CallOutcome, Item, Kind};

/// What a thread is like.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ConversationSignals {
    /// Results of failed calls, as a share of all results.
    pub error_density: f64,
    /// Calls and results, as a share of all items.
    pub tool_density: f64,
    /// How many messages there are.
    pub length: u64,
}

/// The least and the most of the thread's end that is kept, which signals choose between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepBounds {
    /// Turns that a thread keeps whole at least; the last one is always kept.
    pub recent_turns_min: usize,
    /// Turns that it keeps whole at most.
    pub recent_turns_max: usize,
    /// Results that it keeps at least.
    pub recent_results_min: usize,
    /// Results that it keeps at most.
    pub recent_results_max: usize,
    /// The number of messages from which on a thread counts as long.
    pub long_messages: u64,
}

/// How much of a thread's end is kept whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptEnd {
    /// Turns, of which the last is always one.
    pub recent_turns: usize,
    /// Results, beside those of the last turn.
    pub recent_results: usize,
}

impl ConversationSignals {
    /// Reads the signals of a thread.
    pub fn of(items: &[Item]) -> Self {
        let (mut calls, mut results, mut errors) = (0_u64, 0_u64, 0_u64);
        for item in items {
            match &item.kind {
                Kind::Call { .. } => calls += 1,
                Kind::Result { text, outcome, .. } => {
                    results += 1;
                    errors += u64::from(has_failed(text, *outcome));
                }
                Kind::System { .. }
                | Kind::User { .. }
                | Kind::Assistant { .. }
                | Kind::Reasoning { .. }
                | Kind::Compaction { .. }
                | Kind::Clearing { .. }
                | Kind::Other { .. } => {}
            }
        }
        Self {
            error_density: share(errors, results),
            tool_density: share(calls + results, items.len() as u64),
            length: messages(items.iter()),
        }
    }

    /// How much of the thread's end is kept whole.
    pub fn kept_end(&self, bounds: &KeepBounds) -> KeptEnd {
        let shortness = 1.0 - share(self.length.min(bounds.long_messages), bounds.long_messages);
        let talk = 1.0 - self.tool_density;
        KeptEnd {
            recent_turns: between(
                bounds.recent_turns_min.max(1),
                bounds.recent_turns_max,
                shortness.max(self.error_density),
            ),
            recent_results: between(bounds.recent_results_min, bounds.recent_results_max, talk.max(self.error_density)),
        }
    }
}

/// Whether a call failed: its client says so, or its result names an exit code that does.
pub(super) fn has_failed(text: &str, outcome: CallOutcome) -> bool {
    match outcome {
        CallOutcome::Failed => true,
        CallOutcome::Succeeded | CallOutcome::Unsaid => exit_status(text).is_some_and(|code| code != 0),
    }
}

/// The number of messages that items came in. Items of one message are neighbours.
pub(super) fn messages<'a>(items: impl Iterator<Item = &'a Item>) -> u64 {
    let (mut count, mut last) = (0, None);
    for item in items {
        count += u64::from(last != Some(item.message));
        last = Some(item.message);
    }
    count
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn between(least: usize, most: usize, share: f64) -> usize {
    least + (most.saturating_sub(least) as f64 * share).round() as usize
}
