//! Branch trees as text.

use insta::assert_snapshot;

use super::*;
use crate::draw::{Charset, Paint};

const NOW_MS: u64 = 10_000_000;

fn branch(id: &str, parent: Option<&str>, mark: Mark, description: &str) -> BranchView {
    let is_open = matches!(mark, Mark::Created | Mark::Active);
    BranchView {
        id: format!("br_{id}-0000-8000-8000-000000000000"),
        parent: parent.map(|id| format!("br_{id}-0000-8000-8000-000000000000")),
        description: description.to_owned(),
        mark,
        used_tokens: 3_500,
        budget_tokens: 8_192,
        memories: 0,
        generation: 1,
        opened_at_ms: NOW_MS - 200_000,
        ended_at_ms: (!is_open).then_some(NOW_MS - 75_000),
        deadline_ms: NOW_MS + 100_000,
        reason: None,
        message: None,
    }
}

fn session() -> SessionView {
    let mut logs = branch("00000001", None, Mark::Completed, "Search the logs for errors of the login");
    logs.message = Some("Three patterns: expired tokens\n(412), wrong audience (31), clock skew (4).".to_owned());
    let mut fix = branch("00000002", None, Mark::Active, "Try the fix in the token validator");
    fix.used_tokens = 7_000;
    fix.generation = 2;
    let mut tests = branch("00000003", Some("00000002"), Mark::Timeout, "Run the slow tests");
    tests.used_tokens = 8_192;
    tests.reason = Some("budget exhausted".to_owned());
    tests.message = Some("Cut short. Tools called: run_tests (3).".to_owned());
    let mut deep = branch(
        "00000004",
        Some("00000003"),
        Mark::Failed,
        "日本語の説明がとても長いとき、行は端末の幅に合わせて切られる",
    );
    deep.reason = Some("reported failure".to_owned());
    let gone = branch("00000005", None, Mark::Discarded, "Another idea");
    let main = MainView { used_tokens: 5_200, limit_tokens: 32_768, about: vec!["health none".to_owned()] };
    SessionView {
        head: HeadView {
            id: "demo".to_owned(),
            agent: Some("claude-code".to_owned()),
            folder: Some("/home/dev/project".to_owned()),
            first_words: Some("Users cannot log in since the last deploy".to_owned()),
            project: Some("3fa0c1d2e4b5a697".to_owned()),
            forked_from: None,
            state: "open".to_owned(),
            active_at_ms: NOW_MS - 190_000,
            main: Some(main),
        },
        folded_tokens: 18_500,
        returned_tokens: 200,
        branches: vec![logs, fix, tests, deep, gone],
    }
}

fn style(charset: Charset, width: usize) -> Style {
    Style { paint: Paint::Plain, charset, width }
}

#[test]
fn the_tree_shows_states_tokens_times_reasons_and_messages() {
    assert_snapshot!(draw(&session(), NOW_MS, &style(Charset::Utf8, 80)), @r#"
    demo
      open · claude-code · /home/dev/project · project 3fa0c1d2e4b5a697
      last activity 3 min ago
    "Users cannot log in since the last deploy"
    main  ██░░░░░░░░ 5,200 of 32,768 tokens · health none
    ├─ ✓ Search the logs for errors of the login  br_00000001
    │     completed · ████░░░░░░ 3,500/8,192 · 2 min 5 s
    │     → Three patterns: expired tokens (412), wrong audience (31), clock skew (…
    ├─ ● Try the fix in the token validator  br_00000002
    │  │  active · 7,000/8,192 · 3 min 20 s · 1 min 40 s left · opened 2 times
    │  └─ ⧗ Run the slow tests  br_00000003
    │     │  timeout · ██████████ 8,192/8,192 · 2 min 5 s · budget exhausted
    │     │  → Cut short. Tools called: run_tests (3).
    │     └─ ✗ 日本語の説明がとても長いとき、行は端末の幅に合わせて切…  br_00000004
    │           failed · ████░░░░░░ 3,500/8,192 · 2 min 5 s · reported failure
    └─ ↶ Another idea  br_00000005
          discarded · ████░░░░░░ 3,500/8,192 · 2 min 5 s

    5 branches · 1 open · 1 folded · 1 timed out · 1 failed · 1 discarded
    18,500 tokens of work folded into 200
    "#);
}

#[test]
fn ascii_and_a_narrow_terminal_still_read_well() {
    assert_snapshot!(draw(&session(), NOW_MS, &style(Charset::Ascii, 50)), @r#"
    demo
      open, claude-code, /home/dev/project
      project 3fa0c1d2e4b5a697
      last activity 3 min ago
    "Users cannot log in since the last deploy"
    main  ##........ 5,200 of 32,768 tokens
          health none
    |- + Search the logs for errors of...  br_00000001
    |     completed, ####...... 3,500/8,192, 2 min 5 s
    |     > Three patterns: expired tokens (412), w...
    |- * Try the fix in the token vali...  br_00000002
    |  |  active, 7,000/8,192, 3 min 20 s
    |  |  1 min 40 s left, opened 2 times
    |  `- ! Run the slow tests  br_00000003
    |     |  timeout, 8,192/8,192, 2 min 5 s
    |     |  budget exhausted
    |     |  > Cut short. Tools called: run_tests (3).
    |     `- x 日本語の説明がとても長...  br_00000004
    |           failed, 3,500/8,192, 2 min 5 s
    |           reported failure
    `- < Another idea  br_00000005
          discarded, ####...... 3,500/8,192, 2 min 5 s

    5 branches, 1 open, 1 folded, 1 timed out
    1 failed, 1 discarded
    18,500 tokens of work folded into 200
    "#);
}

#[test]
fn every_line_keeps_to_a_terminal_of_40_columns() {
    assert_snapshot!(draw(&session(), NOW_MS, &style(Charset::Utf8, 40)), @r#"
    demo
      open · claude-code · /home/dev/project
      project 3fa0c1d2e4b5a697
      last activity 3 min ago
    "Users cannot log in since the last de…"
    main  ██░░░░░░░░ 5,200 of 32,768 tokens
          health none
    ├─ ✓ Search the logs for e…  br_00000001
    │     completed · 3,500/8,192
    │     2 min 5 s
    │     → Three patterns: expired tokens…
    ├─ ● Try the fix in the to…  br_00000002
    │  │  active · 7,000/8,192 · 3 min 20 s
    │  │  1 min 40 s left · opened 2 times
    │  └─ ⧗ Run the slow tests  br_00000003
    │     │  timeout · 8,192/8,192
    │     │  2 min 5 s · budget exhausted
    │     │  → Cut short. Tools called: run…
    │     └─ ✗ 日本語の説明が…  br_00000004
    │           failed · 3,500/8,192
    │           2 min 5 s · reported failure
    └─ ↶ Another idea  br_00000005
          discarded · 3,500/8,192
          2 min 5 s

    5 branches · 1 open · 1 folded
    1 timed out · 1 failed · 1 discarded
    18,500 tokens of work folded into 200
    "#);
    let mut named = session().head;
    named.id = "5b2438e4-96a7-43f7-b051-10a055bb0fbe".to_owned();
    if let Some(main) = &mut named.main {
        main.about = vec!["claude-opus-4-6".to_owned(), "healthy".to_owned()];
    }
    assert_snapshot!(head(&named, NOW_MS, &style(Charset::Utf8, 40)), @r#"
    5b2438e4-96a7-43f7-b051-10a055bb0fbe
      open · claude-code · /home/dev/project
      project 3fa0c1d2e4b5a697
      last activity 3 min ago
    "Users cannot log in since the last de…"
    main  ██░░░░░░░░ 5,200 of 32,768 tokens
          claude-opus-4-6 · healthy
    "#);
}

#[test]
fn a_session_without_branches_says_so() {
    let mut session = session();
    (session.branches, session.head.project) = (Vec::new(), None);
    assert_snapshot!(draw(&session, NOW_MS, &style(Charset::Utf8, 80)), @r#"
    demo  open · claude-code · /home/dev/project · last activity 3 min ago
    "Users cannot log in since the last deploy"
    main  ██░░░░░░░░ 5,200 of 32,768 tokens · health none

    0 branches · 18,500 tokens of work folded into 200
    "#);
}

#[test]
fn colour_adds_nothing_but_escape_sequences() {
    let coloured = Style { paint: Paint::Colour, ..style(Charset::Utf8, 80) };
    let text = draw(&session(), NOW_MS, &coloured);
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    assert_eq!(plain, draw(&session(), NOW_MS, &style(Charset::Utf8, 80)));
}
