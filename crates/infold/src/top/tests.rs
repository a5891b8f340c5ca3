//! Frames of `infold top` as text.

use infold_core::gateway::ServerKey;
use infold_core::record::{AnswerEnd, Cause, Miss, SessionLabel, SessionOverview, Timing, TokenBreakdown, Usage};
use infold_core::view::{Edit, Reason, RequestKind};
use infold_core::{Owner, Scrubbed, Session, SessionId, Thread};
use infold_engine::ServerFigures;
use infold_store::SessionRow;
use insta::assert_snapshot;

use super::*;
use crate::draw::{Charset, Paint, Style};

const NOW_MS: u64 = 100_000_000;

fn named(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

fn request(id: u64, session: &str, ago_ms: u64, prompt_tokens: u64) -> RequestRow {
    let usage = Usage {
        fresh_tokens: 0,
        cache_read_tokens: prompt_tokens * 9 / 10,
        cache_write_tokens: prompt_tokens / 10,
        output_tokens: 300,
    };
    let record = RequestRecord {
        session: named(session),
        agent: None,
        thread: Thread::Main,
        at_ms: NOW_MS - ago_ms,
        api: Scrubbed::fixed("messages"),
        model: Scrubbed::fixed("claude-opus-4-6"),
        window_tokens: None,
        kind: RequestKind::Turn,
        client: None,
        wanted: TokenBreakdown { user_tokens: prompt_tokens * 2, ..TokenBreakdown::default() },
        sent: TokenBreakdown { user_tokens: prompt_tokens, ..TokenBreakdown::default() },
        edits: vec![Edit { reason: Reason::Folded, blocks: 12 }],
        usage: Some(usage),
        estimated: None,
        miss: None,
        cost_micros: Some(60_000),
        wanted_cost_micros: Some(150_000),
        timing: Timing { added_us: 2_100, first_byte_ms: Some(400), total_ms: 3_000 },
        status: Some(200),
        end: AnswerEnd::Completed,
        warnings: Vec::new(),
    };
    RequestRow { id, record }
}

fn live(id: &str, ago_ms: u64, open: u64) -> SessionRow {
    let mut session = Session::new(Owner::local(), named(id), 0);
    session.active_at_ms = NOW_MS - ago_ms;
    session.main_tokens = 20_000;
    SessionRow { session, open, open_tokens: 0 }
}

/// A session with its live state, if it has one, and those of the requests that are its own.
fn known(id: &str, live: Option<SessionRow>, requests: &[RequestRow]) -> ListedSession {
    let mut known = ListedSession { id: named(id), live, totals: None, overview: SessionOverview::default() };
    // The newest request comes first.
    for row in requests.iter().rev().filter(|row| row.record.session == known.id) {
        known.totals.get_or_insert_default().add(&row.record);
        known.overview.add(&row.record, &SessionLabel::default());
    }
    known
}

fn room() -> ContextRoom {
    crate::parts::room(&crate::settings::resolve(crate::settings::Given::default()).unwrap().settings)
}

fn view() -> TopView {
    let mut missed = request(3, "refactor-the-parser", 4_000, 120_000);
    missed.record.miss = Some(Miss { missed_tokens: 90_000, cause: Cause::NotCached });
    let requests = vec![missed, request(2, "docs", 65_000, 30_000), request(1, "refactor-the-parser", 90_000, 110_000)];
    let mut parser = known("refactor-the-parser", Some(live("refactor-the-parser", 4_000, 2)), &requests);
    parser.overview.client = Some(Scrubbed::fixed("claude-code"));
    parser.overview.first_words = Some(Scrubbed::fixed("The parser is too slow on long lines"));
    let docs = known("docs", None, &requests);
    let branches = known("only-branches", Some(live("only-branches", 7_200_000, 1)), &requests);
    let memories = MemoryCounts { live: 12, given: 3, ..MemoryCounts::default() };
    TopView { memories, ..TopView::new(vec![parser, docs, branches], requests, &room(), NOW_MS) }
}

fn style(charset: Charset, width: usize) -> Style {
    Style { paint: Paint::Plain, charset, width }
}

#[test]
fn a_frame_shows_sessions_and_the_latest_requests() {
    assert_snapshot!(once(&view(), FrameSize { width: 150, height: 40 }, &style(Charset::Utf8, 150)));
}

#[test]
fn a_narrow_frame_in_plain_characters_still_says_what_matters() {
    assert_snapshot!(once(&view(), FrameSize { width: 80, height: 40 }, &style(Charset::Ascii, 80)));
}

#[test]
fn frames_keep_to_terminals_of_60_and_of_40_columns() {
    for width in [60, 40] {
        let mut view = view();
        view.sessions[0].short_id = "5b2438e4-96a7-43f7-b051-10a055bb0fbe".to_owned();
        let drawn = once(&view, FrameSize { width, height: 40 }, &style(Charset::Utf8, width));
        assert!(drawn.lines().all(|line| crate::draw::columns(line) <= width), "{width}:\n{drawn}");
        assert_snapshot!(format!("{width}_columns"), drawn);
    }
}

#[test]
fn a_session_of_which_only_requests_are_stored_is_active_while_they_come() {
    let view = view();
    let docs = view.sessions.iter().find(|line| line.known.id == named("docs")).unwrap();
    assert!(docs.known.live.is_none() && docs.is_active());
    let silent = SessionLine { rates: Rates::default(), ..docs.clone() };
    assert!(!silent.is_active());
}

#[test]
fn a_frame_keeps_to_its_height_and_says_what_it_leaves_out() {
    let mut view = view();
    let line = view.sessions[0].clone();
    view.sessions = (0..50).map(|at| SessionLine { short_id: format!("s{at}"), ..line.clone() }).collect();
    for height in [6, 10, 24] {
        let text = once(&view, FrameSize { width: 120, height }, &style(Charset::Utf8, 120));
        assert!(text.lines().count() <= height.max(8), "{height}:\n{text}");
        assert!(text.contains(" more\n"), "{text}");
    }
}

#[test]
fn nothing_is_said_to_be_nothing() {
    let empty = TopView {
        now_ms: NOW_MS,
        sessions: Vec::new(),
        requests: Vec::new(),
        servers: Vec::new(),
        memories: MemoryCounts::default(),
        totals: RequestTotals::default(),
        rates: Rates::default(),
    };
    let text = once(&empty, FrameSize { width: 80, height: 24 }, &style(Charset::Utf8, 80));
    assert!(text.contains("no sessions yet"), "{text}");
}

#[test]
fn requests_of_a_chosen_session_alone_are_shown() {
    let view = view();
    let choice = frame::FrameChoice { session: Some(named("docs")), ..frame::FrameChoice::first() };
    let style = style(Charset::Utf8, 150);
    let lines = frame::frame(&view, &choice, FrameSize { width: 150, height: 40 }, &style);
    let text: Vec<String> = lines.iter().map(|line| style.line(line)).collect();
    assert!(text.iter().any(|line| line.starts_with("› docs")), "{text:?}");
    assert_eq!(text.iter().filter(|line| line.contains("claude-opus-4-6")).count(), 1, "{text:?}");
}

fn server(name: &str, state: &str, calls: u64) -> ServerOverview {
    let figures = ServerFigures {
        tools: 26,
        definition_tokens: 4_310,
        calls,
        errors: u64::from(calls > 0),
        p50_ms: (calls > 0).then_some(41.5),
        ..ServerFigures::none(&ServerKey::new(name))
    };
    ServerOverview { state: state.to_owned(), detail: None, way: None, origin: None, figures }
}

#[test]
fn servers_are_below_the_sessions_unless_they_are_hidden() {
    let mut view = view();
    view.servers = vec![server("github", "ready", 41), server("linear", "needs_login", 0)];
    let (style, size) = (style(Charset::Utf8, 150), FrameSize { width: 150, height: 40 });
    let text = once(&view, size, &style);
    let block: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("SERVER")).take(4).collect();
    assert_snapshot!(block.join("\n"), @"
    SERVER  STATE        TOOLS  TOKENS  CALLS    P50  ERRORS
    github  ready           26    4.3k     41  42 ms       1
    linear  needs login     26    4.3k      0      -       0
    ");
    let hidden = frame::FrameChoice { session: None, servers: frame::ServerBlock::Shown.other() };
    let lines = frame::frame(&view, &hidden, size, &style);
    assert!(!lines.iter().any(|line| style.line(line).contains("github")));
    let low = once(&view, FrameSize { width: 60, height: 12 }, &style);
    assert!(low.lines().count() <= 12, "{low}");
}
