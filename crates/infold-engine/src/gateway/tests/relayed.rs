//! Results of other servers' tools: what is shown, what is stored, where it is counted.

use infold_core::{BlobId, BranchId, Mentions, SessionId, Status, Thread};
use serde_json::json;

use super::{is_on_disk, secret, server};
use crate::intake::{NewResult, Offload, ShownResult};
use crate::tests::{Bench, fold, open, result, settings};
use crate::turn::{ResultsGiven, TakeIn};
use crate::{
    BranchRef, CallPlace, EngineSettings, Error, IssuedCall, KeptCalls, Metered, OpenBranch, Portion, ReadResult,
    RelayedCall, RelayedResult, RelayedShown, TurnSettings, Verdict, arguments_hash,
};

fn name(session: &str) -> SessionId {
    SessionId::parse(session).unwrap()
}

fn long() -> String {
    (1..=2000).map(|number| format!("line {number} of the log\n")).collect()
}

fn meta() -> CallPlace {
    CallPlace::Meta { session: name("s"), branch: None }
}

fn proxied(thread: &Thread) -> CallPlace {
    CallPlace::Proxy { session: name("s"), thread: thread.clone(), call_id: "toolu_1".to_owned() }
}

fn text(text: &str) -> RelayedResult {
    RelayedResult { texts: vec![text.to_owned()], structured: None }
}

async fn take(bench: &Bench, place: CallPlace, result: RelayedResult) -> RelayedShown {
    let call = RelayedCall {
        place,
        server: server(),
        tool: "files__run".to_owned(),
        arguments: r#"{"command":"make"}"#.to_owned(),
        call_id: None,
    };
    let begun = bench.engine.begin_relayed(call).await;
    bench.engine.take_in_relayed(&bench.who, begun, result).await.unwrap()
}

async fn open_branch(bench: &Bench, budget_tokens: u64) -> BranchId {
    let request = OpenBranch { budget_tokens: Some(budget_tokens), ..open("s") };
    bench.engine.open_branch(&bench.who, request).await.unwrap().branch_id
}

async fn read_back(bench: &Bench, blob: &BlobId) -> String {
    let (thread, portion) = (Some("main".to_owned()), Portion::Bytes { offset: 0 });
    let request = ReadResult { ref_id: blob.to_string(), thread, portion, limit_bytes: 65_536 };
    bench.engine.read_result(&bench.who, &request).await.unwrap().content
}

/// What the store has of a branch: tokens and calls.
async fn stored(bench: &Bench, branch: &BranchId) -> (u64, u64) {
    let view = bench.view(branch.as_str()).await.branch;
    (view.used_tokens, view.operations)
}

/// The same, as another process reads it.
async fn stored_elsewhere(bench: &Bench, branch: &BranchId) -> (u64, u64) {
    let named = BranchRef::Id { branch: branch.to_string(), session: None };
    let view = bench.another(settings()).branch(&bench.who, &named, None).await.unwrap().unwrap().branch;
    (view.used_tokens, view.operations)
}

async fn events(bench: &Bench) -> u64 {
    bench.engine.store().health().await.unwrap().events
}

fn tokens(shown: &RelayedShown) -> u64 {
    match &shown.metered {
        Metered::In { tokens, .. } => *tokens,
        Metered::Nowhere { reason } => panic!("{reason}"),
    }
}

#[tokio::test]
async fn a_long_result_is_offloaded_and_can_be_read_back() {
    let bench = Bench::new(settings());
    let branch = open_branch(&bench, 20_000).await;
    let shown = take(&bench, meta(), text(&long())).await;
    let blob = shown.ref_id.clone().unwrap();
    assert_eq!(read_back(&bench, &blob).await, long());
    assert!(shown.texts.len() == 1 && shown.texts[0].contains(blob.as_str()), "{shown:?}");
    assert_eq!(
        shown.metered,
        Metered::In { session: name("s"), thread: Thread::Branch(branch), tokens: tokens(&shown), by: "meta" }
    );
    assert!(shown.tokens_in > 0 && shown.tokens_out > 0 && tokens(&shown) == shown.tokens_in + shown.tokens_out);
    assert!(shown.state.is_some() && shown.verdict == Verdict::Show);
}

#[tokio::test]
async fn structured_content_gives_way_to_a_reference_and_what_both_say_is_kept_once() {
    let bench = Bench::new(settings());
    let same = RelayedResult { texts: vec![long()], structured: Some(json!({"content": long()})) };
    let shown = take(&bench, meta(), same).await;
    let blob = shown.ref_id.unwrap();
    let reference = shown.structured.unwrap();
    assert_eq!((&reference["ref_id"], &reference["stored_bytes"]), (&json!(blob.as_str()), &json!(long().len())));
    assert_eq!(reference["shown"], json!(shown.texts[0]));
    assert_eq!(read_back(&bench, &blob).await, long());

    let more = RelayedResult { texts: vec!["see below".to_owned()], structured: Some(json!({"rows": [long()]})) };
    let shown = take(&bench, meta(), more).await;
    assert!(read_back(&bench, &shown.ref_id.unwrap()).await.starts_with("see below\n{\"rows\":[\"line 1"));
    let short =
        RelayedResult { texts: vec!["3".to_owned()], structured: Some(json!({"sum": 3, "of": ["a\u{1b}[1mb"]})) };
    let shown = take(&bench, meta(), short).await;
    assert_eq!((shown.texts, shown.structured), (vec!["3".to_owned()], Some(json!({"sum": 3, "of": ["ab"]}))));
}

#[tokio::test]
async fn secrets_leave_texts_and_structured_content_before_anything_is_shown_or_stored() {
    let bench = Bench::new(settings());
    open_branch(&bench, 20_000).await;
    let token = secret();
    let (front, back) = token.split_at(20);
    let result = RelayedResult {
        texts: vec![format!("token {}", secret()), format!("half {front}"), back.to_owned()],
        structured: Some(json!({"token": secret(), secret(): [1, {"deep": format!("x={}", secret())}]})),
    };
    let shown = take(&bench, meta(), result).await;
    assert_eq!(shown.texts.len(), 3);
    let by_key =
        RelayedResult { texts: Vec::new(), structured: Some(json!({"user": "ann", "password": "Tr0ub4dor&3xQz"})) };
    let by_key = take(&bench, meta(), by_key).await.structured.unwrap();
    assert_eq!(by_key["user"], "ann");
    assert!(by_key["password"].as_str().unwrap().starts_with("[SECRET:"), "{by_key}");
    let all = format!("{shown:?}");
    assert!(!all.contains(&secret()) && !all.contains(front) && !all.contains(back), "{all}");
    let long = RelayedResult { texts: vec![format!("{}{}", long(), secret())], structured: Some(json!([secret()])) };
    let shown = take(&bench, meta(), long).await;
    assert!(!read_back(&bench, &shown.ref_id.unwrap()).await.contains(&secret()), "what is compressed is clean too");
    take(&bench, proxied(&Thread::Main), text(&format!("{}{}", super::relayed::long(), secret()))).await;
    bench.engine.flush_gateway().await;
    assert!(!is_on_disk(&bench, &secret()));
}

#[tokio::test]
async fn short_calls_cost_no_commit_each_and_are_all_counted_by_the_next_look() {
    let bench = Bench::new(settings());
    let branch = open_branch(&bench, 20_000).await;
    let (before_tokens, _) = stored(&bench, &branch).await;
    let before = events(&bench).await;
    let mut counted = 0;
    for number in 0..10 {
        let shown = take(&bench, CallPlace::OnlyOpen, text(&format!("result {number}"))).await;
        counted += tokens(&shown);
        let in_branch = shown.state.unwrap().current_branch_tokens;
        assert_eq!(in_branch, before_tokens + counted, "what is held is in the figures");
    }
    assert_eq!(events(&bench).await, before, "nothing was written");
    assert_eq!(stored(&bench, &branch).await, (before_tokens + counted, 10));
    bench.engine.flush_gateway().await;
    assert_eq!(stored_elsewhere(&bench, &branch).await, (before_tokens + counted, 10), "and once only");
}

#[tokio::test]
async fn held_calls_outlive_a_normal_end() {
    let bench = Bench::new(settings());
    let branch = open_branch(&bench, 20_000).await;
    take(&bench, meta(), text("a result")).await;
    bench.engine.flush_gateway().await;
    assert_eq!(stored_elsewhere(&bench, &branch).await.1, 1);
}

#[tokio::test]
async fn a_call_that_is_held_is_in_the_message_of_a_fold_that_comes_next() {
    let bench = Bench::new(settings());
    let branch = open_branch(&bench, 20_000).await;
    take(&bench, meta(), text("a result")).await;
    let folded = bench.engine.fold_branch(&bench.who, fold(branch.as_str(), "done")).await.unwrap();
    assert_eq!(folded.operations, 1);
    assert_eq!(stored(&bench, &branch).await.1, 1);
}

#[tokio::test]
async fn warnings_and_forced_folds_come_in_time_although_calls_are_held() {
    let bench = Bench::new(settings());
    let branch = open_branch(&bench, 1_000).await;
    let words = "a word or two ".repeat(20);
    let mut shown = take(&bench, meta(), text(&words)).await;
    let (mut calls, mut written_at) = (1, None);
    while shown.verdict == Verdict::Show && shown.notices.is_empty() {
        let used_tokens = shown.state.as_ref().unwrap().current_branch_tokens;
        if stored_elsewhere(&bench, &branch).await.1 > 0 {
            written_at.get_or_insert(used_tokens);
        }
        shown = take(&bench, meta(), text(&words)).await;
        calls += 1;
        assert!(calls < 100, "the budget is never used up");
    }
    let written_at = written_at.expect("the warning is on disk before the fold");
    assert!((800..1_000).contains(&written_at), "{written_at}");
    let view = bench.view(branch.as_str()).await.branch;
    assert_eq!(view.status, Status::Timeout);
    assert!(view.warned && view.used_tokens <= 1_000, "{view:?}");
    assert!(view.operations >= calls - 1, "{} of {calls}", view.operations);
    match &shown.verdict {
        Verdict::Withheld(notice) => assert!(shown.texts.is_empty() && notice.branch_id == branch),
        Verdict::Show => assert!(!shown.texts.is_empty() && shown.notices[0].branch_id == branch),
    }

    let place = CallPlace::Meta { session: name("s"), branch: Some(branch.to_string()) };
    let refused = bench.engine.admit_call(&bench.who, &place).await.unwrap_err();
    assert_eq!(refused.code(), "branch_folded");
    assert!(refused.data()["result"].as_str().unwrap().contains("Tools called: files__run"), "{}", refused.data());
    assert!(bench.engine.admit_call(&bench.who, &meta()).await.is_ok(), "the main thread goes on");
}

#[tokio::test]
async fn a_result_of_a_branch_that_folded_meanwhile_is_shown_and_says_so() {
    let bench = Bench::new(settings());
    let branch = open_branch(&bench, 20_000).await;
    let place = CallPlace::Meta { session: name("s"), branch: Some(branch.to_string()) };
    bench.engine.admit_call(&bench.who, &place).await.unwrap();
    bench.engine.fold_branch(&bench.who, fold(branch.as_str(), "done")).await.unwrap();
    let shown = take(&bench, place, text("late")).await;
    assert_eq!((shown.texts, shown.notices[0].branch_id.clone()), (vec!["late".to_owned()], branch));
    assert!(matches!(shown.metered, Metered::Nowhere { .. }));
}

#[tokio::test]
async fn the_only_branch_that_works_is_found_and_of_several_none() {
    let bench = Bench::new(settings());
    let shown = take(&bench, CallPlace::OnlyOpen, text("x")).await;
    assert_eq!(shown.metered, Metered::Nowhere { reason: "not one single branch is open" });
    open_branch(&bench, 20_000).await;
    let below = open_branch(&bench, 5_000).await;
    let shown = take(&bench, CallPlace::OnlyOpen, text("x")).await;
    assert!(matches!(&shown.metered, Metered::In { thread, by: "only_open", .. } if thread.branch() == Some(&below)));
    bench.open("other").await.unwrap();
    let shown = take(&bench, CallPlace::OnlyOpen, text("x")).await;
    assert!(matches!(shown.metered, Metered::Nowhere { .. }));
}

#[tokio::test]
async fn scripts_and_nobody_get_results_whole_and_nothing_is_stored() {
    let bench = Bench::new(settings());
    for place in [CallPlace::Script, CallPlace::Nobody] {
        bench.engine.admit_call(&bench.who, &place).await.unwrap();
        let shown = take(&bench, place, text(&format!("{}{}", long(), secret()))).await;
        assert!(shown.texts[0].starts_with(&long()) && !shown.texts[0].contains(&secret()));
        assert!(shown.ref_id.is_none() && shown.tokens_out > 1_000);
    }
    assert_eq!(events(&bench).await, 0);
}

async fn seen_by_proxy(bench: &Bench, thread: &Thread, shown: &RelayedShown) -> ShownResult {
    let result = NewResult {
        call_id: "toolu_1".to_owned(),
        tool: "mcp__servers__files__run".to_owned(),
        arguments: r#"{"command":"make"}"#.to_owned(),
        texts: shown.texts.clone(),
        remarks: None,
        is_all_text: true,
    };
    let (thread, mentions) = (thread.clone(), Mentions::default());
    let request =
        TakeIn { thread, results: vec![result], offload: Offload::Allowed, mentions, given: ResultsGiven::ByClient };
    bench.engine.take_in(&bench.who, &name("s"), request).await.unwrap().results.remove(0).1
}

#[tokio::test]
async fn behind_the_proxy_a_short_result_is_counted_by_the_proxy_and_a_long_one_by_the_gateway_once() {
    for result in ["short".to_owned(), long()] {
        let bench = Bench::new(settings());
        let branch = open_branch(&bench, 20_000).await;
        let thread = Thread::Branch(branch.clone());
        let before = stored(&bench, &branch).await;
        bench.engine.admit_call(&bench.who, &proxied(&thread)).await.unwrap();
        let shown = take(&bench, proxied(&thread), text(&result)).await;
        assert_eq!(shown.ref_id.is_some(), result.len() > 100);
        assert_eq!(stored(&bench, &branch).await.1, u64::from(shown.ref_id.is_some()));
        for _ in 0..2 {
            assert_eq!(seen_by_proxy(&bench, &thread, &shown).await, ShownResult::AsItIs);
            let after = stored(&bench, &branch).await;
            assert_eq!((after.0 - before.0, after.1), (tokens(&shown), 1));
        }
        let again = take(&bench, proxied(&thread), text(&long())).await;
        assert_eq!(again.ref_id, shown.ref_id, "what the call was answered before is answered again");
        assert_eq!(again.texts[0] == shown.texts[0], shown.ref_id.is_some());
        assert_eq!(stored(&bench, &branch).await.1, 1);
    }
}

#[tokio::test]
async fn behind_the_proxy_a_call_of_a_branch_that_is_over_is_refused() {
    let bench = Bench::new(settings());
    let branch = open_branch(&bench, 20_000).await;
    let place = proxied(&Thread::Branch(branch.clone()));
    bench.engine.fold_branch(&bench.who, fold(branch.as_str(), "what it found")).await.unwrap();
    let refused = bench.engine.admit_call(&bench.who, &place).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Refused(infold_core::Refusal::BranchOver { result, .. }) if result == "what it found")
    );
    let words = format!("Branch {branch} has ended, so this call was not made. Go on in main with its result");
    assert_eq!(refused.to_string(), words);
}

#[tokio::test]
async fn with_a_gateway_calls_of_all_tools_are_remembered_with_their_ids() {
    let hash = arguments_hash("{}");
    let call = || {
        vec![IssuedCall { id: "call_9".to_owned(), tool: "mcp__servers__files__run".to_owned(), arguments_hash: hash }]
    };
    let usual = Bench::new(settings());
    usual.engine.calls_issued(&usual.who, &name("s"), &Thread::Main, call());
    assert_eq!(usual.engine.issued_place(&usual.who, None, "files__run", || hash), None);

    let turn = TurnSettings { kept_calls: KeptCalls::All, ..settings().turn };
    let bench = Bench::new(EngineSettings { turn, ..settings() });
    bench.engine.calls_issued(&bench.who, &name("s"), &Thread::Main, call());
    let place = CallPlace::Proxy { session: name("s"), thread: Thread::Main, call_id: "call_9".to_owned() };
    assert_eq!(bench.engine.issued_place(&bench.who, None, "files__run", || hash), Some(place));
    assert_eq!(bench.engine.issued_place(&bench.who, None, "files__run", || hash), None, "once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_that_are_held_are_counted_once_whoever_records_them() {
    let bench = std::sync::Arc::new(Bench::new(settings()));
    let branch = open_branch(&bench, 30_000).await;
    let tasks: Vec<_> = (0..4)
        .map(|task| {
            let bench = std::sync::Arc::clone(&bench);
            tokio::spawn(async move {
                for number in 0..25 {
                    take(&bench, meta(), text("a result")).await;
                    match (task + number) % 5 {
                        0 => drop(bench.engine.record_result(&bench.who, result("s", "another")).await.unwrap()),
                        1 => bench.engine.flush_gateway().await,
                        2 => drop(bench.session("s").await),
                        _ => {}
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(stored(&bench, &branch).await.1, 100 + 20);
}

#[tokio::test]
async fn a_store_that_fails_costs_no_result_and_lets_no_secret_through() {
    let bench = Bench::new(settings());
    for file in std::fs::read_dir(bench.folder.path()).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::metadata(&path).unwrap().len();
        std::fs::write(&path, vec![b'x'; usize::try_from(bytes).unwrap()]).unwrap();
    }
    let branch = Thread::Branch(BranchId::from_stored("br_1".to_owned()));
    for place in [meta(), proxied(&Thread::Main), proxied(&branch), CallPlace::OnlyOpen] {
        bench.engine.admit_call(&bench.who, &place).await.unwrap();
        let shown = take(&bench, place, text(&format!("{}{}", long(), secret()))).await;
        assert!(shown.texts[0].starts_with(&long()) && !shown.texts[0].contains(&secret()));
        assert!(matches!(shown.metered, Metered::Nowhere { reason } if reason.starts_with("the store")), "{shown:?}");
    }
}
