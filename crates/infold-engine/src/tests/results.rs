//! Results that are handed in, offloaded, and read back.

use super::*;

fn read(ref_id: &str, thread: Option<&str>, portion: Portion) -> ReadResult {
    ReadResult { ref_id: ref_id.to_owned(), thread: thread.map(str::to_owned), portion, limit_bytes: 4096 }
}

/// A page of `read_result` that is shown in the session `s`.
fn page_shown(result: String) -> Observation {
    Observation {
        session: SessionRef::by_id("s").unwrap(),
        thread: None,
        kind: CallKind::Content,
        tool: "read_result".to_owned(),
        call_id: None,
        arguments: "{}".to_owned(),
        result,
    }
}

fn long() -> String {
    (1..=2000).map(|number| format!("line {number} of the log\n")).collect()
}

#[tokio::test]
async fn a_short_result_is_shown_and_counted_and_a_long_one_is_offloaded() {
    let bench = Bench::new(settings());
    bench.open("s").await.unwrap();
    let before = bench.session("s").await.state.current_branch_tokens;
    let short = bench.engine.record_result(&bench.who, result("s", "ok")).await.unwrap();
    assert_eq!((short.shown.as_deref(), &short.ref_id), (Some("ok"), &None));
    assert_eq!(short.state.current_branch_tokens, before + short.tokens);

    let recorded = bench.engine.record_result(&bench.who, result("s", &long())).await.unwrap();
    let ref_id = recorded.ref_id.unwrap().to_string();
    let shown = recorded.shown.unwrap();
    assert!(shown.starts_with("[Tool result stored — 40,893 bytes from \"shell_exec\".\nFirst 200 chars: line 1 of"));
    let how =
        format!("\nUse the \"read_result\" tool with ref_id=\"{ref_id}\" to read specific portions.\nLines of it:\n");
    assert!(shown.contains(&how) && shown.contains("line 2000 of the log"), "{shown}");

    let lines = Portion::Lines { first: 1999, last: 2000 };
    let part = bench.engine.read_result(&bench.who, &read(&ref_id, None, lines)).await.unwrap();
    assert_eq!(part.content, "1999:line 1999 of the log\n2000:line 2000 of the log\n");
    let pattern = Portion::Matches { pattern: "line 7 ".to_owned(), context: 0, first: 1 };
    let part = bench.engine.read_result(&bench.who, &read(&ref_id, None, pattern)).await.unwrap();
    assert_eq!(part.content, "7:line 7 of the log\n");
}

#[tokio::test]
async fn a_page_that_was_read_back_stays_whole() {
    let bench = Bench::new(settings());
    let request = RecordResult { tool_name: "mcp__infold__read_result".to_owned(), ..result("s", &long()) };
    let page = bench.engine.record_result(&bench.who, request).await.unwrap();
    assert_eq!((page.shown, page.ref_id), (Some(long()), None));
}

#[tokio::test]
async fn a_result_that_would_break_the_budget_is_offloaded_and_if_even_that_does_not_fit_the_branch_folds() {
    let bench = Bench::new(settings());
    let request = OpenBranch { budget_tokens: Some(400), ..open("s") };
    let opened = bench.engine.open_branch(&bench.who, request).await.unwrap();
    let medium = "a word or two ".repeat(200);
    let recorded = bench.engine.record_result(&bench.who, result("s", &medium)).await.unwrap();
    assert!(recorded.ref_id.is_some() && recorded.folded.is_none());

    let mut last = recorded;
    while last.folded.is_none() {
        last = bench.engine.record_result(&bench.who, result("s", &medium)).await.unwrap();
    }
    assert_eq!(last.shown, None);
    let ref_id = last.ref_id.clone().unwrap();
    assert!(last.folded.as_ref().unwrap().result.contains(ref_id.as_str()), "the parent learns where to read on");
    let view = bench.view(opened.branch_id.as_str()).await;
    assert_eq!(view.branch.status, infold_core::Status::Timeout);
    assert!(view.branch.used_tokens <= 400);
    assert!(last.folded.unwrap().result.contains("Tools called: shell_exec"));
    assert_eq!(last.state.active_branch_id, None);
}

#[tokio::test]
async fn a_branch_reads_its_own_results_and_those_below_it_and_main_reads_all() {
    let bench = Bench::new(settings());
    let in_main = bench.engine.record_result(&bench.who, result("s", &long())).await.unwrap().ref_id.unwrap();
    let top = bench.open("s").await.unwrap().branch_id.to_string();
    let in_top = bench.engine.record_result(&bench.who, result("s", &long())).await.unwrap().ref_id.unwrap();
    let below = bench.open("s").await.unwrap().branch_id.to_string();
    let in_below = bench.engine.record_result(&bench.who, result("s", &long())).await.unwrap().ref_id.unwrap();

    let may = async |thread: &str, blob: &infold_core::BlobId| {
        let request = read(blob.as_str(), Some(thread), Portion::Bytes { offset: 0 });
        bench.engine.read_result(&bench.who, &request).await.is_ok()
    };
    assert!(may("main", &in_main).await && may("main", &in_top).await && may("main", &in_below).await);
    assert!(!may(&top, &in_main).await && may(&top, &in_top).await && may(&top, &in_below).await);
    assert!(!may(&below, &in_main).await && !may(&below, &in_top).await && may(&below, &in_below).await);
}

#[tokio::test]
async fn a_page_that_does_not_fit_is_withheld_and_its_branch_folds() {
    let bench = Bench::new(settings());
    let request = OpenBranch { budget_tokens: Some(300), ..open("s") };
    bench.engine.open_branch(&bench.who, request).await.unwrap();
    let observed = bench.engine.observe(&bench.who, page_shown(long())).await.unwrap();
    assert!(matches!(observed.verdict, Verdict::Withheld(_)));
    assert!(bench.open("s").await.unwrap().notices.is_empty(), "the answer itself had it, so it does not come again");
}

#[tokio::test]
async fn a_stored_result_can_be_read_though_its_page_is_encoded_once_more() {
    let bench = Bench::new(settings());
    bench.engine.open_branch(&bench.who, open("s")).await.unwrap();
    let coded = "x%2541 &amp;quot;b&amp;quot; \\u0041\\n aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ=\n".repeat(300);
    let recorded = bench.engine.record_result(&bench.who, result("s", &coded)).await.unwrap();
    let page = read(recorded.ref_id.unwrap().as_str(), None, Portion::Bytes { offset: 0 });
    let page = bench.engine.read_result(&bench.who, &page).await.unwrap();
    let answer = serde_json::json!({ "content": page.content }).to_string();
    assert_eq!(bench.engine.scrub([answer.clone()]).await, Err(infold_core::ScrubError::TooMuchCoded));

    let observed = bench.engine.observe(&bench.who, page_shown(answer.clone())).await.unwrap();
    assert!(matches!(observed.verdict, Verdict::Show));
    assert_eq!(observed.tokens, bench.engine.count("{}") + bench.engine.count(&answer), "all that is shown is counted");
}

#[tokio::test]
async fn secrets_in_results_are_gone_before_anything_is_stored() {
    let bench = Bench::new(settings());
    let secret = format!("ghp_{}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    let recorded = bench.engine.record_result(&bench.who, result("s", &format!("token {secret}"))).await.unwrap();
    assert_eq!(recorded.secrets_scrubbed, 1);
    assert!(!recorded.shown.unwrap().contains(&secret));
    for file in std::fs::read_dir(bench.folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
}

#[tokio::test]
async fn a_bad_expression_says_what_is_wrong_with_it() {
    let bench = Bench::new(settings());
    let recorded = bench.engine.record_result(&bench.who, result("s", &long())).await.unwrap();
    let portion = Portion::Matches { pattern: "(".to_owned(), context: 0, first: 1 };
    let request = read(recorded.ref_id.unwrap().as_str(), None, portion);
    let error = bench.engine.read_result(&bench.who, &request).await.unwrap_err();
    assert_eq!(error.to_string(), "pattern is not a regular expression that can be used: unclosed group");
}
