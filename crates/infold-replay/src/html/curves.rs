//! The chart of a session's requests over time: its frame, and the data that the page's script draws.

use serde::Serialize;

use super::Page;
use super::write::{escape, json, plain};
use crate::SessionReport;

/// The data for the script.
#[derive(Serialize)]
struct Data<'r> {
    ours: Option<usize>,
    policies: Vec<CurveLine<'r>>,
    sessions: Vec<Drawn<'r>>,
}

#[derive(Serialize)]
struct CurveLine<'r> {
    label: &'r str,
    key: String,
}

#[derive(Serialize)]
struct Drawn<'r> {
    requests: &'r [u64],
    tokens: &'r [Vec<u64>],
}

/// The sessions that have a curve, the largest bill first, each with its index in the report.
pub(super) fn drawn<'r>(page: &Page<'r>) -> Vec<(usize, &'r SessionReport)> {
    let bill = |session: &SessionReport| session.outcomes.first().map_or(0.0, |outcome| outcome.measures.billed);
    let mut sessions: Vec<(usize, &SessionReport)> = page
        .report
        .sessions
        .iter()
        .enumerate()
        .filter(|(_, session)| session.curve.as_ref().is_some_and(|curve| !curve.requests.is_empty()))
        .collect();
    sessions.sort_by(|(_, one), (_, other)| bill(other).total_cmp(&bill(one)));
    sessions
}

/// The data as JSON that is safe inside the page.
pub(super) fn data(page: &Page<'_>) -> String {
    let policies = page.report.policies.iter().enumerate();
    json(&Data {
        ours: page.ours,
        policies: policies.map(|(at, row)| CurveLine { label: &row.label, key: page.key(at) }).collect(),
        sessions: drawn(page)
            .into_iter()
            .filter_map(|(_, session)| session.curve.as_ref())
            .map(|curve| Drawn { requests: &curve.requests, tokens: &curve.prompt_tokens })
            .collect(),
    })
}

/// The chart's frame: the choice of sessions, the policies, and the area to draw in.
pub(super) fn section(page: &Page<'_>) -> String {
    let sessions = drawn(page);
    if sessions.is_empty() {
        return String::new();
    }
    let mut options = String::new();
    for (at, (_, session)) in sessions.iter().enumerate() {
        let requests = session.outcomes.first().map_or(0, |outcome| outcome.measures.requests);
        options += &format!("<option value=\"{at}\">{requests} requests · {}</option>", escape(&plain(&session.name)));
    }
    let mut legend = String::new();
    for (at, row) in page.report.policies.iter().enumerate() {
        legend += &format!(
            "<button type=\"button\" class=\"{}\" data-policy=\"{at}\" aria-pressed=\"true\">{}</button>",
            page.key(at),
            escape(&row.label),
        );
    }
    format!(
        "<section class=\"card\" id=\"over-time\"><h2>Context size over time</h2>\
         <p class=\"note\">Tokens in each request of a session. Point at the chart, or use the arrow keys, to read it.</p>\
         <div class=\"controls\"><label class=\"hidden\" for=\"pick\">Session</label><select id=\"pick\">{options}</select>\
         <div class=\"legend\" role=\"group\" aria-label=\"Policies shown\">{legend}</div></div>\
         <div id=\"chart\" tabindex=\"0\" role=\"img\" aria-label=\"Tokens in each request, a line for each policy\">\
         <noscript>This chart needs the page's own script to run.</noscript></div></section>\n"
    )
}
