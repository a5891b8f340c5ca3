//! What docs/measurements.md claims, and which of it does not hold.
//!
//! What is claimed of all sessions has to hold on each half of them too, or it would be a claim about the mix.

use infold_replay::ForkTable;

use super::parts::SessionGroup;

/// By how many points the recall of the profile `recall` is above that of a plain tail as large, wherever there are
/// many cuts: in a small context, and in a larger one, where a tail has most of it already.
const RECALL_GAIN_MIN: f64 = 3.0;
const RECALL_GAIN_MIN_LARGE: f64 = 1.0;
/// Contexts of more tokens than this are the larger ones.
const SMALL_TOKENS_MAX: f64 = 40_000.0;
/// A part with fewer cuts says too little, and nothing is claimed of it.
const CUTS_MIN: u64 = 50;
/// The adjusted bill with shaping over all sessions, in percent of the bill without.
const ADJUSTED_PERCENT_MAX: f64 = 85.0;
/// The same in any one session.
const SESSION_PERCENT_MAX: f64 = 101.0;
/// The same through the proxy, where secrets are taken out as well: one session uses a password that it is not shown.
const SESSION_PERCENT_MAX_SCRUBBED: f64 = 102.0;

/// How shaping was measured.
#[derive(Debug, Clone, Copy)]
pub(super) enum ShapingMeasured {
    /// By replaying what was recorded.
    OnPaper,
    /// By what a provider got through the running proxy.
    ThroughProxy,
}

impl ShapingMeasured {
    fn name(self) -> &'static str {
        match self {
            Self::OnPaper => "on paper",
            Self::ThroughProxy => "through the proxy",
        }
    }

    fn session_percent_max(self) -> f64 {
        match self {
            Self::OnPaper => SESSION_PERCENT_MAX,
            Self::ThroughProxy => SESSION_PERCENT_MAX_SCRUBBED,
        }
    }
}

/// How much of what a part of the sessions needs stays visible at least with shaping, in percent.
struct Promise {
    part: &'static str,
    recall: f64,
    strict_recall: f64,
    line_recall: f64,
}

const PROMISES: [Promise; 7] = [
    Promise { part: "all", recall: 99.0, strict_recall: 97.0, line_recall: 95.0 },
    Promise { part: "half 0", recall: 99.0, strict_recall: 97.0, line_recall: 95.0 },
    Promise { part: "half 1", recall: 99.0, strict_recall: 97.0, line_recall: 95.0 },
    Promise { part: "claude-code", recall: 99.0, strict_recall: 98.0, line_recall: 95.0 },
    Promise { part: "claude-code, half 0", recall: 99.0, strict_recall: 98.0, line_recall: 95.0 },
    Promise { part: "claude-code, half 1", recall: 99.0, strict_recall: 98.0, line_recall: 95.0 },
    // These are eleven sessions in which little was edited.
    Promise { part: "codex", recall: 97.0, strict_recall: 94.0, line_recall: 90.0 },
];

/// Claims about the profile `recall` that do not hold. Each pair is a row of the profile and that of a tail; the
/// first row of the table is the seed's.
pub(super) fn of_forks(part: &str, table: &ForkTable, pairs: &[(usize, usize)]) -> Vec<String> {
    let mut missed = Vec::new();
    if table.cuts < CUTS_MIN {
        return missed;
    }
    let seed = &table.rows[0];
    for (recall, tail) in pairs.iter().map(|(recall, tail)| (&table.rows[*recall], &table.rows[*tail])) {
        let gains = [
            ("recall", recall.recall_percent - tail.recall_percent),
            ("recall over the seed's tiers", recall.recall_percent - seed.recall_percent),
        ];
        let gain_min = if recall.tokens > SMALL_TOKENS_MAX { RECALL_GAIN_MIN_LARGE } else { RECALL_GAIN_MIN };
        for (what, gain) in gains.into_iter().filter(|(_, gain)| *gain < gain_min) {
            missed.push(format!(
                "{part}, {} against {}: {what} gains {gain:.1} points, {gain_min} are claimed",
                recall.label, tail.label
            ));
        }
    }
    missed
}

/// Claims about shaping that do not hold.
pub(super) fn of_shaping(measured: ShapingMeasured, parts: &[SessionGroup]) -> Vec<String> {
    let (how, session_max) = (measured.name(), measured.session_percent_max());
    let Some(all) = parts.first() else { return vec![format!("{how}: nothing was measured")] };
    let mut missed = Vec::new();
    if all.adjusted.sum > ADJUSTED_PERCENT_MAX {
        let adjusted = all.adjusted.sum;
        missed.push(format!("{how}: the adjusted bill is {adjusted:.1} %, {ADJUSTED_PERCENT_MAX} are claimed"));
    }
    if all.adjusted.worst > session_max {
        let adjusted = all.adjusted.worst;
        missed.push(format!("{how}: a session's adjusted bill is {adjusted:.1} %, {session_max} are claimed"));
    }
    for part in parts {
        let Some(promise) = PROMISES.iter().find(|promise| promise.part == part.name) else { continue };
        let figures = [
            ("RR", part.recall.sum, promise.recall),
            ("strict RR", part.strict_recall.sum, promise.strict_recall),
            ("edit lines", part.line_recall.sum, promise.line_recall),
        ];
        for (what, is, claimed) in figures.into_iter().filter(|(_, is, claimed)| is < claimed) {
            missed.push(format!("{how}, {}: {what} is {is:.1} %, {claimed} are claimed", part.name));
        }
    }
    missed
}
