//! Forks: what a new session gets to see of the one that it starts from.
//!
//! There are three stages: start from the latest compaction that left a summary, keep less of a tool result the older
//! it is ([`Tier`]), and remove the oldest messages if the rest does not fit. No model is asked; the same transcript
//! gives the same context.
//!
//! Texts are scrubbed before they come here ([`ForkBatch`]). [`Fork`] takes items one by one and holds no more than the
//! budget can show. It also makes forks of the other profile, [`Profile::Recall`].

mod budget;
mod constants;
mod format;
mod message;
mod pairs;
mod recall;
mod stats;
mod stream;
mod tiers;
mod truncate;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use constants::{
    FORK_CHAR_BUDGET, FORK_CHAR_NO_REMOVAL, FORK_ERROR_PATTERNS, FORK_HEAD_RATIO, FORK_HEAD_TAIL_KEYWORDS,
    FORK_PARAMS_TIER1, FORK_PARAMS_TIER2, FORK_PARAMS_TIER3, FORK_TAIL_RATIO, FORK_TIER1_COUNT, FORK_TIER2_COUNT,
    FORK_TIER2_LIMIT, FORK_TIER3_LIMIT, ForkLimits,
};
pub use format::{build_fork_preamble, format_messages_as_context};
pub use message::Message;
pub use recall::{Recall, RecallContext, RecallStats, build_recall_preamble};
pub use stats::{ProcessingStats, TierDistribution};
pub use tiers::Tier;
pub use truncate::{Method, truncate};

use crate::Scrubbed;
use crate::transcript::{Item, Kind};
use stream::SeedFork;

/// Bytes of text that are scrubbed in one go. Each go gets the scrubber's whole time limit.
const BATCH_BYTES: usize = 1 << 20;

/// How a fork spends its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// On the newest messages, with results cut by age: the three stages of the requirement.
    #[default]
    Seed,
    /// On what agents in recorded sessions were found to use again.
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

/// The name of a profile that does not exist.
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

/// The text that a child session starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forked {
    /// The parent's transcript, as much of it as the budget allows.
    pub context: String,
    /// A few lines in front of the context that let the child know what was left out of it.
    pub preamble: String,
    /// The same facts as figures, for programs.
    pub stats: ProcessingStats,
}

impl Forked {
    /// Preamble, context and `prompt`, which says what the child is to do, as one message.
    pub fn message(&self, prompt: Option<&str>) -> String {
        let parts = [Some(self.preamble.as_str()), Some(self.context.as_str()), prompt];
        let parts: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        parts.join("\n\n")
    }
}

/// Items that wait to be scrubbed together, before anything of them is cut: half a secret is no longer recognised as
/// one.
#[derive(Debug, Default)]
pub struct ForkBatch {
    items: Vec<Item>,
    bytes: usize,
}

impl ForkBatch {
    /// Adds an item. If the batch is full with it, it is given back, to be scrubbed, and the next one begins.
    #[must_use]
    pub fn push(&mut self, mut item: Item) -> Option<Self> {
        self.bytes += texts_of(&mut item).iter().map(|text| text.len()).sum::<usize>();
        self.items.push(item);
        (self.bytes >= BATCH_BYTES).then(|| std::mem::take(self))
    }

    /// Takes all texts that may hold a secret out of the items. [`Self::with_texts`] puts them back.
    pub fn take_texts(&mut self) -> Vec<String> {
        self.items.iter_mut().flat_map(texts_of).map(std::mem::take).collect()
    }

    /// The items, with the texts that were taken put back in the same order, scrubbed.
    pub fn with_texts(mut self, scrubbed: Vec<Scrubbed>) -> Vec<Item> {
        for (text, scrubbed) in self.items.iter_mut().flat_map(texts_of).zip(scrubbed) {
            *text = scrubbed.into_string();
        }
        self.items
    }

    /// The items without any scrubbing.
    pub fn into_items(self) -> Vec<Item> {
        self.items
    }
}

/// The texts of an item that a fork may cut.
fn texts_of(item: &mut Item) -> Vec<&mut String> {
    match &mut item.kind {
        Kind::System { text } | Kind::User { text, .. } | Kind::Assistant { text } | Kind::Reasoning { text, .. } => {
            vec![text]
        }
        Kind::Result { text, tool, .. } => vec![text, tool],
        Kind::Call { input, tool, .. } => vec![input, tool],
        Kind::Compaction { summary, kept } => summary.iter_mut().chain(kept.iter_mut().flat_map(texts_of)).collect(),
        Kind::Clearing { .. } => Vec::new(),
        Kind::Other { json, name } => vec![json, name],
    }
}

/// A fork in the making: give it the items of a transcript in order.
#[derive(Debug)]
pub struct Fork {
    limits: ForkLimits,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Seed(Box<SeedFork>),
    Recall(Box<Recall>),
}

impl Fork {
    /// Begins a fork. With [`Profile::Recall`], only the budget of the limits matters.
    pub fn new(profile: Profile, limits: ForkLimits) -> Self {
        let work = match profile {
            Profile::Seed => Work::Seed(Box::new(SeedFork::new(limits))),
            Profile::Recall => Work::Recall(Box::new(Recall::new(limits.char_budget))),
        };
        Self { limits, work }
    }

    /// Takes the next item of the transcript.
    pub fn push(&mut self, item: Item) {
        match &mut self.work {
            Work::Seed(seed) => seed.push(item),
            Work::Recall(recall) => recall.push(item),
        }
    }

    /// Ends the transcript and writes what the child gets to see.
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
