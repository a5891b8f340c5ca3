//! The tables of docs/measurements.md.

use infold_replay::{ForkTable, Report};

use super::quarters;

/// How forks did.
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

/// How each policy did.
pub(super) fn policies(name: &str, report: &Report) -> String {
    let mut text = format!(
        "| {name}, {} sessions, % of as it was | peak | billed | adjusted | RR | RRfar | edit lines | invalid reasoning |\n\
         |---|---|---|---|---|---|---|---|\n",
        report.sessions.len()
    );
    let Some(first) = report.policies.first() else { return text };
    let was = &first.total.measures;
    let percent = |part: f64, whole: f64| if whole > 0.0 { part * 100.0 / whole } else { 0.0 };
    for policy in &report.policies {
        let now = &policy.total.measures;
        text.push_str(&format!(
            "| {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {} of {} |\n",
            policy.label,
            percent(now.peak_tokens as f64, was.peak_tokens as f64),
            percent(now.billed, was.billed),
            percent(now.adjusted, was.billed),
            percent(now.atoms_seen as f64, now.atoms_needed as f64),
            percent(now.far_atoms_seen as f64, now.far_atoms_needed as f64),
            percent(now.lines_seen as f64, now.lines_needed as f64),
            now.invalid_reasoning_requests,
            now.requests,
        ));
    }
    text.push('\n');
    text
}

/// How shaping did in each quarter of the sessions, split several ways.
pub(super) fn quarters(report: &Report) -> String {
    let mut text = String::from(
        "| infold, never compacting, % of as it was | sessions | billed | adjusted | RR | edit lines |\n|---|---|---|---|---|---|\n",
    );
    for (name, part) in quarters::of(report) {
        text.push_str(&format!(
            "| {name} | {} | {:.1} | {:.1} | {:.1} | {:.1} |\n",
            part.sessions, part.billed_percent, part.adjusted_percent, part.recall_percent, part.line_recall_percent
        ));
    }
    text
}
