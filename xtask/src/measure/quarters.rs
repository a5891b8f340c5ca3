//! Sessions split into quarters, several ways, and what shaping comes to in each.
//!
//! A policy that pays on average may cost in some sessions. Which ones those would be nobody knows
//! beforehand, so more than one way to split is looked at.

use infold_replay::{Measures, Policy, Report, SessionReport};

const QUARTERS: usize = 4;

/// What shaping comes to in a part of the sessions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub sessions: usize,
    pub billed_percent: f64,
    pub adjusted_percent: f64,
    pub recall_percent: f64,
    pub line_recall_percent: f64,
}

/// All sessions of a report; nothing if it has none, or shaping was not asked for.
pub(super) fn all(report: &Report) -> Option<Part> {
    part(report, &report.sessions.iter().collect::<Vec<_>>())
}

/// The quarters of a report's sessions, each with its name.
pub(super) fn of(report: &Report) -> Vec<(String, Part)> {
    let in_order: Vec<&SessionReport> = report.sessions.iter().collect();
    let mut by_size = in_order.clone();
    by_size.sort_by(|one, other| billed(one).total_cmp(&billed(other)));
    let mut by_length = in_order.clone();
    by_length.sort_by_key(|session| session.recorded.requests);
    let every_fourth: Vec<&SessionReport> =
        (0..QUARTERS).flat_map(|first| in_order.iter().copied().skip(first).step_by(QUARTERS)).collect();
    let splits =
        [("by bill", by_size), ("by requests", by_length), ("in order", in_order), ("every fourth", every_fourth)];
    let mut quarters = Vec::new();
    for (name, sessions) in splits {
        for at in 0..QUARTERS {
            let quarter = &sessions[at * sessions.len() / QUARTERS..(at + 1) * sessions.len() / QUARTERS];
            quarters.extend(part(report, quarter).map(|part| (format!("{name}, quarter {}", at + 1), part)));
        }
    }
    quarters
}

fn billed(session: &SessionReport) -> f64 {
    session.outcomes.first().map_or(0.0, |outcome| outcome.measures.billed)
}

fn part(report: &Report, sessions: &[&SessionReport]) -> Option<Part> {
    let shaped_at = report.policies.iter().position(|policy| policy.policy == Policy::SHAPED)?;
    let sum = |at: usize| {
        let mut all = Measures::default();
        sessions.iter().filter_map(|session| session.outcomes.get(at)).for_each(|outcome| all.add(&outcome.measures));
        all
    };
    let (was, now) = (sum(0), sum(shaped_at));
    (was.billed > 0.0).then(|| Part {
        sessions: sessions.len(),
        billed_percent: 100.0 * now.billed / was.billed,
        adjusted_percent: 100.0 * now.adjusted / was.billed,
        // Where nothing was needed nothing was missed.
        recall_percent: now.recall_percent().unwrap_or(100.0),
        line_recall_percent: now.line_recall_percent().unwrap_or(100.0),
    })
}
