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
use super::message::Message;
use super::pairs::{Link, Links};
use super::stats::TierDistribution;
use super::truncate::{Method, truncate};
use crate::transcript::{CLEARED, HeldContent, Kind};

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

/// What the second stage gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graduated {
    /// The messages, with results and parameters cut to their tiers.
    pub messages: Vec<Message>,
    /// Results that lost something.
    pub truncated_results: usize,
    /// How many of those kept both ends.
    pub head_tail_applied: usize,
    /// Results in each tier.
    pub tier_distribution: TierDistribution,
}

/// Cuts every result and every call's parameters to what their tier allows.
pub fn apply_graduated_truncation(mut messages: Vec<Message>) -> Graduated {
    let links = Links::of(&messages);
    let (mut truncated_results, mut head_tail_applied) = (0, 0);
    for (at, message) in messages.iter_mut().enumerate() {
        for (in_message, item) in message.items.iter_mut().enumerate() {
            match (&mut item.kind, links.at(at, in_message)) {
                (Kind::Call { input, .. }, Link::Call { rank, .. }) => {
                    let limit = Tier::of(links.results - rank).params_limit();
                    if let Some(shorter) = truncate(input, limit, Method::HeadOnly) {
                        *input = shorter;
                    }
                }
                (Kind::Result { tool, text, held, .. }, Link::Result { rank }) => {
                    let limit = Tier::of(links.results - rank).result_limit();
                    if let Some((shorter, method)) = limit.and_then(|limit| truncated_result(tool, text, *held, limit))
                    {
                        *text = shorter;
                        truncated_results += 1;
                        head_tail_applied += usize::from(method == Method::HeadTail);
                    }
                }
                _ => {}
            }
        }
    }
    Graduated { messages, truncated_results, head_tail_applied, tier_distribution: distribution(links.results) }
}

fn truncated_result(tool: &str, text: &str, held: HeldContent, limit: usize) -> Option<(String, Method)> {
    if text.len() <= limit || passes_unchanged(text, held) {
        return None;
    }
    let method = Method::for_result(tool, text);
    Some((truncate(text, limit, method)?, method))
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
