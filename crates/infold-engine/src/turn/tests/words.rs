//! What agents say is stored before anybody can cut their branches short.

use infold_core::record::Usage;
use infold_core::view::{Anchor, BranchState};
use infold_core::{BranchId, Event, SessionId, Thread};

use crate::tests::*;
use crate::turn::known_session::KnownSession;
use crate::*;

const SAID: &str = "It is not the lexer.\nIt must be the parser.";

fn name() -> SessionId {
    SessionId::parse("s").unwrap()
}

fn after(call: &str) -> Anchor {
    Anchor::After { call: call.to_owned() }
}

/// Opens a branch in which this is said.
async fn having_said(bench: &Bench, words: &str) -> BranchId {
    let branch = bench.open("s").await.unwrap().branch_id;
    bench.engine.note_words(&bench.who, &name(), &Thread::Branch(branch.clone()), words);
    branch
}

/// What a branch gives its parent, or would give it now.
fn given(known: &KnownSession, branch: &BranchId) -> String {
    match &known.decisions.branches[branch].state {
        BranchState::Open { partial } => partial.clone(),
        BranchState::Ended { result, .. } => result.clone(),
    }
}

#[tokio::test]
async fn an_interrupted_branch_gives_its_last_words_and_they_stay() {
    let bench = Bench::new(settings());
    let branch = having_said(&bench, SAID).await;
    let known = bench.engine.interrupt(&bench.who, &name(), &branch, after("c1")).await.unwrap();
    assert!(given(&known, &branch).contains(&format!("\nLast words: {SAID}")), "{}", given(&known, &branch));
    assert_eq!(known.decisions.endings[0].result, given(&known, &branch));

    // What was shown once stays the same, whatever is said later, and after a restart.
    bench.engine.note_words(&bench.who, &name(), &Thread::Branch(branch.clone()), "too late");
    bench.engine.store_pending_words(&bench.who, &name()).await.unwrap();
    let restarted = bench.another(settings()).known_session(&bench.who, &name()).await.unwrap();
    assert_eq!(restarted.decisions.endings, known.decisions.endings);
    assert_eq!(given(&restarted, &branch), given(&known, &branch));
}

#[tokio::test]
async fn an_answer_that_uses_up_the_budget_is_given_with_what_it_said() {
    let bench = Bench::new(settings());
    let branch = having_said(&bench, SAID).await;
    let usage = Usage { output_tokens: 9_000, ..Usage::default() };
    let thread = Thread::Branch(branch.clone());
    let folded = bench.engine.meter(&bench.who, &name(), &thread, &usage).await.unwrap().unwrap();
    assert!(folded.result.contains(SAID), "{}", folded.result);
    let steps = bench.engine.trajectory(&bench.who, branch.as_str(), None).await.unwrap().steps;
    let names: Vec<&str> = steps.iter().map(|step| step.event.name()).collect();
    assert_eq!(names[2..], ["branch.said", "request.completed", "budget.warning", "budget.exhausted", "branch.folded"]);
}

#[tokio::test]
async fn whoever_folds_it_by_whatever_door_gives_its_last_words() {
    let bench = Bench::new(settings());
    let branch = having_said(&bench, SAID).await;
    bench.pass(300_000);
    bench.engine.fold_overdue().await.unwrap();
    assert!(bench.view(branch.as_str()).await.result.unwrap().contains(SAID), "out of time");

    let request = OpenBranch { budget_tokens: Some(100), ..open("s") };
    let branch = bench.engine.open_branch(&bench.who, request).await.unwrap().branch_id;
    let thread = Thread::Branch(branch.clone());
    bench.engine.note_words(&bench.who, &name(), &thread, SAID);
    let long = RecordResult { thread: Some(branch.to_string()), ..result("s", &"found in a sibling\n".repeat(900)) };
    bench.engine.record_result(&bench.who, long).await.unwrap();
    let view = bench.view(branch.as_str()).await;
    assert_eq!(view.branch.status.as_str(), "timeout");
    assert!(view.result.unwrap().contains(SAID), "out of budget");

    let (outer, inner) = (bench.open("s").await.unwrap().branch_id, bench.open("s").await.unwrap().branch_id);
    bench.engine.note_words(&bench.who, &name(), &Thread::Branch(inner.clone()), SAID);
    bench.engine.fold_branch(&bench.who, fold(outer.as_str(), "done")).await.unwrap();
    assert!(bench.view(inner.as_str()).await.result.unwrap().contains(SAID), "its parent has returned");
}

#[tokio::test]
async fn facts_that_are_held_learn_of_them() {
    let bench = Bench::new(settings());
    let branch = bench.open("s").await.unwrap().branch_id;
    let mut held = bench.engine.known_session(&bench.who, &name()).await.unwrap();
    assert!(!given(&held, &branch).contains("Last words"));
    for words in ["First this.", "Then that.", " "] {
        bench.engine.note_words(&bench.who, &name(), &Thread::Branch(branch.clone()), words);
        bench.engine.refresh(&bench.who, &name(), &mut held).await.unwrap();
        let wanted = if words == " " { "Then that." } else { words };
        assert!(given(&held, &branch).contains(&format!("Last words: {wanted}")), "{}", given(&held, &branch));
    }
    let version = bench.session("s").await.session.version;
    bench.engine.refresh(&bench.who, &name(), &mut held).await.unwrap();
    assert_eq!(bench.session("s").await.session.version, version, "nothing is stored twice");
}

#[tokio::test]
async fn what_is_said_in_the_main_thread_or_in_no_session_is_not_stored() {
    let bench = Bench::new(settings());
    let branch = bench.open("s").await.unwrap().branch_id;
    let before = bench.session("s").await;
    bench.engine.note_words(&bench.who, &name(), &Thread::Main, SAID);
    bench.engine.note_words(&bench.who, &SessionId::parse("other").unwrap(), &Thread::Branch(branch), SAID);
    bench.engine.store_pending_words(&bench.who, &name()).await.unwrap();
    bench.engine.store_pending_words(&bench.who, &SessionId::parse("other").unwrap()).await.unwrap();
    assert_eq!(bench.session("s").await, before);
}

#[tokio::test]
async fn secrets_in_them_never_reach_the_store() {
    let bench = Bench::new(settings());
    let secret = format!("{}{}", "ghp_", "16C7e42F292c6912E7710c838347Ae178B4a");
    let branch = having_said(&bench, &format!("I log in with {secret}, then.")).await;
    bench.engine.store_pending_words(&bench.who, &name()).await.unwrap();
    let known = bench.engine.interrupt(&bench.who, &name(), &branch, after("c1")).await.unwrap();
    let result = given(&known, &branch);
    assert!(result.contains("Last words: I log in with [SECRET:") && !result.contains(&secret), "{result}");
    let steps = bench.engine.trajectory(&bench.who, branch.as_str(), None).await.unwrap().steps;
    assert!(steps.iter().any(|step| matches!(step.event, Event::Said { .. })));
    for entry in std::fs::read_dir(bench.folder.path()).unwrap().flatten() {
        let bytes = std::fs::read(entry.path()).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{:?}", entry.path());
    }
}

#[tokio::test]
async fn what_cannot_be_scrubbed_is_not_stored_and_holds_up_nothing() {
    for fault in [ScrubFault::Panic, ScrubFault::Stall, ScrubFault::Missing] {
        let bench = Bench::new(settings());
        let branch = bench.open("s").await.unwrap().branch_id;
        let mut broken = settings();
        (broken.scrub.fault, broken.scrub.timeout_ms) = (fault, 50);
        let broken = bench.another(broken);
        broken.note_words(&bench.who, &name(), &Thread::Branch(branch.clone()), SAID);
        let known = broken.interrupt(&bench.who, &name(), &branch, after("c1")).await.unwrap();
        let result = given(&known, &branch);
        assert!(result.starts_with("[Partial result: interrupted.") && !result.contains("Last words"), "{result}");
    }
}
