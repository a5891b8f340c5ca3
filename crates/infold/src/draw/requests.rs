//! Requests to models, drawn as a table: how large each was and what of it came from the cache, what was
//! edited, what it cost, and why the cache missed.
//!
//! Input and output are the provider's counts; what infold removed is its own.

use infold_core::record::{AnswerEnd, RequestRecord, RequestTotals, Usage};
use infold_core::view::{Edit, Reason, RequestKind};

use super::style::{Style, Tone, columns};
use super::table::{Align, Column, Spans, Table};
use super::words::{ago, fitted, money, one_line, packed, thousands, wrapped};

/// Columns of the widest bar.
const BAR_CELLS: u64 = 16;
/// Characters of a branch's id that are shown.
const ID_CHARS: usize = 11;
/// Columns that are left out where the terminal is narrow, in this order.
const MAY_GO: [&str; 5] = ["MODEL", "LATENCY", "OUTPUT", "COST", "WHEN"];
/// Columns that are left out where it is very narrow, in this order.
const MAY_GO_TOO: [&str; 7] = ["MODEL", "LATENCY", "OUTPUT", "COST", "WHEN", BAR, "THREAD"];
/// The heading of the bars where the legend of their shades does not fit into it.
const BAR: &str = "PROMPT";
/// Columns of a session's name in a table of several sessions.
const SESSION_COLUMNS: usize = 20;
/// If a name would get fewer columns than this, another column is left out instead.
const NAME_COLUMNS_MIN: usize = 12;

/// How a provider's token counts compare with infold's estimates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountView {
    /// The family of models that count tokens alike.
    pub family: String,
    /// Tokens that the provider counts where infold estimates a thousand.
    pub per_mille: u64,
    /// Requests that this was learnt from, in all sessions.
    pub samples: u64,
}

/// What is drawn of a session's requests.
#[derive(Debug, Clone)]
pub struct RequestsView {
    /// The newest of them, oldest first.
    pub rows: Vec<RequestRecord>,
    /// The totals of all requests, also of those that are not in `rows`.
    pub totals: RequestTotals,
    /// How the providers of these requests count.
    pub counts: Vec<CountView>,
}

/// Whether a table holds requests of one session or of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestScope {
    /// One session, so the table has no column for it.
    OneSession,
    /// Several sessions, which the table names.
    Several,
}

/// Draws the requests, their totals and how providers count. The text is empty if there were no requests.
pub fn requests(view: &RequestsView, now_ms: u64, style: &Style) -> String {
    if view.totals.requests == 0 {
        return String::new();
    }
    let mut lines = Vec::new();
    if !view.rows.is_empty() {
        let rows: Vec<&RequestRecord> = view.rows.iter().collect();
        lines.extend(request_lines(&rows, RequestScope::OneSession, now_ms, style).iter().map(|line| style.line(line)));
        lines.push(String::new());
    }
    lines.extend(totals(&view.totals, view.rows.len(), style));
    for count in &view.counts {
        lines.extend(indented(&[counted(count, style)], style).iter().map(|line| style.tone(Tone::Faint, line)));
    }
    lines.join("\n") + "\n"
}

/// Draws one line for each request, with notes below it. Where the terminal is very narrow, the notes also say what was
/// edited, and the legend of the bars is a line of its own above the table.
pub fn request_lines(rows: &[&RequestRecord], scope: RequestScope, now_ms: u64, style: &Style) -> Vec<Spans> {
    let shades = style.either("█ cached ▓ written ░ new", "# cached + written . new");
    let wide = table(rows, shades, scope, now_ms, style).dropped_to_fit(style.width, &MAY_GO);
    if wide.columns_wide() <= style.width {
        return with_notes(&wide, rows, |row| note_lines(row_notes(row), style));
    }
    let name = match scope {
        RequestScope::OneSession => "THREAD",
        RequestScope::Several => "SESSION",
    };
    let narrow = table(rows, BAR, scope, now_ms, style).without("CHANGES");
    let narrow = narrow.cut_to_fit(name, NAME_COLUMNS_MIN, &MAY_GO_TOO, style);
    let legend = narrow.has(BAR).then(|| vec![(Tone::Faint, shades.to_owned())]);
    let below = |row: &RequestRecord| {
        let edits = (!row.edits.is_empty()).then(|| (Tone::Busy, edited(&row.edits)));
        note_lines(edits.into_iter().chain(row_notes(row)), style)
    };
    legend.into_iter().chain(with_notes(&narrow, rows, below)).collect()
}

fn table(rows: &[&RequestRecord], bars: &'static str, scope: RequestScope, now_ms: u64, style: &Style) -> Table {
    let left = |heading| Column { heading, align: Align::Left };
    let right = |heading| Column { heading, align: Align::Right };
    let mut table = Table::new(vec![
        right("WHEN"),
        left("SESSION"),
        left("THREAD"),
        left("MODEL"),
        right("INPUT"),
        left(bars),
        right("OUTPUT"),
        right("COST"),
        right("LATENCY"),
        left("CHANGES"),
    ]);
    let reported = rows.iter().filter_map(|row| row.usage).map(|usage| usage.prompt_tokens());
    let largest_tokens = reported.max().unwrap_or(0);
    for row in rows {
        table.row(cells(row, largest_tokens, now_ms, style));
    }
    match scope {
        RequestScope::OneSession => table.without("SESSION"),
        RequestScope::Several => table,
    }
}

/// The table's lines, with the notes of each request below its row.
fn with_notes(table: &Table, rows: &[&RequestRecord], below: impl Fn(&RequestRecord) -> Vec<Spans>) -> Vec<Spans> {
    let mut drawn = table.lines().into_iter();
    let mut lines: Vec<Spans> = drawn.next().into_iter().collect();
    for (row, line) in rows.iter().zip(drawn) {
        lines.push(line);
        lines.extend(below(row));
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
        (Tone::Plain, row.usage.map_or_else(|| "-".to_owned(), |usage| thousands(usage.prompt_tokens()))),
        (Tone::Plain, bar(row.usage.unwrap_or_default(), largest_tokens, style)),
        (Tone::Plain, row.used().map_or_else(|| "-".to_owned(), |used| answered(row, used.output_tokens))),
        (Tone::Plain, row.cost_micros.map_or_else(|| "-".to_owned(), money)),
        (Tone::Faint, format!("{:.1} ms", row.timing.added_us as f64 / 1_000.0)),
        (Tone::Busy, edited(&row.edits)),
    ]
}

/// Tokens of an answer, with a mark where they are an estimate.
fn answered(row: &RequestRecord, output_tokens: u64) -> String {
    let mark = if row.estimated.is_some() { "~" } else { "" };
    format!("{mark}{}", thousands(output_tokens))
}

fn thread(row: &RequestRecord) -> String {
    let name = match row.thread.branch() {
        Some(branch) => branch.as_str().chars().take(ID_CHARS).collect(),
        None => "main".to_owned(),
    };
    match row.kind {
        RequestKind::Turn => name,
        RequestKind::Side => format!("{name}, side call"),
        RequestKind::Compaction => format!("{name}, compaction"),
    }
}

/// A bar in three shades. Its length compares the prompt with the largest one in the table.
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

/// What was changed: `folded 12 blocks, 2 references`.
fn edited(edits: &[Edit]) -> String {
    edits.iter().map(change).collect::<Vec<_>>().join(", ")
}

fn change(edit: &Edit) -> String {
    let counted = |one: &str, many: &str| format!("{} {}", edit.blocks, if edit.blocks == 1 { one } else { many });
    match edit.reason {
        Reason::Folded => format!("folded {}", counted("block", "blocks")),
        Reason::Isolated => format!("hid {}", counted("block", "blocks")),
        Reason::Brief => "added brief".to_owned(),
        Reason::Waiting => format!("set {} aside", counted("block", "blocks")),
        Reason::Scrubbed => format!("scrubbed {}", counted("block", "blocks")),
        Reason::Offloaded => counted("reference", "references"),
        Reason::Reasoning => format!("dropped {}", counted("reasoning block", "reasoning blocks")),
        Reason::Note => format!("added {}", counted("note", "notes")),
        Reason::Lightened => format!("moved {} out", counted("result", "results")),
        Reason::Rescued => format!("rescued {}", counted("block", "blocks")),
    }
}

/// The notes on a request: that it failed, what was not reported, a cache miss, warnings.
fn row_notes(row: &RequestRecord) -> Vec<(Tone, String)> {
    let mut notes = Vec::new();
    if row.end != AnswerEnd::Completed {
        let status = row.status.map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"));
        notes.push((Tone::Bad, format!("{}, {status}", row.end.as_str())));
    }
    notes.extend(unreported(row).map(|text| (Tone::Faint, text)));
    notes.extend(row.miss.as_ref().map(|miss| {
        let tokens = thousands(miss.missed_tokens);
        (Tone::Warn, format!("cache miss ({tokens} tokens): {}", miss.cause))
    }));
    notes.extend(row.warnings.iter().map(|warning| (Tone::Warn, one_line(warning.text.as_str()))));
    notes
}

/// Says that the provider did not report all tokens, and what infold estimates instead.
fn unreported(row: &RequestRecord) -> Option<String> {
    match (row.usage, row.estimated) {
        (Some(_), None) => None,
        (None, None) => {
            let sent = thousands(row.sent.total_tokens());
            Some(format!("the provider reported no tokens; infold estimates {sent} input"))
        }
        (None, Some(estimated)) => {
            let (input, output) = (thousands(estimated.prompt_tokens()), thousands(estimated.output_tokens));
            Some(format!("the provider reported no tokens; infold estimates {input} input, {output} output"))
        }
        (Some(_), Some(estimated)) => {
            let output = thousands(estimated.output_tokens);
            Some(format!("the provider did not report all tokens; infold estimates {output} more output"))
        }
    }
}

fn note_lines(notes: impl IntoIterator<Item = (Tone, String)>, style: &Style) -> Vec<Spans> {
    let lead = style.either("  ↳ ", "  > ");
    let room = style.width.saturating_sub(columns(lead)).max(16);
    let mut lines = Vec::new();
    for (tone, text) in notes {
        let leads = std::iter::once(lead).chain(std::iter::repeat("    "));
        lines.extend(leads.zip(wrapped(&text, room)).map(|(lead, line)| vec![(tone, format!("{lead}{line}"))]));
    }
    lines
}

fn totals(totals: &RequestTotals, shown: usize, style: &Style) -> Vec<String> {
    let count =
        |count: u64, one: &str, many: &str| format!("{} {}", thousands(count), if count == 1 { one } else { many });
    let mut about = vec![count(totals.requests, "request", "requests")];
    if (shown as u64) < totals.requests {
        about.push(format!("last {shown} shown"));
    }
    about.extend((totals.edited > 0).then(|| format!("{} changed", thousands(totals.edited))));
    about.extend((totals.broken > 0).then(|| format!("{} without a complete answer", thousands(totals.broken))));
    about.extend((totals.warnings > 0).then(|| count(totals.warnings, "warning", "warnings")));
    let average_us = totals.added_us.checked_div(totals.requests).unwrap_or(0);
    about.push(format!("latency {:.1} ms each", average_us as f64 / 1_000.0));

    let mut lines: Vec<String> = indented(&about, style).iter().map(|line| style.tone(Tone::Strong, line)).collect();
    for parts in [reported(totals), vec![removed(totals)], cost(totals)] {
        lines.extend(indented(&parts, style));
    }
    lines
}

/// The parts of a sentence, in as many lines as they take; all lines but the first are indented.
fn indented(parts: &[String], style: &Style) -> Vec<String> {
    let lines = packed(parts, style.either(" · ", ", "), style.width.saturating_sub(2));
    let leads = std::iter::once("").chain(std::iter::repeat("  "));
    leads.zip(lines).map(|(lead, line)| format!("{lead}{line}")).collect()
}

/// Says how many tokens infold removed from the prompts, by its own count.
fn removed(totals: &RequestTotals) -> String {
    let wanted = thousands(totals.wanted_tokens);
    let saved_tokens = totals.saved_tokens();
    let amount = thousands(saved_tokens.unsigned_abs());
    match saved_tokens {
        0 => format!("infold removed none of {wanted} input tokens"),
        1.. => {
            let percent = saved_tokens.unsigned_abs() * 100 / totals.wanted_tokens.max(1);
            format!("infold removed {amount} of {wanted} input tokens ({percent} %)")
        }
        ..0 => format!("infold added {amount} to {wanted} input tokens"),
    }
}

/// The tokens of all requests, by the provider's count.
fn reported(totals: &RequestTotals) -> Vec<String> {
    let usage = totals.usage;
    let estimated = (totals.unreported > 0).then(|| estimated(totals));
    let Some(percent) = totals.cache_hit_percent() else {
        return std::iter::once("the provider reported no tokens".to_owned()).chain(estimated).collect();
    };
    let mut parts = vec![
        format!("{} input tokens ({percent} % cached)", thousands(usage.prompt_tokens())),
        format!("{} written to the cache", thousands(usage.cache_write_tokens)),
        format!("{} new", thousands(usage.fresh_tokens)),
        format!("{} output tokens", thousands(usage.output_tokens)),
    ];
    if totals.misses > 0 {
        let (misses, tokens) = (thousands(totals.misses), thousands(totals.missed_tokens));
        parts.push(format!("{misses} cache {} ({tokens} tokens)", if totals.misses == 1 { "miss" } else { "misses" }));
    }
    parts.extend(estimated);
    parts
}

/// Says how many requests were not fully reported, and what infold estimates for them.
fn estimated(totals: &RequestTotals) -> String {
    let requests = if totals.unreported == 1 { "request" } else { "requests" };
    let (input, output) = (totals.estimated.prompt_tokens(), totals.estimated.output_tokens);
    format!(
        "{} {requests} not fully reported: about {} more input, {} more output",
        thousands(totals.unreported),
        thousands(input),
        thousands(output)
    )
}

fn cost(totals: &RequestTotals) -> Vec<String> {
    if totals.priced == 0 {
        return Vec::new();
    }
    let mut parts = vec![format!("cost {}", money(totals.cost_micros))];
    let saved_micros = totals.saved_micros();
    if saved_micros != 0 {
        let amount = money(saved_micros.unsigned_abs());
        parts.push(format!("about {} without infold", money(totals.wanted_cost_micros)));
        parts.push(if saved_micros > 0 { format!("saved about {amount}") } else { format!("about {amount} more") });
    }
    parts
}

fn counted(count: &CountView, style: &Style) -> String {
    let ratio = count.per_mille as f64 / 1_000.0;
    let requests = thousands(count.samples);
    let times = style.either("×", " times");
    format!(
        "Calibration: the provider counts {ratio:.2}{times} infold's estimate ({}, {requests} requests)",
        count.family
    )
}

#[cfg(test)]
mod tests;
