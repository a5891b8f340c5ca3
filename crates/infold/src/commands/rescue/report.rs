//! Reports what a rescue did, as text for people and as JSON for programs.

use infold_core::rescue::{OffloadedPiece, Purpose, Receipt, Tally};
use serde_json::{Value, json};

use super::{Ending, RescueReport};
use crate::draw::{Align, Column, Style, Table, Tone, thousands};

/// Most offloaded texts that the table lists; the JSON lists all of them.
const LISTED_MAX: usize = 30;

/// The report for people: a table of what was offloaded, the counts, and how to go on.
pub fn as_text(report: &RescueReport<'_>, style: &Style) -> String {
    let facts = report.facts;
    let RescueReport { receipt, ending, .. } = report;
    if matches!(ending, Ending::Fits) {
        return format!(
            "It fits already: {} tokens, and there is room for {}. Nothing was written.\n",
            thousands(facts.before_tokens),
            thousands(facts.room.tokens)
        );
    }
    let mut text = String::new();
    let mut moved: Vec<(&str, &OffloadedPiece)> = receipt.offloaded.iter().map(|moved| ("result", moved)).collect();
    moved.extend(receipt.shortened.iter().map(|moved| ("input", moved)));
    if !moved.is_empty() {
        text.push_str(&table(&moved).draw(style));
        if moved.len() > LISTED_MAX {
            text.push_str(&format!("and {} more; --json lists all\n", moved.len() - LISTED_MAX));
        }
        text.push('\n');
    }
    let mut line = |count: usize, what: &str, tokens: u64| {
        if count > 0 {
            // Sealed reasoning has no text to count.
            let tokens = if tokens > 0 { format!(" ({} tokens)", thousands(tokens)) } else { String::new() };
            text.push_str(&format!("{count:>6}  {what}{tokens}\n"));
        }
    };
    let sum = |moved: &[OffloadedPiece]| moved.iter().map(|moved| moved.tokens).sum();
    line(receipt.offloaded.len(), "results offloaded, each with a reference in its place", sum(&receipt.offloaded));
    line(receipt.shortened.len(), "inputs of calls shortened", sum(&receipt.shortened));
    let left_out = receipt.left_out.iter().map(|left_out| left_out.tokens).sum();
    line(receipt.left_out.len(), "of the oldest exchanges left out", left_out);
    for (tally, what) in tallies(receipt) {
        line(usize::try_from(tally.count).unwrap_or(usize::MAX), what, tally.tokens);
    }
    text.push_str(&ending_text(report));
    text
}

fn tallies(receipt: &Receipt) -> [(Tally, &'static str); 3] {
    [
        (receipt.reasoning, "blocks of reasoning removed"),
        (receipt.unpaired, "calls or results without the other removed"),
        (receipt.client_words, "notes of the client left out"),
    ]
}

fn ending_text(report: &RescueReport<'_>) -> String {
    let Receipt { after_tokens, .. } = report.receipt;
    let (before, room) = (thousands(report.facts.before_tokens), thousands(report.facts.room.tokens));
    match &report.ending {
        Ending::Fits => String::new(),
        Ending::Planned => {
            let after = thousands(after_tokens);
            format!("\n{before} tokens would become {after}; there is room for {room}.\n")
        }
        Ending::Written { destination, receipt_tokens, .. } => {
            let done = match report.facts.purpose {
                Purpose::Fitting => {
                    let after = thousands(after_tokens + receipt_tokens);
                    format!("{before} tokens became {after}; there is room for {room}.")
                }
                Purpose::WithoutReasoning if report.receipt.reasoning.count == 0 => {
                    "There was no reasoning in it. The new file says so at its end.".to_owned()
                }
                Purpose::WithoutReasoning => "The reasoning is gone, and a note at the end says so.".to_owned(),
            };
            let (path, go_on) = (destination.path.display(), &destination.go_on);
            format!("\n{done}\nwritten: {path}\ngo on:   {go_on}\n")
        }
    }
}

fn table(moved: &[(&str, &OffloadedPiece)]) -> Table {
    let column = |heading, align| Column { heading, align };
    let mut table = Table::new(vec![
        column("MOVED", Align::Left),
        column("TOOL", Align::Left),
        column("TOKENS", Align::Right),
        column("LEFT", Align::Right),
        column("CALL", Align::Left),
        column("HANDLE", Align::Left),
    ]);
    let mut largest = moved.to_vec();
    largest.sort_by_key(|(_, moved)| (std::cmp::Reverse(moved.tokens), moved.piece));
    for (what, moved) in largest.into_iter().take(LISTED_MAX) {
        let handle = if moved.handle.is_empty() { "-".to_owned() } else { moved.handle.clone() };
        table.row(vec![
            (Tone::Plain, what.to_owned()),
            (Tone::Plain, moved.tool.clone()),
            (Tone::Plain, thousands(moved.tokens)),
            (Tone::Plain, thousands(moved.left_tokens)),
            (Tone::Faint, moved.call.clone()),
            (Tone::Plain, handle),
        ]);
    }
    table
}

/// The report for programs, with everything that was offloaded, shortened and left out.
pub fn as_json(report: &RescueReport<'_>) -> Value {
    let (facts, receipt) = (report.facts, &report.receipt);
    let written = match &report.ending {
        Ending::Fits | Ending::Planned => Value::Null,
        Ending::Written { destination, lines, receipt_tokens } => json!({
            "path": destination.path,
            "session_id": destination.session.id,
            "lines": lines,
            "receipt_tokens": receipt_tokens,
            "go_on": destination.go_on,
        }),
    };
    let moved = |moved: &OffloadedPiece| {
        json!({
            "call_id": moved.call, "tool_name": moved.tool, "tokens": moved.tokens,
            "left_tokens": moved.left_tokens, "ref_id": moved.handle,
        })
    };
    let tally = |tally: Tally| json!({"count": tally.count, "tokens": tally.tokens});
    let left_out = receipt.left_out.iter().map(|left_out| {
        json!({
            "first_line": left_out.first.entry, "last_line": left_out.last.entry,
            "tools": left_out.tools, "tokens": left_out.tokens,
        })
    });
    let broken = facts.problems.iter().map(|line| json!({"line": line.entry, "reason": line.reason}));
    json!({
        "original": facts.path,
        "session_id": facts.session,
        "client": facts.client.format().name(),
        "model": facts.model,
        "window_tokens": facts.window_tokens,
        "room_tokens": facts.room.tokens,
        "fits": facts.fits(),
        "before_tokens": facts.before_tokens,
        "after_tokens": if matches!(report.ending, Ending::Fits) { facts.before_tokens } else { receipt.after_tokens },
        "written": written,
        "offloaded": receipt.offloaded.iter().map(moved).collect::<Vec<_>>(),
        "shortened": receipt.shortened.iter().map(moved).collect::<Vec<_>>(),
        "left_out": left_out.collect::<Vec<_>>(),
        "reasoning": tally(receipt.reasoning),
        "unpaired": tally(receipt.unpaired),
        "client_words": tally(receipt.client_words),
        "user_messages": receipt.user_messages,
        "user_answers_lost": receipt.user_answers_lost,
        "broken_lines": broken.collect::<Vec<_>>(),
        "broken_lines_total": facts.problems_total,
    })
}
