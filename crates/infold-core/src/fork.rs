//! Forks: what a new session gets to see of the one that it starts from.
//!
//! Three stages: start from the latest compaction that left a summary, keep less of a tool result the older it is
//! ([`Tier`]), and remove the oldest messages if the rest does not fit. No model is asked; the same transcript gives the
//! same context.
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

/// Texts that are scrubbed in one go, in bytes: each go has the scrubber's whole time.
const BATCH_BYTES: usize = 1 << 20;

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

    /// The texts that may hold a secret. They are not in the items until they are put back.
    pub fn take_texts(&mut self) -> Vec<String> {
        self.items.iter_mut().flat_map(texts_of).map(std::mem::take).collect()
    }

    /// The items, with the texts that were taken put back without their secrets.
    pub fn with_texts(mut self, scrubbed: Vec<Scrubbed>) -> Vec<Item> {
        for (text, scrubbed) in self.items.iter_mut().flat_map(texts_of).zip(scrubbed) {
            *text = scrubbed.into_string();
        }
        self.items
    }

    /// The items as they are.
    pub fn into_items(self) -> Vec<Item> {
        self.items
    }
}

/// The texts of an item of which a part may be cut off.
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
