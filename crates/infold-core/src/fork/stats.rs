//! What the stages did, in the fields that the requirement names.

use serde::{Deserialize, Serialize};

use super::recall::RecallStats;

/// How many tool results each tier had, counted after the cut at the compaction boundary and before
/// any message was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierDistribution {
    /// Whole.
    pub tier1: usize,
    /// At most [`super::FORK_TIER2_LIMIT`] characters.
    pub tier2: usize,
    /// At most [`super::FORK_TIER3_LIMIT`] characters.
    pub tier3: usize,
}

/// What became of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessingStats {
    /// Messages before any processing.
    pub original_count: usize,
    /// Messages after it.
    pub final_count: usize,
    /// Characters of the context.
    pub total_chars: usize,
    /// Messages that the character budget cost.
    pub removed_messages: usize,
    /// Whether there was a compaction to start from.
    pub compaction_detected: bool,
    /// Which message was its summary, counted from 0; -1 if there was none.
    pub compaction_slice_index: i64,
    /// Tool results that lost something to their tier.
    pub truncated_results: usize,
    /// Tool results in each tier.
    pub tier_distribution: TierDistribution,
    /// How many of the truncated results kept both ends.
    pub head_tail_applied: usize,
}

impl ProcessingStats {
    /// The same fields for a fork of the other profile, as far as they have a meaning there: it has no
    /// tiers and does not cut at the summary. What is shown whole counts as the first tier, and a
    /// message of which nothing is shown as removed.
    pub(super) fn of_recall(stats: &RecallStats) -> Self {
        Self {
            original_count: stats.messages,
            final_count: stats.messages_shown,
            total_chars: stats.total_chars,
            removed_messages: stats.messages - stats.messages_shown,
            compaction_detected: stats.summary_message.is_some(),
            compaction_slice_index: Self::slice_index(None),
            truncated_results: stats.results_in_part,
            tier_distribution: TierDistribution { tier1: stats.results_whole, tier2: 0, tier3: 0 },
            head_tail_applied: 0,
        }
    }

    /// The number that stands for a place which may not be there.
    pub(super) fn slice_index(index: Option<usize>) -> i64 {
        index.map_or(-1, |index| i64::try_from(index).unwrap_or(i64::MAX))
    }
}
