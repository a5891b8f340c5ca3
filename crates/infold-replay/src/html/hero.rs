//! The head of the page: the result in one large figure and a few smaller ones.

use super::Page;
use infold_core::grouped;

use super::write::{money, of, percent, tokens};
use crate::PolicyReport;

pub(super) fn hero(page: &Page<'_>) -> String {
    let report = page.report;
    let requests = report.policies.first().map_or(0, |row| row.total.measures.requests);
    let size = format!("{} sessions, {} requests", grouped(report.sessions.len() as u64), grouped(requests));
    let (Some(was), Some(ours)) = (report.policies.first(), page.ours.map(|at| &report.policies[at])) else {
        return format!(
            "<header class=\"card hero\"><div><p class=\"brand\">infold replay</p><h1>{size}</h1></div></header>\n"
        );
    };
    let (before, after) = (&was.total.measures, &ours.total.measures);
    let saving = 100.0 - of(after.adjusted, before.adjusted);
    let (figure, words) = if saving >= 0.0 {
        (saving, "cheaper, including what the agent would have to fetch again")
    } else {
        (-saving, "dearer, including what the agent would have to fetch again")
    };
    let tile = |name: &str, now: String, was: String| {
        format!("<div class=\"tile\"><dt>{name}</dt><dd>{now}<span class=\"was\">{was}</span></dd></div>")
    };
    let mut tiles = String::new();
    if let (Some(cost), Some(cost_before)) = (whole_cost(was, ours), was.total.cost) {
        tiles += &tile("Cost, including what is fetched again", money(cost), format!("was {}", money(cost_before)));
    }
    let less = |after: u64, before: u64| difference(of(after as f64, before as f64) - 100.0);
    tiles += &tile(
        "Largest request, on average",
        less(after.peak_tokens, before.peak_tokens),
        peaks(after.peak_tokens, before.peak_tokens, report.sessions.len()),
    );
    tiles += &tile(
        "Tokens sent",
        tokens(after.prompt_tokens as f64),
        format!("was {}", tokens(before.prompt_tokens as f64)),
    );
    tiles += &tile(
        "Still in the prompt when used again",
        format!("{} %", percent(after.recall_percent())),
        format!("{} % of edited lines", percent(after.line_recall_percent())),
    );
    if was.total.cost.is_none() || ours.total.cost.is_none() {
        tiles += &tile(
            "Requests with invalid reasoning",
            grouped(after.invalid_reasoning_requests),
            format!("of {}", grouped(after.requests)),
        );
    }
    format!(
        "<header class=\"card hero\"><div><p class=\"brand\">infold replay</p>\
         <p class=\"figure\">{figure:.0}<small>%</small></p><h1>{words}</h1>\
         <p class=\"note\">{size}, replayed as infold would have sent them. Nothing left this machine.</p></div>\
         <dl class=\"tiles\">{tiles}</dl></header>\n"
    )
}

/// What a policy would have cost, including what is fetched again: the recorded cost, scaled by the ratio of the
/// adjusted bills. So dollars and percentages on the page agree.
pub(super) fn whole_cost(was: &PolicyReport, row: &PolicyReport) -> Option<f64> {
    row.total.cost?;
    Some(was.total.cost? * of(row.total.measures.adjusted, was.total.measures.adjusted) / 100.0)
}

fn peaks(after: u64, before: u64, sessions: usize) -> String {
    let mean = |sum: u64| tokens(sum as f64 / sessions.max(1) as f64);
    format!("{}, was {}", mean(after), mean(before))
}

/// A difference in percent, with its sign.
fn difference(percent: f64) -> String {
    let sign = if percent < 0.0 { "−" } else { "+" };
    format!("{sign}{:.0} %", percent.abs())
}
