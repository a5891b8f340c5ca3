//! Opening, folding, rolling back, ending.

use tokio_util::sync::CancellationToken;

use super::*;

#[tokio::test]
async fn a_branch_opens_folds_and_is_in_the_archive() {
    let bench = Bench::new(settings());
    let opened = bench.open("s").await.unwrap();
    let folded =
        bench.engine.fold_branch(&bench.who, fold(opened.branch_id.as_str(), "src/parse.rs:40")).await.unwrap();
    assert_eq!(folded.message, "src/parse.rs:40");
    assert_eq!(folded.state.main_thread_tokens, bench.engine.count("src/parse.rs:40"));
    let ended = bench.engine.trajectory(&bench.who, opened.branch_id.as_str(), None).await.unwrap();
    assert_eq!(ended.steps.len(), 3);
}

#[tokio::test]
async fn abandoned_branches_end_and_their_parents_hear_nothing() {
    let bench = Bench::new(settings());
    let stays = bench.open("s").await.unwrap().branch_id;
    let below = bench.open("s").await.unwrap().branch_id;
    let session = SessionRef::by_id("s").unwrap();
    let gone = |branches: Vec<BranchId>| {
        let (bench, session) = (&bench, &session);
        async move { bench.engine.abandon_branches(&bench.who, session, &branches).await.unwrap() }
    };
    assert_eq!(gone(vec![below.clone()]).await, std::slice::from_ref(&below));
    assert!(gone(vec![below.clone()]).await.is_empty(), "what is over stays so");
    let ended = bench.view(below.as_str()).await.branch;
    assert_eq!(ended.end.map(|end| end.reason), Some(infold_core::EndReason::Interrupted));
    assert!(bench.view(stays.as_str()).await.branch.is_open());
    assert!(bench.open("s").await.unwrap().notices.is_empty());
}

#[tokio::test]
async fn the_same_key_gives_the_same_answer_and_one_branch() {
    let bench = Bench::new(settings());
    let request = OpenBranch { idempotency_key: Some("k1".to_owned()), ..open("s") };
    let first = bench.engine.open_branch(&bench.who, request.clone()).await.unwrap();
    bench.pass(1000);
    let again = bench.another(settings()).open_branch(&bench.who, request.clone()).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(bench.session("s").await.branches().len(), 1);

    let other = OpenBranch { description: "something else".to_owned(), ..request };
    assert_eq!(code(bench.engine.open_branch(&bench.who, other).await), "idempotency_key_reused");
}

#[tokio::test]
async fn a_repeated_return_with_its_key_answers_again_and_without_it_is_refused() {
    let bench = Bench::new(settings());
    let opened = bench.open("s").await.unwrap();
    let keyed = FoldBranch { idempotency_key: Some("r".to_owned()), ..fold(opened.branch_id.as_str(), "done") };
    let first = bench.engine.fold_branch(&bench.who, keyed.clone()).await.unwrap();
    assert_eq!(bench.engine.fold_branch(&bench.who, keyed).await.unwrap(), first);
    let unkeyed = bench.engine.fold_branch(&bench.who, fold(opened.branch_id.as_str(), "done")).await;
    assert_eq!(code(unkeyed), "branch_not_active");
}

#[tokio::test]
async fn the_sixth_opening_in_a_minute_is_refused_also_after_a_restart() {
    let bench = Bench::new(settings());
    for _ in 0..5 {
        let opened = bench.open("s").await.unwrap();
        bench.engine.fold_branch(&bench.who, fold(opened.branch_id.as_str(), "done")).await.unwrap();
    }
    assert_eq!(code(bench.open("s").await), "rate_limit_exceeded");
    let restarted = bench.another(settings());
    assert_eq!(code(restarted.open_branch(&bench.who, open("s")).await), "rate_limit_exceeded");
    bench.pass(60_000);
    bench.open("s").await.unwrap();
}

#[tokio::test]
async fn a_deadline_fires_in_whichever_process_is_alive_and_the_parent_gets_one_notice() {
    let bench = Bench::new(settings());
    let opened = bench.open("s").await.unwrap();
    bench.pass(300_000);
    let restarted = bench.another(settings());
    restarted.fold_overdue().await.unwrap();
    assert_eq!(bench.view(opened.branch_id.as_str()).await.branch.status, infold_core::Status::Timeout);

    let next = bench.open("s").await.unwrap();
    assert_eq!(next.notices.len(), 1);
    assert!(next.notices[0].result.contains("timed out"));
    assert!(bench.open("s").await.unwrap().notices.is_empty());
}

#[tokio::test]
async fn a_project_has_one_current_session_until_it_ends() {
    let bench = Bench::new(settings());
    let in_project = || OpenBranch { session: SessionRef::by_project("/home/me/p/", None).unwrap(), ..open("x") };
    let first = bench.engine.open_branch(&bench.who, in_project()).await.unwrap();
    let second = bench.engine.open_branch(&bench.who, in_project()).await.unwrap();
    assert_eq!((&first.session_id, second.depth), (&second.session_id, 2));

    let end = EndSession { session: SessionRef::by_project("/home/me/p", None).unwrap(), idempotency_key: None };
    let mut seen = Vec::new();
    let ended =
        bench.engine.end_session(&bench.who, end, &CancellationToken::new(), |done| seen.push(done)).await.unwrap();
    assert_eq!(ended.folded, [second.branch_id, first.branch_id.clone()]);
    assert_eq!(seen.last(), Some(&EndProgress { folded: 2, total: 2 }));
    bench.pass(60_000);
    let third = bench.engine.open_branch(&bench.who, in_project()).await.unwrap();
    assert_ne!(third.session_id, first.session_id);
}

#[tokio::test]
async fn branches_that_do_not_fold_in_time_at_session_end_have_failed() {
    let mut settings = settings();
    settings.limits.session_end_ms = 0;
    let bench = Bench::new(settings);
    let opened = bench.open("s").await.unwrap();
    let end = EndSession { session: SessionRef::by_id("s").unwrap(), idempotency_key: None };
    let ended = bench.engine.end_session(&bench.who, end, &CancellationToken::new(), |_| {}).await.unwrap();
    assert_eq!(ended.failed, [opened.branch_id]);
}

#[tokio::test]
async fn ending_a_session_can_be_cancelled_and_it_goes_on() {
    let bench = Bench::new(settings());
    bench.open("s").await.unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let end = EndSession { session: SessionRef::by_id("s").unwrap(), idempotency_key: None };
    assert_eq!(code(bench.engine.end_session(&bench.who, end, &cancel, |_| {}).await), "cancelled");
    bench.open("s").await.unwrap();
}

#[tokio::test]
async fn a_rollback_that_is_only_shown_changes_nothing() {
    let bench = Bench::new(settings());
    let first = bench.open("s").await.unwrap();
    bench.engine.fold_branch(&bench.who, fold(first.branch_id.as_str(), "done")).await.unwrap();
    let second = bench.open("s").await.unwrap();
    let request = |restore| RollBack {
        session: SessionRef::by_id("s").unwrap(),
        to: first.branch_id.to_string(),
        restore,
        idempotency_key: None,
    };
    let before = bench.session("s").await;
    let shown = bench.engine.roll_back(&bench.who, request(Restore::No)).await.unwrap();
    assert_eq!((bench.session("s").await, &shown.discarded), (before, &vec![second.branch_id]));
    let made = bench.engine.roll_back(&bench.who, request(Restore::Yes)).await.unwrap();
    assert_eq!(made, shown);
    assert_eq!(bench.view(first.branch_id.as_str()).await.branch.generation, 2);
}

#[tokio::test]
async fn somebody_elses_branches_and_sessions_are_as_absent_as_none() {
    let bench = Bench::new(settings());
    let opened = bench.open("s").await.unwrap();
    let other = Principal { owner: infold_core::Owner::from_subject("mallory"), ..Principal::local() };
    let id = opened.branch_id.to_string();
    assert_eq!(code(bench.engine.fold_branch(&other, fold(&id, "mine now")).await), "branch_not_found");
    let look = BranchRef::Id { branch: id.clone(), session: None };
    assert_eq!(bench.engine.branch(&other, &look, None).await.unwrap(), None);
    assert_eq!(code(bench.engine.session(&other, &SessionRef::by_id("s").unwrap()).await), "session_not_found");
    assert_eq!(code(bench.engine.trajectory(&other, &id, None).await), "branch_not_found");
    // The same name is another session if another owner uses it.
    assert_eq!(bench.engine.open_branch(&other, open("s")).await.unwrap().depth, 1);
}

#[tokio::test]
async fn a_lapsed_session_is_gone_and_its_name_is_free() {
    let bench = Bench::new(settings());
    let opened = bench.open("s").await.unwrap();
    bench.pass(25 * 3_600_000);
    bench.engine.fold_overdue().await.unwrap();
    bench.pass(25 * 3_600_000);
    bench.engine.sweep().await.unwrap();
    assert_eq!(code(bench.engine.session(&bench.who, &SessionRef::by_id("s").unwrap()).await), "session_not_found");
    let ended = bench.engine.trajectory(&bench.who, opened.branch_id.as_str(), None).await.unwrap();
    assert!(!ended.steps.is_empty());
    assert_eq!(bench.open("s").await.unwrap().depth, 1);
}

#[tokio::test]
async fn only_the_parent_gets_the_notice_of_a_branch_that_was_cut_short() {
    let bench = Bench::new(settings());
    let under_main = |budget| OpenBranch { parent: Some("main".to_owned()), budget_tokens: Some(budget), ..open("s") };
    let first = bench.engine.open_branch(&bench.who, under_main(200)).await.unwrap();
    let second = bench.engine.open_branch(&bench.who, under_main(8000)).await.unwrap();
    let id = first.branch_id.to_string();
    let long = RecordResult { thread: Some(id.clone()), ..result("s", &"found in a sibling\n".repeat(80)) };
    while bench.engine.record_result(&bench.who, long.clone()).await.is_ok_and(|recorded| recorded.folded.is_none()) {}

    let in_second = Observation {
        session: SessionRef::by_id("s").unwrap(),
        thread: None,
        kind: CallKind::Query,
        tool: "branch_status".to_owned(),
        call_id: None,
        arguments: "{}".to_owned(),
        result: "{}".to_owned(),
    };
    assert!(bench.engine.observe(&bench.who, in_second).await.unwrap().notices.is_empty());
    let look = BranchRef::Id { branch: id, session: None };
    assert_eq!(bench.engine.branch(&bench.who, &look, None).await.unwrap().unwrap().result, None);

    let folded = bench.engine.fold_branch(&bench.who, fold(second.branch_id.as_str(), "done")).await.unwrap();
    assert_eq!(folded.notices.len(), 1, "the second's answer reaches their parent");
    assert_eq!(folded.notices[0].branch_id, first.branch_id);
    assert!(bench.engine.branch(&bench.who, &look, None).await.unwrap().unwrap().result.is_some());
}

#[tokio::test]
async fn a_session_cannot_be_named_like_a_secret() {
    let bench = Bench::new(settings());
    let secret = format!("ghp_{}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    assert_eq!(code(bench.open(&secret).await), "invalid_input");
}
