//! The second stage: the older a tool result, the less of it is kept.
//!
//! Age is counted in results, from the newest. A call has the tier of its result; one that was never
//! answered has the tier that a result in its place would have. Results that a client has cleared,
//! or that have the words for that in them, pass unchanged, however long the text around those words
//! is: so the requirement has it.
//!
//! A clearing that a client recorded on its own, after the results, changes nothing here: the
//! recording still has them, and their tier decides how much of them is shown.

use super::constants::{
    FORK_PARAMS_TIER1, FORK_PARAMS_TIER2, FORK_PARAMS_TIER3, FORK_TIER1_COUNT, FORK_TIER2_COUNT, FORK_TIER2_LIMIT,
    FORK_TIER3_LIMIT,
};
use super::stats::TierDistribution;
use crate::transcript::{CLEARED, HeldContent};

/// How much is kept of a result and of the parameters of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// The newest results, whole.
    One,
    /// The ones before them.
    Two,
    /// All others.
    Three,
}

impl Tier {
    /// All of them, from the one that keeps most.
    pub(super) const ALL: [Self; 3] = [Self::One, Self::Two, Self::Three];

    /// The tier of the result that has so many newer ones after it.
    pub fn of(newer_results: usize) -> Self {
        if newer_results < FORK_TIER1_COUNT {
            Self::One
        } else if newer_results < FORK_TIER1_COUNT + FORK_TIER2_COUNT {
            Self::Two
        } else {
            Self::Three
        }
    }

    /// Characters kept of a result.
    pub fn result_limit(self) -> Option<usize> {
        match self {
            Self::One => None,
            Self::Two => Some(FORK_TIER2_LIMIT),
            Self::Three => Some(FORK_TIER3_LIMIT),
        }
    }

    /// Characters kept of a call's parameters.
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

/// How so many results are spread over the tiers.
pub(super) fn distribution(results: usize) -> TierDistribution {
    let tier1 = results.min(FORK_TIER1_COUNT);
    let tier2 = (results - tier1).min(FORK_TIER2_COUNT);
    TierDistribution { tier1, tier2, tier3: results - tier1 - tier2 }
}
