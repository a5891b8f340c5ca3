//! Tables of requests as text, at several widths.

use infold_core::record::{Cause, Miss, RequestWarning, Timing, TokenBreakdown, WarningKind};
use infold_core::{BranchId, Scrubbed, SessionId, Thread};
use insta::assert_snapshot;

use super::*;
use crate::draw::{Charset, Paint};

const NOW_MS: u64 = 10_000_000;

fn style(charset: Charset, width: usize) -> Style {
    Style { paint: Paint::Plain, charset, width }
}

fn row(ago_ms: u64, usage: Usage) -> RequestRecord {
    RequestRecord {
        session: SessionId::parse("s").unwrap(),
        agent: None,
        thread: Thread::Main,
        at_ms: NOW_MS - ago_ms,
        api: Scrubbed::fixed("messages"),
        model: Scrubbed::fixed("claude-opus-4-6"),
        window_tokens: None,
        kind: RequestKind::Turn,
        client: None,
        wanted: TokenBreakdown { user_tokens: usage.prompt_tokens() * 3, ..TokenBreakdown::default() },
        sent: TokenBreakdown { user_tokens: usage.prompt_tokens(), ..TokenBreakdown::default() },
        edits: Vec::new(),
        usage: Some(usage),
        estimated: None,
        miss: None,
        cost_micros: Some(31_250),
        wanted_cost_micros: Some(90_000),
        timing: Timing { added_us: 1_240, first_byte_ms: Some(500), total_ms: 2_000 },
        status: Some(200),
        end: AnswerEnd::Completed,
        warnings: Vec::new(),
    }
}

fn view() -> RequestsView {
    let usage = |fresh_tokens, cache_read_tokens, cache_write_tokens, output_tokens| Usage {
        fresh_tokens,
        cache_read_tokens,
        cache_write_tokens,
        output_tokens,
    };
    let mut missed = row(90_000, usage(0, 6_000, 36_000, 812));
    missed.miss = Some(Miss { missed_tokens: 34_000, cause: Cause::Lapsed { idle_ms: 420_000 } });
    let mut branch = row(61_000, usage(9, 0, 9_100, 40));
    branch.thread = Thread::Branch(BranchId::from_stored("br_3fa0c1d2-0000-8000-8000-000000000000".to_owned()));
    branch.edits = vec![Edit { reason: Reason::Isolated, blocks: 40 }, Edit { reason: Reason::Brief, blocks: 1 }];
    let mut side = row(60_500, usage(300, 0, 0, 12));
    side.kind = RequestKind::Side;
    side.cost_micros = None;
    let mut failed = row(3_000, Usage::default());
    (failed.usage, failed.status, failed.end) = (None, Some(529), AnswerEnd::Failed);
    failed.warnings =
        vec![RequestWarning { kind: WarningKind::Loop, text: Scrubbed::fixed("the same call three times in a row") }];
    let rows = vec![missed, branch, side, failed];
    let mut totals = RequestTotals::default();
    rows.iter().for_each(|row| totals.add(row));
    totals.requests += 139;
    RequestsView {
        rows,
        totals,
        counts: vec![CountView { family: "claude".to_owned(), per_mille: 1_080, samples: 140 }],
    }
}

#[test]
fn requests_are_drawn_with_what_there_is_to_say_of_each() {
    assert_snapshot!(requests(&view(), NOW_MS, &style(Charset::Utf8, 140)));
}

#[test]
fn little_room_and_plain_characters_do() {
    assert_snapshot!(requests(&view(), NOW_MS, &style(Charset::Ascii, 72)));
}

#[test]
fn requests_keep_to_terminals_of_60_and_of_40_columns() {
    for width in [60, 40] {
        let style = style(Charset::Utf8, width);
        let text = requests(&view(), NOW_MS, &style);
        let rows: Vec<RequestRecord> = view().rows;
        let several = request_lines(&rows.iter().collect::<Vec<_>>(), RequestScope::Several, NOW_MS, &style);
        let several: Vec<String> = several.iter().map(|line| style.line(line)).collect();
        let drawn = format!("{text}\n{}\n", several.join("\n"));
        assert!(drawn.lines().all(|line| columns(line) <= width), "{width}:\n{drawn}");
        assert_snapshot!(format!("{width}_columns"), drawn);
    }
}

#[test]
fn what_was_not_reported_is_marked_as_an_estimate() {
    let estimate = |fresh_tokens, output_tokens| Usage { fresh_tokens, output_tokens, ..Usage::default() };
    let RequestsView { rows, counts, .. } = view();
    let unreported = RequestRecord { usage: None, estimated: Some(estimate(1_234, 56)), miss: None, ..rows[0].clone() };
    let broken_off = RequestRecord { estimated: Some(estimate(0, 1_000)), miss: None, ..rows[0].clone() };
    let rows = vec![unreported, broken_off];
    let mut totals = RequestTotals::default();
    rows.iter().for_each(|row| totals.add(row));
    let style = style(Charset::Ascii, 140);
    let text = requests(&RequestsView { rows, totals, counts }, NOW_MS, &style);
    for wanted in [
        " ~56 ",
        "the provider reported no tokens; infold estimates 1,234 input, 56 output",
        "the provider did not report all tokens; infold estimates 1,000 more output",
        "2 requests not fully reported: about 1,234 more input, 1,056 more output",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in:\n{text}");
    }
}

#[test]
fn without_requests_nothing_is_drawn() {
    let none = RequestsView { rows: Vec::new(), totals: RequestTotals::default(), counts: Vec::new() };
    assert_eq!(requests(&none, NOW_MS, &style(Charset::Utf8, 80)), "");
}

#[test]
fn a_bar_is_as_long_as_its_parts_and_never_empty_for_something() {
    let style = style(Charset::Ascii, 80);
    let usage = |fresh_tokens, cache_read_tokens, cache_write_tokens| Usage {
        fresh_tokens,
        cache_read_tokens,
        cache_write_tokens,
        output_tokens: 0,
    };
    assert_eq!(bar(usage(0, 100, 0), 100, &style), "################");
    assert_eq!(bar(usage(25, 50, 25), 100, &style), "########++++....");
    assert_eq!(bar(usage(1, 0, 0), 1_000_000, &style), ".");
    assert_eq!(bar(usage(0, 0, 0), 0, &style), "");
}
