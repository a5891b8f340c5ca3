//! JSON of sessions that began as forks. The statistics have the names that the document about forks gives them.

use infold_core::fork::ProcessingStats;
use infold_engine::ForkView;
use schemars::JsonSchema;
use serde::Serialize;

use crate::moment::Moment;

/// A session that began as a fork.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionForked {
    /// The id of the new session.
    session_id: String,
    /// The session it was forked from; null if nobody said.
    parent_session_id: Option<String>,
    /// When it was forked.
    created_at: Moment,
    /// The profile that decided what fits: `seed` or `recall`.
    profile: String,
    /// Explains to the child what was done to its context; goes in front of the context.
    preamble: String,
    /// What the child begins with.
    context: String,
    /// What the child is asked to do; goes after its context. Null if it was not said.
    prompt: Option<String>,
    /// The handle under which the context can be read in parts.
    ref_id: String,
    /// How many characters the context has.
    chars: u64,
    /// How many tokens the context has.
    tokens: u64,
    /// Statistics of how the transcript was cut.
    stats: ForkStats,
}

/// What was done to make a transcript fit.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ForkStats {
    /// Messages before any processing.
    original_count: usize,
    /// Messages that are left after processing.
    final_count: usize,
    /// Characters that are left after processing.
    total_chars: usize,
    /// Messages removed to fit the budget.
    removed_messages: usize,
    /// Whether a summary by the client was found to begin from.
    compaction_detected: bool,
    /// The message that it begins from; -1 if none was found.
    compaction_slice_index: i64,
    /// Tool results that were cut.
    truncated_results: usize,
    /// How many tool results there are of each age.
    tier_distribution: TierDistribution,
    /// How many tool results were cut in the middle rather than at the end.
    head_tail_applied: usize,
}

/// Tool results by their age, newest first.
#[derive(Debug, Serialize, JsonSchema)]
struct TierDistribution {
    /// The newest results, which are cut least.
    tier1: usize,
    /// Results of middle age.
    tier2: usize,
    /// The oldest results, which are cut most.
    tier3: usize,
}

impl From<ForkView> for SessionForked {
    fn from(view: ForkView) -> Self {
        let forked = view.forked;
        Self {
            session_id: forked.session_id.to_string(),
            parent_session_id: forked.parent.map(|parent| parent.to_string()),
            created_at: Moment(forked.forked_at_ms),
            profile: forked.profile.to_string(),
            preamble: forked.preamble,
            context: view.context,
            prompt: view.prompt,
            ref_id: forked.ref_id.to_string(),
            chars: forked.chars,
            tokens: forked.tokens,
            stats: (&forked.stats).into(),
        }
    }
}

impl From<&ProcessingStats> for ForkStats {
    fn from(stats: &ProcessingStats) -> Self {
        let tiers = &stats.tier_distribution;
        Self {
            original_count: stats.original_count,
            final_count: stats.final_count,
            total_chars: stats.total_chars,
            removed_messages: stats.removed_messages,
            compaction_detected: stats.compaction_detected,
            compaction_slice_index: stats.compaction_slice_index,
            truncated_results: stats.truncated_results,
            tier_distribution: TierDistribution { tier1: tiers.tier1, tier2: tiers.tier2, tier3: tiers.tier3 },
            head_tail_applied: stats.head_tail_applied,
        }
    }
}
