//! The second stage: the older a tool result, the less of it stays.
//!
//! Age is counted in results, from the newest. A call has the tier of its result; one that was never
//! answered has the tier that a result in its place would have. Results that a client has cleared,
//! or that contain its words for that, pass unchanged, however long the text around those words is:
//! the requirement says so.
//!
//! A clearing that a client recorded on its own, after the results, changes nothing here: the
//! recording still has them, and their tier decides how much of them is shown.

use super::constants::{
    FORK_PARAMS_TIER1, FORK_PARAMS_TIER2, FORK_PARAMS_TIER3, FORK_TIER1_COUNT, FORK_TIER2_COUNT, FORK_TIER2_LIMIT,
    FORK_TIER3_LIMIT,
};
use super::stats::TierDistribution;
use crate::transcript::{CLEARED, HeldContent};

/// How much stays of a result and of the parameters of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// The newest results, which stay whole.
    One,
    /// The results before them.
    Two,
    /// All older results.
    Three,
}

impl Tier {
    /// All tiers; the first keeps the most.
    pub(super) const ALL: [Self; 3] = [Self::One, Self::Two, Self::Three];

    /// The tier of a result, by the number of results after it.
    pub fn of(newer_results: usize) -> Self {
        if newer_results < FORK_TIER1_COUNT {
            Self::One
        } else if newer_results < FORK_TIER1_COUNT + FORK_TIER2_COUNT {
            Self::Two
        } else {
            Self::Three
        }
    }

    /// Characters that stay of a result; `None` for all.
    pub fn result_limit(self) -> Option<usize> {
        match self {
            Self::One => None,
            Self::Two => Some(FORK_TIER2_LIMIT),
            Self::Three => Some(FORK_TIER3_LIMIT),
        }
    }

    /// Characters that stay of a call's parameters.
    pub fn params_limit(self) -> usize {
        match self {
            Self::One => FORK_PARAMS_TIER1,
            Self::Two => FORK_PARAMS_TIER2,
            Self::Three => FORK_PARAMS_TIER3,
        }
    }
}

/// Whether a result stays as it is in every tier.
pub(super) fn passes_unchanged(text: &str, held: HeldContent) -> bool {
    held == HeldContent::Cleared || memchr::memmem::find(text.as_bytes(), CLEARED.as_bytes()).is_some()
}

/// How a number of results is spread over the tiers.
pub(super) fn distribution(results: usize) -> TierDistribution {
    let tier1 = results.min(FORK_TIER1_COUNT);
    let tier2 = (results - tier1).min(FORK_TIER2_COUNT);
    TierDistribution { tier1, tier2, tier3: results - tier1 - tier2 }
}
