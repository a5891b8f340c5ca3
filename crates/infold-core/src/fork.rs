//! Forks: what a new session gets to see of the one that it starts from.
//!
//! Three stages, each a function from messages to messages: start from the latest compaction that
//! left a summary ([`slice_from_compaction_boundary`]), keep less of a tool result the older it is
//! ([`apply_graduated_truncation`]), and remove the oldest messages if the rest does not fit
//! ([`enforce_character_budget`]). No model is asked; the same transcript gives the same context.
//!
//! [`process_messages_for_fork`] runs them over a whole transcript; [`Fork`] takes items one by one,
//! holds no more than the budget can show, and comes to the same end. It also makes forks of the
//! other profile, [`Profile::Recall`].

mod batch;
mod boundary;
mod budget;
mod constants;
mod format;
mod message;
mod pairs;
mod preamble;
mod recall;
mod stats;
mod stream;
mod tiers;
mod truncate;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use batch::ForkBatch;
pub use boundary::{Sliced, slice_from_compaction_boundary};
pub use budget::{Budgeted, enforce_character_budget};
pub use constants::{
    FORK_CHAR_BUDGET, FORK_CHAR_NO_REMOVAL, FORK_ERROR_PATTERNS, FORK_HEAD_RATIO, FORK_HEAD_TAIL_KEYWORDS,
    FORK_PARAMS_TIER1, FORK_PARAMS_TIER2, FORK_PARAMS_TIER3, FORK_TAIL_RATIO, FORK_TIER1_COUNT, FORK_TIER2_COUNT,
    FORK_TIER2_LIMIT, FORK_TIER3_LIMIT, ForkLimits,
};
pub use format::format_messages_as_context;
pub use message::{Message, group_messages};
pub use preamble::build_fork_preamble;
pub use recall::{Recall, RecallContext, RecallStats, build_recall_preamble, whole_block};
pub use stats::{ProcessingStats, TierDistribution};
pub use tiers::{Graduated, Tier, apply_graduated_truncation};
pub use truncate::{Method, truncate};

use crate::transcript::Item;
use stream::SeedFork;

/// How a fork spends its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// By the tiers of the requirement.
    #[default]
    Seed,
    /// On what agents were found to use again.
    Recall,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seed => "seed",
            Self::Recall => "recall",
        })
    }
}

/// A profile that there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no fork profile `{0}`: use `seed` or `recall`")]
pub struct UnknownProfile(pub String);

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        match name {
            "seed" => Ok(Self::Seed),
            "recall" => Ok(Self::Recall),
            _ => Err(UnknownProfile(name.to_owned())),
        }
    }
}

/// What a child starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forked {
    /// The parent's transcript, as much of it as the budget allows.
    pub context: String,
    /// What was done to it, for the child to know.
    pub preamble: String,
    /// The same for programs.
    pub stats: ProcessingStats,
}

impl Forked {
    /// All of it as one message, with what the child is to do at the end.
    pub fn message(&self, prompt: Option<&str>) -> String {
        let parts = [Some(self.preamble.as_str()), Some(self.context.as_str()), prompt];
        let parts: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        parts.join("\n\n")
    }
}

/// Runs the three stages over a whole transcript.
pub fn process_messages_for_fork(messages: Vec<Message>, limits: &ForkLimits) -> Forked {
    let original_count = messages.len();
    let sliced = slice_from_compaction_boundary(messages);
    let graduated = apply_graduated_truncation(sliced.messages);
    let budgeted = enforce_character_budget(graduated.messages, limits);

    let stats = ProcessingStats {
        original_count,
        final_count: budgeted.messages.len(),
        total_chars: budgeted.context.chars().count(),
        removed_messages: budgeted.removed_messages,
        compaction_detected: sliced.slice_index.is_some(),
        compaction_slice_index: ProcessingStats::slice_index(sliced.slice_index),
        truncated_results: graduated.truncated_results,
        tier_distribution: graduated.tier_distribution,
        head_tail_applied: graduated.head_tail_applied,
    };
    Forked { context: budgeted.context, preamble: build_fork_preamble(&stats, limits), stats }
}

/// A fork in the making: give it the items of a transcript in order.
#[derive(Debug)]
pub struct Fork {
    limits: ForkLimits,
    work: Work,
}

/// The same in each profile's own way.
#[derive(Debug)]
enum Work {
    Seed(Box<SeedFork>),
    Recall(Box<Recall>),
}

impl Fork {
    /// A fork without items.
    pub fn new(profile: Profile, limits: ForkLimits) -> Self {
        let work = match profile {
            Profile::Seed => Work::Seed(Box::new(SeedFork::new(limits))),
            Profile::Recall => Work::Recall(Box::new(Recall::new(limits.char_budget))),
        };
        Self { limits, work }
    }

    /// The next item of the transcript.
    pub fn push(&mut self, item: Item) {
        match &mut self.work {
            Work::Seed(seed) => seed.push(item),
            Work::Recall(recall) => recall.push(item),
        }
    }

    /// What the child gets to see.
    pub fn finish(self) -> Forked {
        match self.work {
            Work::Seed(seed) => {
                let (context, stats) = seed.finish();
                Forked { context, preamble: build_fork_preamble(&stats, &self.limits), stats }
            }
            Work::Recall(recall) => {
                let RecallContext { context, stats } = recall.finish();
                let preamble = build_recall_preamble(&stats, self.limits.char_budget);
                Forked { context, preamble, stats: ProcessingStats::of_recall(&stats) }
            }
        }
    }

    /// Bytes of text that the `seed` profile holds.
    #[cfg(test)]
    fn held_bytes(&self) -> usize {
        match &self.work {
            Work::Seed(seed) => seed.held_bytes(),
            Work::Recall(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests;
