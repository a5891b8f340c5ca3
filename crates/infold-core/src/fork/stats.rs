//! What the stages did, in the fields that the requirement names.

use serde::{Deserialize, Serialize};

use super::recall::RecallStats;

/// How many tool results each tier had, counted after everything before the latest summary was left out and
/// before any message was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierDistribution {
    /// The newest results, which stay whole.
    pub tier1: usize,
    /// Results that keep at most [`super::FORK_TIER2_LIMIT`] characters.
    pub tier2: usize,
    /// The oldest results, which keep at most [`super::FORK_TIER3_LIMIT`] characters.
    pub tier3: usize,
}

/// What a fork did to a transcript, in figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessingStats {
    /// Messages before any processing.
    pub original_count: usize,
    /// Messages that are left: from the summary on, without those that were removed.
    pub final_count: usize,
    /// Characters of the context.
    pub total_chars: usize,
    /// Messages that were removed to fit the character budget.
    pub removed_messages: usize,
    /// Whether there was a readable summary of a compaction.
    pub compaction_detected: bool,
    /// The message that the fork starts from because it is a summary, counted from 0; -1 if there is none.
    pub compaction_slice_index: i64,
    /// Tool results that were cut.
    pub truncated_results: usize,
    /// How the results are spread over the tiers.
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

    /// The index as the requirement writes it: -1 for none.
    pub(super) fn slice_index(index: Option<usize>) -> i64 {
        index.map_or(-1, |index| i64::try_from(index).unwrap_or(i64::MAX))
    }
}
