//! Draws the report of a replay as tables for a terminal.

use infold_replay::{Folding, Measures, Report};

use crate::draw::{Align, Column, Style, Table, Tone, thousands};

/// Most sessions that get a line; the page and the JSON have all of them.
const SESSIONS_MAX: usize = 20;

/// Draws the policies, the sessions and, if sub-tasks were folded, what that saved.
pub fn draw(report: &Report, style: &Style) -> String {
    let may_go = ["INVALID REASONING", "WRITTEN", "CACHE READ", "FAR", "PROMPT TOKENS", "COST", "PEAK"];
    let mut text = policies(report).dropped_to_fit(style.width, &may_go).draw(style);
    text.push_str("peak, billed and adjusted are estimates in percent of the first line; adjusted counts what would be fetched again\n");
    if report.unpriced_sessions > 0 {
        let count = report.unpriced_sessions;
        text.push_str(&format!(
            "cost leaves out sessions without a price, {count} here: add their models to [prices] in the settings\n"
        ));
    }
    text.push('\n');
    text.push_str(&sessions(report).dropped_to_fit(style.width, &["CLIENT", "MODEL", "REQUESTS"]).draw(style));
    let more = report.sessions.len().saturating_sub(SESSIONS_MAX);
    if more > 0 {
        text.push_str(&format!("and {more} more sessions: --json or --html shows all\n"));
    }
    if let Some(folding) = &report.folding {
        text.push('\n');
        text.push_str(&self::folding(folding));
    }
    text
}

fn left(heading: &'static str) -> Column {
    Column { heading, align: Align::Left }
}

fn right(heading: &'static str) -> Column {
    Column { heading, align: Align::Right }
}

/// One line for each policy. Some figures are in percent of the first policy's, where that says more.
fn policies(report: &Report) -> Table {
    let mut table = Table::new(vec![
        left("POLICY"),
        right("PEAK"),
        right("PROMPT TOKENS"),
        right("CACHE READ"),
        right("WRITTEN"),
        right("BILLED"),
        right("ADJUSTED"),
        right("COST"),
        right("RECALL"),
        right("FAR"),
        right("EDIT LINES"),
        right("INVALID REASONING"),
    ]);
    let Some(first) = report.policies.first() else { return table };
    for policy in &report.policies {
        let (now, was) = (&policy.total.measures, &first.total.measures);
        let tone = if policy.label == "infold" { Tone::Strong } else { Tone::Plain };
        let cell = |text: String| (tone, text);
        table.row(vec![
            cell(policy.label.clone()),
            cell(percent(now.peak_tokens as f64, was.peak_tokens as f64)),
            cell(thousands(now.prompt_tokens)),
            cell(thousands(now.cache_read_tokens)),
            cell(thousands(now.cache_write_tokens)),
            cell(percent(now.billed, was.billed)),
            cell(percent(now.adjusted, was.adjusted)),
            cell(policy.total.cost.map_or_else(|| "-".to_owned(), |cost| format!("${cost:.2}"))),
            cell(percent(now.atoms_seen as f64, now.atoms_needed as f64)),
            cell(percent(now.far_atoms_seen as f64, now.far_atoms_needed as f64)),
            cell(percent(now.lines_seen as f64, now.lines_needed as f64)),
            cell(format!("{}/{}", thousands(now.invalid_reasoning_requests), thousands(now.requests))),
        ]);
    }
    table
}

/// The sessions with the largest bills: as they were, and under the last policy, which is infold's.
fn sessions(report: &Report) -> Table {
    let mut table = Table::new(vec![
        left("SESSION"),
        left("CLIENT"),
        left("MODEL"),
        right("REQUESTS"),
        right("PEAK"),
        right("WITH INFOLD"),
        right("BILLED"),
        right("WITH INFOLD"),
        right("RECALL"),
    ]);
    let bill = |measures: Option<&Measures>| measures.map_or(0.0, |measures| measures.billed);
    let mut sessions: Vec<_> = report.sessions.iter().collect();
    let first =
        |session: &infold_replay::SessionReport| bill(session.outcomes.first().map(|outcome| &outcome.measures));
    sessions.sort_by(|one, other| first(other).total_cmp(&first(one)));
    for session in sessions.into_iter().take(SESSIONS_MAX) {
        let (Some(was), Some(now)) = (session.outcomes.first(), session.outcomes.last()) else { continue };
        let (was, now) = (&was.measures, &now.measures);
        table.row(vec![
            (Tone::Plain, session.name.clone()),
            (Tone::Faint, session.client.clone()),
            (Tone::Faint, session.model.clone()),
            (Tone::Plain, thousands(was.requests)),
            (Tone::Plain, thousands(was.peak_tokens)),
            (Tone::Strong, percent(now.peak_tokens as f64, was.peak_tokens as f64)),
            (Tone::Plain, thousands(was.billed as u64)),
            (Tone::Strong, percent(now.billed, was.billed)),
            (Tone::Plain, percent(now.atoms_seen as f64, now.atoms_needed as f64)),
        ]);
    }
    table
}

fn folding(folding: &Folding) -> String {
    format!(
        "{} sub-tasks were folded: {} tokens of work replaced by {}. In the main thread they would have cost {} more.\n",
        thousands(folding.subtasks),
        thousands(folding.work_tokens),
        thousands(folding.returned_tokens),
        percent(folding.inline.billed - folding.folded.billed, folding.folded.billed),
    )
}

fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1} %", part * 100.0 / whole) } else { "-".to_owned() }
}
