//! What docs/measurements.md claims, and which of it does not hold.

use infold_replay::{ForkTable, Report};

use super::quarters;

/// By how many points the profile `recall` beats a plain tail as large, in recall and in edit lines.
const RECALL_GAIN_MIN: f64 = 3.0;
const LINES_GAIN_MIN: f64 = 8.0;
/// What shaping alone comes to.
const ADJUSTED_PERCENT_MAX: f64 = 80.0;
const RECALL_PERCENT_MIN: f64 = 97.0;
/// What it comes to in any quarter of the sessions.
const QUARTER_PERCENT_MAX: f64 = 100.0;

/// What the profile `recall` is claimed to do and does not: its row and a tail's, pair by pair. The first
/// row is the seed's.
pub(super) fn of_forks(table: &ForkTable, pairs: &[(usize, usize)]) -> Vec<String> {
    let mut missed = Vec::new();
    let seed = &table.rows[0];
    for (recall, tail) in pairs.iter().map(|(recall, tail)| (&table.rows[*recall], &table.rows[*tail])) {
        let gains = [
            ("recall", recall.recall_percent - tail.recall_percent, RECALL_GAIN_MIN),
            ("edit lines", recall.line_recall_percent - tail.line_recall_percent, LINES_GAIN_MIN),
            ("recall over the seed's tiers", recall.recall_percent - seed.recall_percent, RECALL_GAIN_MIN),
        ];
        for (what, gain, gain_min) in gains {
            if gain < gain_min {
                missed.push(format!(
                    "{} against {}: {what} gains {gain:.1} points, {gain_min} are claimed",
                    recall.label, tail.label
                ));
            }
        }
    }
    missed
}

/// What shaping is claimed to do over all of a group's sessions and does not.
pub(super) fn of_shaping(group: &str, report: &Report, line_recall_percent_min: f64) -> Vec<String> {
    let Some(all) = quarters::all(report) else { return vec![format!("{group}: nothing was measured")] };
    let mut missed = Vec::new();
    if all.adjusted_percent > ADJUSTED_PERCENT_MAX {
        missed.push(format!(
            "{group}: the adjusted bill is {:.1} %, {ADJUSTED_PERCENT_MAX} are claimed",
            all.adjusted_percent
        ));
    }
    if all.recall_percent < RECALL_PERCENT_MIN {
        missed.push(format!("{group}: recall is {:.1} %, {RECALL_PERCENT_MIN} are claimed", all.recall_percent));
    }
    if all.line_recall_percent < line_recall_percent_min {
        missed.push(format!(
            "{group}: recall of edit lines is {:.1} %, {line_recall_percent_min} are claimed",
            all.line_recall_percent
        ));
    }
    missed
}

/// Quarters of a group's sessions in which shaping costs more than it saves.
pub(super) fn of_quarters(group: &str, report: &Report) -> Vec<String> {
    quarters::of(report)
        .into_iter()
        .filter(|(_, part)| part.adjusted_percent > QUARTER_PERCENT_MAX)
        .map(|(name, part)| format!("{group}, {name}: the adjusted bill is {:.1} %", part.adjusted_percent))
        .collect()
}
