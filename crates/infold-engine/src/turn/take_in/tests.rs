//! Results when they are first seen: what is sent of them, what is counted, what is stored.

use infold_core::view::{Anchor, Note, Reason, Replacement, Restart};
use infold_core::{BlobId, BranchId, Mentions, SessionId, Thread};

use super::{ResultsGiven, TakeIn, TakenIn};
use crate::intake::{NewResult, Offload, ShownResult};
use crate::tests::{Bench, open, settings};
use crate::turn::offload::StoredRelief;
use crate::{OpenBranch, Portion, ReadResult};

fn name() -> SessionId {
    SessionId::parse("s").unwrap()
}

fn seen(call_id: &str, tool: &str, text: &str) -> NewResult {
    NewResult {
        call_id: call_id.to_owned(),
        tool: tool.to_owned(),
        arguments: r#"{"command":"make"}"#.to_owned(),
        texts: vec![text.to_owned()],
        remarks: None,
        is_all_text: true,
    }
}

fn secret() -> String {
    format!("ghp_{}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8")
}

fn long() -> String {
    (1..=2000).map(|number| format!("line {number} of the log\n")).collect()
}

/// Some 650 tokens, and too short to be offloaded for its length.
fn medium() -> String {
    "a word or two ".repeat(150)
}

async fn take(bench: &Bench, thread: &Thread, results: Vec<NewResult>) -> TakenIn {
    let (thread, mentions) = (thread.clone(), Mentions::default());
    let request = TakeIn { thread, results, offload: Offload::Allowed, mentions, given: ResultsGiven::ByClient };
    bench.engine.take_in(&bench.who, &name(), request).await.unwrap()
}

async fn open_branch(bench: &Bench, budget_tokens: u64) -> (BranchId, Thread) {
    let request = OpenBranch { budget_tokens: Some(budget_tokens), ..open("s") };
    let id = bench.engine.open_branch(&bench.who, request).await.unwrap().branch_id;
    (id.clone(), Thread::Branch(id))
}

async fn read_back(bench: &Bench, blob: &BlobId) -> String {
    let portion = Portion::Bytes { offset: 0 };
    let request =
        ReadResult { ref_id: blob.to_string(), thread: Some("main".to_owned()), portion, limit_bytes: 65_536 };
    bench.engine.read_result(&bench.who, &request).await.unwrap().content
}

#[tokio::test]
async fn a_plain_session_costs_the_disk_nothing() {
    let bench = Bench::new(settings());
    let taken = take(&bench, &Thread::Main, vec![seen("c1", "Read", "short"), seen("c2", "Bash", &medium())]).await;
    assert!(taken.results.iter().all(|(_, shown)| *shown == ShownResult::AsItIs && shown.reason().is_none()));
    assert!(bench.engine.known_session(&bench.who, &name()).await.unwrap().is_new);
    assert_eq!(bench.engine.store().health().await.unwrap().events, 0);
}

#[tokio::test]
async fn secrets_are_taken_out_part_by_part_and_out_of_everything_that_is_stored() {
    let bench = Bench::new(settings());
    let parts =
        NewResult { texts: vec!["nothing".to_owned(), format!("token {}", secret())], ..seen("c1", "Read", "") };
    let taken = take(&bench, &Thread::Main, vec![parts]).await;
    let ShownResult::Parts(parts) = &taken.results[0].1 else { panic!("{taken:?}") };
    assert!(parts[0].is_none() && parts[1].as_ref().unwrap().as_str().starts_with("token [SECRET:github-pat:"));
    assert_eq!(taken.results[0].1.reason(), Some(Reason::Scrubbed));

    // A tool is not trusted just because it has the name of one of infold's.
    let named = take(&bench, &Thread::Main, vec![seen("c2", "evil__branch_status", &secret())]).await;
    assert!(matches!(&named.results[0].1, ShownResult::Parts(_)));
    let big = take(&bench, &Thread::Main, vec![seen("c3", "Bash", &format!("{}{}", long(), secret()))]).await;
    assert!(matches!(&big.results[0].1, ShownResult::Reference { text, .. } if !text.contains(&secret())));
    for file in std::fs::read_dir(bench.folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(secret().len()).any(|window| window == secret().as_bytes()));
    }
}

#[tokio::test]
async fn a_long_result_is_offloaded_only_where_it_can_be_read_back() {
    let bench = Bench::new(settings());
    let picture = NewResult { is_all_text: false, ..seen("c3", "Bash", &long()) };
    let results = vec![seen("c1", "Bash", &long()), seen("c2", "mcp__infold__read_result", &long()), picture];
    let request = TakeIn {
        thread: Thread::Main,
        results,
        offload: Offload::No,
        mentions: Mentions::default(),
        given: ResultsGiven::ByClient,
    };
    assert!(bench.engine.wants_mentions(&request.results));
    let refused = bench.engine.take_in(&bench.who, &name(), request.clone()).await.unwrap();
    assert!(refused.results.iter().all(|(_, shown)| *shown == ShownResult::AsItIs));

    let request = TakeIn { offload: Offload::Allowed, ..request };
    let taken = bench.engine.take_in(&bench.who, &name(), request).await.unwrap();
    let ShownResult::Reference { text, blob } = &taken.results[0].1 else { panic!("{taken:?}") };
    assert!(text.contains(blob.as_str()) && text.contains("line 2000 of the log"), "{text}");
    assert_eq!(read_back(&bench, blob).await, long());
    assert_eq!((&taken.results[1].1, &taken.results[2].1), (&ShownResult::AsItIs, &ShownResult::AsItIs));
}

#[tokio::test]
async fn what_was_said_before_is_shown_of_a_file() {
    let bench = Bench::new(settings());
    let file: String =
        (1..=900).map(|number| format!("{number}\tfn function_{number}() {{ body_{number}(); }}\n")).collect();
    let mut mentions = Mentions::default();
    mentions.say("what does function_451 do?");
    let results = vec![NewResult { arguments: r#"{"path":"a.rs"}"#.to_owned(), ..seen("c1", "Read", &file) }];
    let request =
        TakeIn { thread: Thread::Main, results, offload: Offload::Allowed, mentions, given: ResultsGiven::ByClient };
    let taken = bench.engine.take_in(&bench.who, &name(), request).await.unwrap();
    assert!(matches!(&taken.results[0].1, ShownResult::Reference { text, .. } if text.contains("fn function_451()")));
}

#[tokio::test]
async fn a_text_that_is_too_long_to_be_searched_is_withheld() {
    let mut small = settings();
    small.scrub.bytes_max = 5_000;
    let bench = Bench::new(small);
    let parts = NewResult { texts: vec!["short".to_owned(), long()], ..seen("c1", "Bash", "") };
    let taken = take(&bench, &Thread::Main, vec![parts]).await;
    let ShownResult::Parts(parts) = &taken.results[0].1 else { panic!("{taken:?}") };
    assert_eq!(parts[0], None);
    assert!(parts[1].as_ref().unwrap().as_str().starts_with("[infold withheld 40893 bytes here, because they could not be searched for secrets: text of 40893 bytes is too long"));
}

#[tokio::test]
async fn nothing_gets_past_where_there_is_no_scrubber() {
    let bench = Bench::new(settings());
    let mut broken = settings();
    broken.scrub.fault = crate::ScrubFault::Missing;
    let broken = bench.another(broken);
    let results = vec![seen("c1", "Bash", "text")];
    let request = TakeIn {
        thread: Thread::Main,
        results,
        offload: Offload::Allowed,
        mentions: Mentions::default(),
        given: ResultsGiven::ByClient,
    };
    let refused = broken.take_in(&bench.who, &name(), request).await.unwrap_err();
    assert_eq!(refused.code(), "scrubbing_failed");
}

#[tokio::test]
async fn in_a_branch_each_call_is_counted_once_whoever_asks_again() {
    let bench = Bench::new(settings());
    let (id, thread) = open_branch(&bench, 8_000).await;
    let before = bench.view(id.as_str()).await.branch.used_tokens;
    let results = vec![seen("c1", "Read", "short"), seen("c2", "Bash", &long())];
    let first = take(&bench, &thread, results.clone()).await;
    let once = bench.view(id.as_str()).await.branch;
    assert!(once.used_tokens > before && once.operations == 2);

    // The client repeats the request, or the daemon died before the bytes were stored.
    let other = bench.another(settings());
    let request = TakeIn {
        thread: thread.clone(),
        results,
        offload: Offload::Allowed,
        mentions: Mentions::default(),
        given: ResultsGiven::ByClient,
    };
    let again = other.take_in(&bench.who, &name(), request).await.unwrap();
    assert_eq!(again, first, "the same reference to the same blob");
    assert_eq!(bench.view(id.as_str()).await.branch.used_tokens, once.used_tokens);

    // The client has cleared the result itself: its version is sent as it is.
    let cleared = take(&bench, &thread, vec![seen("c2", "Bash", "[cleared]")]).await;
    assert_eq!(cleared.results[0].1, ShownResult::AsItIs);
    assert_eq!(bench.view(id.as_str()).await.branch.used_tokens, once.used_tokens);
}

#[tokio::test]
async fn what_opens_and_folds_branches_is_not_counted_again() {
    let bench = Bench::new(settings());
    let (id, thread) = open_branch(&bench, 8_000).await;
    let before = bench.view(id.as_str()).await.branch.used_tokens;
    let ours = ["mcp__infold__branch_create", "context_return", "context_rollback"];
    let results = ours.iter().map(|tool| seen(tool, tool, &medium())).collect();
    take(&bench, &thread, results).await;
    assert_eq!(bench.view(id.as_str()).await.branch.used_tokens, before);
    take(&bench, &thread, vec![seen("c9", "branch_status", "active")]).await;
    assert!(bench.view(id.as_str()).await.branch.used_tokens > before);
}

#[tokio::test]
async fn one_huge_result_in_a_branch_is_offloaded_before_it_is_sent_and_else_the_branch_folds() {
    let bench = Bench::new(settings());
    let (id, thread) = open_branch(&bench, 650).await;
    let first = take(&bench, &thread, vec![seen("c1", "Bash", &medium())]).await;
    assert_eq!((&first.results[0].1, &first.folded), (&ShownResult::AsItIs, &None));

    // The result is short enough to be shown whole, but does not fit the budget.
    let second = take(&bench, &thread, vec![seen("c2", "Bash", &medium())]).await;
    let ShownResult::Reference { blob, .. } = &second.results[0].1 else { panic!("{second:?}") };
    assert_eq!((read_back(&bench, blob).await, &second.folded), (medium(), &None));

    let results = vec![seen("c3", "Bash", &medium()), seen("c4", "Bash", &secret())];
    let third = take(&bench, &thread, results).await;
    let folded = third.folded.as_ref().unwrap();
    assert_eq!((&folded.branch_id, folded.reason.as_str()), (&id, "budget exhausted"));
    assert!(folded.result.contains("read_result"), "{}", folded.result);
    assert!(matches!(&third.results[1].1, ShownResult::Parts(_)), "what comes after is scrubbed all the same");
    let branch = bench.view(id.as_str()).await.branch;
    assert!(branch.used_tokens <= 650);

    let late = take(&bench, &thread, vec![seen("c5", "Bash", "late")]).await;
    assert_eq!(late.folded.unwrap().branch_id, id, "whoever comes later gets the notice");
    assert_eq!(bench.view(id.as_str()).await.branch.used_tokens, branch.used_tokens);
}

#[tokio::test]
async fn a_branch_nobody_knows_is_not_counted_in_and_keeps_nobody_from_going_on() {
    let bench = Bench::new(settings());
    let in_another_session = bench.engine.open_branch(&bench.who, open("other")).await.unwrap().branch_id;
    let results = vec![seen("c1", "Bash", &secret()), seen("c2", "Bash", "plain")];
    let taken = take(&bench, &Thread::Branch(in_another_session), results).await;
    assert!(matches!(&taken.results[0].1, ShownResult::Parts(_)));
    assert_eq!((&taken.results[1].1, &taken.folded), (&ShownResult::AsItIs, &None));
}

#[tokio::test]
async fn the_bytes_that_were_stored_are_there_after_a_restart() {
    let bench = Bench::new(settings());
    take(&bench, &Thread::Main, vec![seen("c1", "Bash", &long())]).await;
    let rewrite = Replacement {
        content: infold_core::view::BlockKey([3; 16]),
        sent: infold_core::view::ScrubbedJson::stored("[{\"type\":\"text\"}]".to_owned()),
        reason: Reason::Offloaded,
    };
    let replacements = vec![("c1".to_owned(), rewrite.clone())];
    bench.engine.store_replacements(&bench.who, &name(), replacements).await.unwrap();
    let known = bench.another(settings()).known_session(&bench.who, &name()).await.unwrap();
    assert_eq!(known.decisions.rewrites["c1"], rewrite);
    assert!(known.has_edited && !known.is_new);
}

#[tokio::test]
async fn what_a_rescue_moves_out_can_be_read_back_and_is_not_counted() {
    let bench = Bench::new(settings());
    let (branch, thread) = open_branch(&bench, 20_000).await;
    let text = format!("TOKEN={}\n{}", secret(), medium());
    let results = vec![seen("c1", "Bash", &text), seen("c2", "Bash", "short")];
    take(&bench, &thread, results.clone()).await;
    let used_tokens = bench.view(branch.as_str()).await.branch.used_tokens;

    let gone = bench.engine.write_references(&bench.who, &name(), &thread, results).await.unwrap();
    let [Some(gone), None] = &gone[..] else { panic!("one of two leaves") };
    assert!(gone.text.contains(gone.blob.id.as_str()) && gone.text.len() < text.len(), "{}", gone.text);
    let rewrite = Replacement {
        content: infold_core::view::BlockKey([1; 16]),
        sent: infold_core::view::ScrubbedJson::stored("\"r\"".to_owned()),
        reason: Reason::Rescued,
    };
    let rescue = StoredRelief {
        blobs: vec![gone.blob.clone()],
        rewrites: vec![("c1".to_owned(), rewrite)],
        restart: Restart { root: None, from: None, place: Anchor::After { call: "c2".to_owned() } },
        note: Note { after: "c2".to_owned(), text: "a receipt".to_owned() },
        lightened: None,
    };
    bench.engine.store_relief(&bench.who, &name(), rescue).await.unwrap();

    let read = read_back(&bench, &gone.blob.id).await;
    assert!(read.starts_with("TOKEN=[SECRET:") && read.ends_with(medium().as_str()), "{read}");
    assert_eq!(bench.view(branch.as_str()).await.branch.used_tokens, used_tokens);
    let known = bench.engine.known_session(&bench.who, &name()).await.unwrap().decisions;
    assert_eq!((known.rewrites["c1"].reason, known.notes.len(), known.restarts.len()), (Reason::Rescued, 1, 1));
}
