//! What the child is told about the context that it gets.

use super::constants::{FORK_TIER2_LIMIT, FORK_TIER3_LIMIT, ForkLimits};
use super::stats::ProcessingStats;

/// The lines of the requirement, with the figures of this fork.
pub fn build_fork_preamble(stats: &ProcessingStats, limits: &ForkLimits) -> String {
    let compaction = if stats.compaction_detected {
        "Compaction summary included (messages before compaction removed)"
    } else {
        "No compaction detected"
    };
    let tiers = stats.tier_distribution;
    let removed = match stats.removed_messages {
        0 => "All messages preserved".to_owned(),
        removed => format!("{removed} oldest messages removed to fit {} char budget", limits.char_budget),
    };
    format!(
        "You are working with forked context from a parent agent session.\n\
         Context processing applied:\n\
         - {compaction}\n\
         - Tool results: {} full, {} truncated to {FORK_TIER2_LIMIT} chars, {} truncated to {FORK_TIER3_LIMIT} chars\n\
         - {removed}\n\
         If you need complete file contents or detailed results, re-read the files directly.",
        tiers.tier1, tiers.tier2, tiers.tier3,
    )
}
