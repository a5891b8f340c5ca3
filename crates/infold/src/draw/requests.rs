//! Requests to models, drawn as a table: how large each was and what of it came from the cache, what was
//! edited, what it cost, and why the cache missed.

use infold_core::record::{AnswerEnd, RequestRecord, RequestTotals, Usage};
use infold_core::view::{Edit, Reason, RequestKind};

use super::style::{Style, Tone, columns};
use super::table::{Align, Column, Spans, Table};
use super::words::{ago, fitted, money, one_line, thousands, wrapped};

/// Columns of the widest bar.
const BAR_CELLS: u64 = 16;
/// Columns of a branch's id that are shown.
const ID_CHARS: usize = 11;
/// What may go where there is little room, in this order.
const MAY_GO: [&str; 5] = ["MODEL", "ADDED", "OUT", "COST", "WHEN"];
/// Columns of a session's name that are shown where there are several.
const SESSION_COLUMNS: usize = 20;

/// How a provider counts beside how we do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountView {
    /// The family of models.
    pub family: String,
    /// Their tokens for each thousand of ours.
    pub per_mille: u64,
    /// Requests that this was learnt from.
    pub samples: u64,
}

/// A session's requests, as far as they are drawn.
#[derive(Debug, Clone)]
pub struct RequestsView {
    /// The newest of them, oldest first.
    pub rows: Vec<RequestRecord>,
    /// What all of them add up to.
    pub totals: RequestTotals,
    /// How providers count.
    pub counts: Vec<CountView>,
}

/// Whose requests a table holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Those of one session, which need not be named.
    OneSession,
    /// Those of several.
    Several,
}

/// The requests as text; nothing if there were none.
pub fn requests(view: &RequestsView, now_ms: u64, style: &Style) -> String {
    if view.totals.requests == 0 {
        return String::new();
    }
    let mut lines = Vec::new();
    if !view.rows.is_empty() {
        let rows: Vec<&RequestRecord> = view.rows.iter().collect();
        lines.extend(request_lines(&rows, Whose::OneSession, now_ms, style).iter().map(|line| style.line(line)));
        lines.push(String::new());
    }
    lines.extend(totals(&view.totals, view.rows.len(), style));
    lines.extend(view.counts.iter().map(|count| style.tone(Tone::Faint, &counted(count))));
    lines.join("\n") + "\n"
}

/// One line for each request, and below it what else there is to say.
pub fn request_lines(rows: &[&RequestRecord], whose: Whose, now_ms: u64, style: &Style) -> Vec<Spans> {
    let left = |heading| Column { heading, align: Align::Left };
    let right = |heading| Column { heading, align: Align::Right };
    let mut table = Table::new(vec![
        right("WHEN"),
        left("SESSION"),
        left("THREAD"),
        left("MODEL"),
        right("PROMPT"),
        left(style.either("█ read ▓ written ░ fresh", "# read + written . fresh")),
        right("OUT"),
        right("COST"),
        right("ADDED"),
        left("EDITED"),
    ]);
    let largest_tokens = rows.iter().map(|row| prompt_tokens(row)).max().unwrap_or(0);
    for row in rows {
        table.row(cells(row, largest_tokens, now_ms, style));
    }
    let table = match whose {
        Whose::OneSession => table.without("SESSION"),
        Whose::Several => table,
    };
    let mut drawn = table.dropped_to_fit(style.width, &MAY_GO).lines().into_iter();
    let mut lines: Vec<Spans> = drawn.next().into_iter().collect();
    for (row, line) in rows.iter().zip(drawn) {
        lines.push(line);
        lines.extend(notes(row, style));
    }
    lines
}

fn cells(row: &RequestRecord, largest_tokens: u64, now_ms: u64, style: &Style) -> Spans {
    let tone = match row.end {
        AnswerEnd::Completed => Tone::Plain,
        AnswerEnd::Cut | AnswerEnd::Aborted | AnswerEnd::Refused | AnswerEnd::Failed => Tone::Bad,
    };
    vec![
        (Tone::Faint, ago(now_ms, row.at_ms)),
        (Tone::Plain, fitted(row.session.as_str(), SESSION_COLUMNS, style)),
        (tone, thread(row)),
        (Tone::Faint, one_line(row.model.as_str())),
        (Tone::Plain, thousands(prompt_tokens(row))),
        (Tone::Plain, bar(row.usage.unwrap_or_default(), largest_tokens, style)),
        (Tone::Plain, row.usage.map_or_else(|| "-".to_owned(), |usage| thousands(usage.output_tokens))),
        (Tone::Plain, row.cost_micros.map_or_else(|| "-".to_owned(), money)),
        (Tone::Faint, format!("{:.1} ms", row.timing.added_us as f64 / 1_000.0)),
        (Tone::Busy, edited(&row.edits)),
    ]
}

/// The provider's count, or ours where it gave none.
fn prompt_tokens(row: &RequestRecord) -> u64 {
    row.usage.map_or_else(|| row.sent.total_tokens(), |usage| usage.prompt_tokens())
}

fn thread(row: &RequestRecord) -> String {
    let name = match row.thread.branch() {
        Some(branch) => branch.as_str().chars().take(ID_CHARS).collect(),
        None => "main".to_owned(),
    };
    match row.kind {
        RequestKind::Turn => name,
        RequestKind::Side => format!("{name}, aside"),
        RequestKind::Compaction => format!("{name}, compaction"),
    }
}

/// A bar as long as the prompt is large next to the largest, in three shades.
fn bar(usage: Usage, largest_tokens: u64, style: &Style) -> String {
    let whole = usage.prompt_tokens();
    let cells = |tokens: u64| (tokens * BAR_CELLS + largest_tokens / 2).checked_div(largest_tokens).unwrap_or(0);
    let length = cells(whole).max(u64::from(whole > 0));
    let share = |tokens: u64| (tokens * length + whole / 2).checked_div(whole).unwrap_or(0);
    let read = share(usage.cache_read_tokens);
    let written = share(usage.cache_read_tokens + usage.cache_write_tokens) - read;
    let shades = [
        (read, style.either("█", "#")),
        (written, style.either("▓", "+")),
        (length - read - written, style.either("░", ".")),
    ];
    shades.iter().map(|(count, shade)| shade.repeat(usize::try_from(*count).unwrap_or(0))).collect()
}

/// What was edited: `folded 12, offloaded 2`.
fn edited(edits: &[Edit]) -> String {
    let told = |edit: &Edit| format!("{} {}", reason(edit.reason), edit.blocks);
    edits.iter().map(told).collect::<Vec<_>>().join(", ")
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Folded => "folded",
        Reason::Isolated => "isolated",
        Reason::Brief => "brief",
        Reason::Waiting => "waiting",
        Reason::Scrubbed => "scrubbed",
        Reason::Offloaded => "offloaded",
        Reason::Reasoning => "reasoning",
        Reason::Note => "note",
        Reason::Rescued => "rescued",
    }
}

/// What else there is to say of a request, a line each.
fn said(row: &RequestRecord) -> Vec<(Tone, String)> {
    let mut said = Vec::new();
    if row.end != AnswerEnd::Completed {
        let status = row.status.map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"));
        said.push((Tone::Bad, format!("{}, {status}", row.end.as_str())));
    }
    said.extend(row.miss.as_ref().map(|miss| {
        let tokens = thousands(miss.missed_tokens);
        (Tone::Warn, format!("{tokens} tokens not read from the cache: {}", miss.cause))
    }));
    said.extend(row.warnings.iter().map(|warning| (Tone::Warn, one_line(warning.text.as_str()))));
    said
}

fn notes(row: &RequestRecord, style: &Style) -> Vec<Spans> {
    let lead = style.either("  ↳ ", "  > ");
    let room = style.width.saturating_sub(columns(lead)).max(16);
    let mut lines = Vec::new();
    for (tone, text) in said(row) {
        let leads = std::iter::once(lead).chain(std::iter::repeat("    "));
        lines.extend(leads.zip(wrapped(&text, room)).map(|(lead, line)| vec![(tone, format!("{lead}{line}"))]));
    }
    lines
}

fn totals(totals: &RequestTotals, shown: usize, style: &Style) -> Vec<String> {
    let dot = style.either(" · ", ", ");
    let count =
        |count: u64, one: &str, many: &str| format!("{} {}", thousands(count), if count == 1 { one } else { many });
    let mut about = vec![count(totals.requests, "request", "requests")];
    if (shown as u64) < totals.requests {
        about.push(format!("the last {shown} shown"));
    }
    about.extend((totals.edited > 0).then(|| format!("{} edited", thousands(totals.edited))));
    about.extend((totals.broken > 0).then(|| format!("{} without a whole answer", thousands(totals.broken))));
    about.extend((totals.warnings > 0).then(|| count(totals.warnings, "warning", "warnings")));
    let average_us = totals.added_us.checked_div(totals.requests).unwrap_or(0);
    about.push(format!("{:.1} ms added to each", average_us as f64 / 1_000.0));

    let mut lines = vec![style.tone(Tone::Strong, &about.join(dot)), sent(totals, dot)];
    lines.push(cached(totals, dot));
    lines.extend(cost(totals, dot));
    lines
}

fn sent(totals: &RequestTotals, dot: &str) -> String {
    let (sent, wanted) = (thousands(totals.sent_tokens), thousands(totals.wanted_tokens));
    if totals.sent_tokens >= totals.wanted_tokens {
        return format!("sent {sent} tokens{dot}the client wanted to send {wanted}");
    }
    let saved_tokens = totals.saved_tokens();
    let percent = saved_tokens * 100 / totals.wanted_tokens.max(1);
    format!(
        "sent {sent} of the {wanted} tokens that the client wanted to send{dot}{} saved ({percent} %)",
        thousands(saved_tokens)
    )
}

fn cached(totals: &RequestTotals, dot: &str) -> String {
    let usage = totals.usage;
    let Some(percent) = totals.cache_hit_percent() else { return "no usage was reported".to_owned() };
    let mut parts = vec![
        format!("{percent} % read from the cache"),
        format!("{} written", thousands(usage.cache_write_tokens)),
        format!("{} fresh", thousands(usage.fresh_tokens)),
        format!("{} answered", thousands(usage.output_tokens)),
    ];
    if totals.misses > 0 {
        let (misses, tokens) = (thousands(totals.misses), thousands(totals.missed_tokens));
        parts.push(format!("{misses} missed it, by {tokens} tokens"));
    }
    parts.join(dot)
}

fn cost(totals: &RequestTotals, dot: &str) -> Option<String> {
    if totals.priced == 0 {
        return None;
    }
    let cost = format!("cost {}", money(totals.cost_micros));
    let saved_micros = totals.saved_micros();
    let amount = money(saved_micros.unsigned_abs());
    let wanted = format!("about {} as the client wanted it", money(totals.wanted_cost_micros));
    Some(match saved_micros {
        0 => cost,
        1.. => format!("{cost}{dot}{wanted}{dot}{amount} saved"),
        ..0 => format!("{cost}{dot}{wanted}{dot}{amount} more"),
    })
}

fn counted(count: &CountView) -> String {
    let ratio = count.per_mille as f64 / 1_000.0;
    format!("{} counts {ratio:.2} tokens for each of ours, by {} requests", count.family, thousands(count.samples))
}

#[cfg(test)]
mod tests;
