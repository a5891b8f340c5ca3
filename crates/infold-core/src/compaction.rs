//! Compaction: the start of a new thread, out of one that has grown too long.
//!
//! Three strategies come one after another, and each is judged by what it leaves: results that were used long ago become
//! references, then old turns are replaced by a summary, and as the last resort the oldest of what is left goes too. The
//! first that reaches the target ends the chain. The signals of a thread say how much of its end is kept whole.
//!
//! What must hold: nothing is edited in the middle, because what comes out is a new thread; a call stays with its result;
//! the last turn and pinned items stay; every word of the user is in the new thread, or stored behind a reference in it;
//! reasoning never stays, because it was made on what came before it. A compaction shrinks the thread or is refused, and
//! one that misses its target says what cannot shrink. The caller asks the summariser, stores what goes, and gives the
//! handles; tokens, targets and bounds are arguments.

mod ask;
mod breaker;
mod chain;
mod facts;
mod receipt;
mod signals;
mod summary;
mod turns;

#[cfg(test)]
mod tests;

pub use ask::{SummaryPiece, SummaryQuestion, items_text, summary_pieces};
pub use breaker::{BreakerLimits, BreakerTripped, CompactionBreaker, CompactionEnd};
pub use chain::{CannotShrink, CompactionRefused, TargetVerdict};
pub use facts::{CommandRun, PersonWords, SummaryFacts};
pub use receipt::{CompactResult, CompactionReceipt, StoredPart, WhatWent};
pub use signals::{ConversationSignals, KeepBounds, KeptEnd};
pub use summary::{
    BranchSoFar, MergeBounds, MergedSummary, SummariserWords, SummaryBounds, SummaryFrame, WordsFate,
    mechanical_summary, merge_summary,
};

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::Counter;
use crate::transcript::Item;
use chain::Chain;

/// A thread that is to be compacted, with what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct ThreadToCompact<'a> {
    /// What was said, in order. The summary of an earlier compaction is an item too.
    pub items: &'a [Item],
    /// The size of each item; one that is missing is counted.
    pub item_tokens: &'a [u64],
    /// Items that stay as they are. A call and its result are pinned together.
    pub pinned: &'a [usize],
    /// Branches that are open.
    pub branches: &'a [BranchSoFar],
    /// The agent's own notes.
    pub notes: &'a str,
    /// The facts of the earlier summary in the thread, if there is one.
    pub earlier: Option<&'a SummaryFacts>,
}

/// What a compaction is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionRules {
    /// The size that the new thread has to get down to.
    pub target_tokens: u64,
    /// How many of those are left free for the receipt.
    pub receipt_tokens: u64,
    /// How much of the thread's end is kept whole.
    pub keep: KeepBounds,
    /// How long each part of a summary may be.
    pub summary: SummaryBounds,
}

/// One way to make a thread smaller, in the order in which they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionStrategy {
    /// Old results become references.
    ClearToolResults,
    /// Old turns are replaced by a summary.
    Summarise,
    /// The oldest of what is left goes, down to the last turn.
    Truncate,
}

impl CompactionStrategy {
    /// Its name in answers and receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClearToolResults => "clear_tool_results",
            Self::Summarise => "summarise",
            Self::Truncate => "truncate",
        }
    }
}

/// One piece of the new thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadPiece {
    /// The summary of what went. It comes first, and is said to the model on the agent's account.
    Summary {
        /// Its text.
        text: String,
    },
    /// An item that stays as it is.
    Kept {
        /// Its index in the old thread.
        item: usize,
    },
    /// A result that stays in its place, with a reference instead of its text.
    Reference {
        /// Its index in the old thread.
        item: usize,
        /// The text that replaces the result's.
        text: String,
    },
}

/// The start of the new thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactedThread {
    /// Its pieces, in order.
    pub pieces: Vec<ThreadPiece>,
}

/// A text that has to be stored before the new thread is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToStore {
    /// What is in the thread where its handle has to be.
    pub placeholder: String,
    /// What it is: the old part of the thread, or a tool's result.
    pub what: String,
    /// The text, whole.
    pub text: String,
}

/// A compaction that shrinks its thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// The start of the new thread.
    pub thread: CompactedThread,
    /// What has to be stored, and where the handles go: see [`Self::fill_handles`].
    pub to_store: Vec<ToStore>,
    /// The facts of the new thread's summary, to be stored beside it and given to the next compaction.
    pub facts: SummaryFacts,
    /// Whether the target was reached.
    pub verdict: TargetVerdict,
    /// The figures.
    pub result: CompactResult,
    /// What went, where it is, and how to get it back.
    pub receipt: CompactionReceipt,
}

impl Compaction {
    /// Puts the handles of what was stored into the thread and the receipt, in the order of `to_store`.
    pub fn fill_handles(&mut self, handles: &[String]) {
        for (stored, handle) in self.to_store.iter().zip(handles) {
            for piece in &mut self.thread.pieces {
                match piece {
                    ThreadPiece::Summary { text } | ThreadPiece::Reference { text, .. } => {
                        if text.contains(&stored.placeholder) {
                            *text = text.replace(&stored.placeholder, handle);
                        }
                    }
                    ThreadPiece::Kept { .. } => {}
                }
            }
            let parts = self.receipt.stored.iter_mut().filter(|part| part.handle == stored.placeholder);
            parts.for_each(|part| part.handle.clone_from(handle));
        }
    }
}

/// The items that a summariser has to be asked about; `None` if clearing results reaches the target, or if there is
/// nothing to summarise.
pub fn range_to_summarise(
    thread: &ThreadToCompact<'_>,
    rules: &CompactionRules,
    counter: Counter,
) -> Option<Range<usize>> {
    Chain::new(*thread, *rules, counter).range_to_summarise()
}

/// Compacts a thread. `words` are what a summariser wrote about the items of [`range_to_summarise`].
pub fn compact(
    thread: &ThreadToCompact<'_>,
    rules: &CompactionRules,
    words: SummariserWords<'_>,
    counter: Counter,
) -> Result<Compaction, CompactionRefused> {
    Chain::new(*thread, *rules, counter).run(words)
}

/// The least that the last turn can be shrunk to: without its reasoning, and with references for its results. It is part
/// of the floor of a thread.
pub fn last_turn_tokens(items: &[Item], item_tokens: &[u64], counter: Counter) -> u64 {
    chain::last_turn_least_tokens(items, item_tokens, counter)
}
