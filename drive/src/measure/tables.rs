//! The tables of docs/measurements.md.

use infold_replay::{ForkTable, Measures, Report, SessionReport};

use super::parts::{SessionGroup, Spread};

/// The table of how well forks did, one row for each way to fork.
pub(super) fn forks(name: &str, table: &ForkTable) -> String {
    let mut text = format!("| {name}, {} cuts | tokens | RR@10 | edit lines |\n|---|---|---|---|\n", table.cuts);
    for row in &table.rows {
        text.push_str(&format!(
            "| {} | {:.1}k | {:.1} | {:.1} |\n",
            row.label,
            row.tokens / 1_000.0,
            row.recall_percent,
            row.line_recall_percent
        ));
    }
    text.push('\n');
    text
}

/// By how many points forks of the profile `recall` did better than a plain tail as large, part by part.
pub(super) fn fork_gains(parts: &[(String, ForkTable)], pairs: &[(usize, usize)]) -> String {
    let Some((_, first)) = parts.first() else { return String::new() };
    let labels: Vec<&str> = pairs.iter().map(|(recall, _)| first.rows[*recall].label.as_str()).collect();
    let mut text = format!("| points more than a tail as large | cuts | {} |\n|---|---|", labels.join(" | "));
    text.push_str(&"---|".repeat(pairs.len()));
    text.push('\n');
    for (name, table) in parts.iter().filter(|(_, table)| table.cuts > 0) {
        text.push_str(&format!("| {name} | {} |", table.cuts));
        for (recall, tail) in pairs.iter().map(|(recall, tail)| (&table.rows[*recall], &table.rows[*tail])) {
            text.push_str(&format!(
                " RR@10 {:+.1}, edit lines {:+.1} |",
                recall.recall_percent - tail.recall_percent,
                recall.line_recall_percent - tail.line_recall_percent
            ));
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// The table of how well each policy did in those sessions of a report that `is_of` picks.
pub(super) fn policies(name: &str, report: &Report, is_of: impl Fn(&str) -> bool) -> String {
    let sessions: Vec<&SessionReport> = report.sessions.iter().filter(|session| is_of(&session.name)).collect();
    let mut text = format!(
        "| {name}, {} sessions, % of as it was | peak | billed | adjusted | RR | strict RR | edit lines | invalid reasoning |\n\
         |---|---|---|---|---|---|---|---|\n",
        sessions.len()
    );
    let sum = |at: usize| {
        let mut all = Measures::default();
        sessions.iter().filter_map(|session| session.outcomes.get(at)).for_each(|outcome| all.add(&outcome.measures));
        all
    };
    let was = sum(0);
    let percent = |part: f64, whole: f64| if whole > 0.0 { part * 100.0 / whole } else { 0.0 };
    for (at, policy) in report.policies.iter().enumerate() {
        let now = sum(at);
        text.push_str(&format!(
            "| {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {} of {} |\n",
            policy.label,
            percent(now.peak_tokens as f64, was.peak_tokens as f64),
            percent(now.billed, was.billed),
            percent(now.adjusted, was.billed),
            percent(now.atoms_seen as f64, now.atoms_needed as f64),
            percent(now.strict_atoms_seen as f64, now.atoms_needed as f64),
            percent(now.lines_seen as f64, now.lines_needed as f64),
            now.invalid_reasoning_requests,
            now.requests,
        ));
    }
    text.push('\n');
    text
}

/// The table of what shaping did in each part of the sessions: together, and in brackets the median, the range from
/// the tenth to the ninetieth percentile, and the worst session.
pub(super) fn parts(how: &str, parts: &[SessionGroup]) -> String {
    let mut text = format!(
        "| {how} | sessions | billed | adjusted bill | RR | strict RR | edit lines |\n|---|---|---|---|---|---|---|\n"
    );
    for part in parts {
        text.push_str(&format!(
            "| {} | {} | {:.1} | {} | {} | {} | {} |\n",
            part.name,
            part.sessions,
            part.billed_percent,
            spread(&part.adjusted),
            spread(&part.recall),
            spread(&part.strict_recall),
            spread(&part.line_recall),
        ));
    }
    text.push('\n');
    text
}

fn spread(spread: &Spread) -> String {
    let Spread { sum, median, p10, p90, worst } = spread;
    format!("**{sum:.1}** ({median:.0}, {p10:.0}–{p90:.0}, {worst:.0})")
}
