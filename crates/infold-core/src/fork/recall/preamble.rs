//! The lines that let the child know what was done to a context of this profile, in the form of the other
//! profile's preamble.

use super::RecallStats;

/// Writes the preamble with the figures of a fork that had this budget.
pub fn build_recall_preamble(stats: &RecallStats, budget_chars: usize) -> String {
    let compaction = match stats.summary_message {
        Some(_) => "Compaction summary included (messages before compaction shown where they are worth their room)",
        None => "No compaction detected",
    };
    let left_out = stats.results - stats.results_whole - stats.results_in_part;
    let removed = match stats.messages - stats.messages_shown {
        0 => "Something of every message preserved".to_owned(),
        removed => format!("{removed} messages left out to fit {budget_chars} char budget"),
    };
    format!(
        "You are working with forked context from a parent agent session.\n\
         Context processing applied:\n\
         - {compaction}\n\
         - Tool results: {} full, {} in part, {left_out} left out; a line that occurs several times is shown once\n\
         - {removed}\n\
         If you need complete file contents or detailed results, re-read the files directly.",
        stats.results_whole, stats.results_in_part,
    )
}
