//! Branches that a transcript ends and opens, and what is known of a session.

use infold_core::record::Usage;
use infold_core::view::{Anchor, BlockKey, BranchState, FoundOpening, Note, Restart};
use infold_core::{BranchId, EndReason, Principal, SessionId, Thread};
use tempfile::TempDir;

use crate::tests::*;
use crate::turn::carry_out::Adoption;
use crate::turn::known_session::KnownSession;
use crate::*;

fn name() -> SessionId {
    SessionId::parse("s").unwrap()
}

fn after(call: &str) -> Anchor {
    Anchor::After { call: call.to_owned() }
}

async fn known(bench: &Bench) -> KnownSession {
    bench.engine.known_session(&bench.who, &name()).await.unwrap()
}

fn reason(known: &KnownSession, branch: &BranchId) -> Option<EndReason> {
    match &known.decisions.branches[branch].state {
        BranchState::Open { .. } => None,
        BranchState::Ended { reason, .. } => Some(*reason),
    }
}

/// A branch that has run out of time.
async fn overdue(bench: &Bench) -> BranchId {
    let opened = bench.open("s").await.unwrap();
    bench.pass(300_000);
    opened.branch_id
}

#[tokio::test]
async fn the_user_speaks_while_a_branch_is_open() {
    let bench = Bench::new(settings());
    let outer = bench.open("s").await.unwrap().branch_id;
    let inner = bench.open("s").await.unwrap().branch_id;
    let place = Anchor::Before { block: BlockKey([4; 16]) };
    let known = bench.engine.interrupt(&bench.who, &name(), &outer, place.clone()).await.unwrap();
    assert_eq!(reason(&known, &outer), Some(EndReason::Interrupted));
    assert_eq!(reason(&known, &inner), Some(EndReason::ParentReturning));
    let [ending] = &known.decisions.endings[..] else { panic!("{:?}", known.decisions.endings) };
    assert_eq!((&ending.branch, ending.generation, &ending.place), (&outer, 1, &place));
    assert!(ending.result.starts_with("[Partial result: interrupted."), "{}", ending.result);

    // Asked for again, it stays at the place that was stored first; and the parent has been informed.
    let again = bench.engine.interrupt(&bench.who, &name(), &outer, after("c9")).await.unwrap();
    assert_eq!(again.decisions.endings, known.decisions.endings);
    assert_eq!(code(bench.engine.fold_branch(&bench.who, fold(outer.as_str(), "late")).await), "branch_not_active");
    assert!(bench.open("s").await.unwrap().notices.is_empty());
}

#[tokio::test]
async fn a_fold_by_force_ends_where_its_parent_learns_of_it() {
    let bench = Bench::new(settings());
    let branch = overdue(&bench).await;
    let known = known(&bench).await;
    assert_eq!((reason(&known, &branch), known.decisions.endings.len()), (Some(EndReason::TimedOut), 0));
    let known = bench.engine.end_at(&bench.who, &name(), &branch, after("c3")).await.unwrap();
    let [ending] = &known.decisions.endings[..] else { panic!("{:?}", known.decisions.endings) };
    assert!(ending.place == after("c3") && ending.result.contains("timed out"));
    assert_eq!(code(bench.engine.fold_branch(&bench.who, fold(branch.as_str(), "late")).await), "branch_not_active");
    let restarted = bench.another(settings()).known_session(&bench.who, &name()).await.unwrap();
    assert_eq!(restarted.decisions.endings, known.decisions.endings);
}

#[tokio::test]
async fn a_late_return_is_the_result_while_the_parent_has_not_been_informed() {
    let bench = Bench::new(settings());
    let branch = overdue(&bench).await;
    assert_eq!(reason(&known(&bench).await, &branch), Some(EndReason::TimedOut));
    let folded = bench.engine.fold_branch(&bench.who, fold(branch.as_str(), "found it after all")).await.unwrap();
    assert_eq!((folded.status.as_str(), folded.message.as_str()), ("timeout", "found it after all"));
    assert!(folded.notices.is_empty(), "the answer tells it already");
    let known = bench.engine.end_at(&bench.who, &name(), &branch, after("c3")).await.unwrap();
    assert_eq!(known.decisions.endings[0].result, "found it after all");
    let steps = bench.engine.trajectory(&bench.who, branch.as_str(), None).await.unwrap().steps;
    let ends = steps.iter().filter(|step| matches!(step.event, infold_core::Event::BranchEnded { .. })).count();
    assert_eq!(ends, 1);
}

#[tokio::test]
async fn the_client_goes_back_into_a_branch_that_has_returned() {
    let bench = Bench::new(settings());
    let under_main = || OpenBranch { parent: Some("main".to_owned()), ..open("s") };
    let first = bench.engine.open_branch(&bench.who, under_main()).await.unwrap().branch_id;
    let second = bench.engine.open_branch(&bench.who, under_main()).await.unwrap().branch_id;
    bench.engine.fold_branch(&bench.who, fold(first.as_str(), "done")).await.unwrap();
    let known = bench.engine.reopen(&bench.who, &name(), &first).await.unwrap();
    assert_eq!((reason(&known, &first), known.decisions.branches[&first].generation), (None, 2));
    assert_eq!(reason(&known, &second), None, "its sibling waits as before");
    let again = bench.engine.reopen(&bench.who, &name(), &first).await.unwrap();
    assert_eq!(again.decisions.branches[&first].generation, 2);
    bench.engine.fold_branch(&bench.who, fold(first.as_str(), "done again")).await.unwrap();
}

#[tokio::test]
async fn the_client_goes_back_into_a_branch_that_has_used_its_budget() {
    let bench = Bench::new(settings());
    let branch = bench.engine.open_branch(&bench.who, open("s")).await.unwrap().branch_id;
    let thread = Thread::Branch(branch.clone());
    let answer = |output_tokens| Usage { output_tokens, ..Usage::default() };
    bench.engine.meter(&bench.who, &name(), &thread, &answer(1_000_000)).await.unwrap();
    bench.engine.end_at(&bench.who, &name(), &branch, after("c1")).await.unwrap();

    bench.engine.reopen(&bench.who, &name(), &branch).await.unwrap();
    let stored = known(&bench).await;
    assert_eq!((reason(&stored, &branch), stored.decisions.branches[&branch].generation), (None, 2));

    // It has no budget left to go on with, and its second end has a place of its own.
    bench.engine.meter(&bench.who, &name(), &thread, &answer(1)).await.unwrap();
    let known = bench.engine.end_at(&bench.who, &name(), &branch, after("c2")).await.unwrap();
    assert_eq!(reason(&known, &branch), Some(EndReason::BudgetExhausted));
    let places: Vec<Anchor> = known.decisions.endings.into_iter().map(|ending| ending.place).collect();
    assert_eq!(places, [after("c1"), after("c2")]);
}

#[tokio::test]
async fn a_branch_is_known_again_when_the_store_is_gone() {
    let bench = Bench::new(settings());
    let request = OpenBranch { budget_tokens: Some(5_000), prompt: Some("look".to_owned()), ..open("s") };
    let branch = bench.engine.open_branch(&bench.who, request).await.unwrap().branch_id;
    let adoption = Adoption {
        branch: branch.clone(),
        parent: Thread::Main,
        opening: FoundOpening {
            description: Some("find the parser".to_owned()),
            prompt: Some("look".to_owned()),
            budget_tokens: Some(5_000),
            timeout_s: Some(60),
            isolation: Isolation::Inherit,
            injected_context: None,
        },
    };

    // The same key, and nothing else of the database.
    let another = Bench::new(settings());
    let key = std::fs::read(bench.folder.path().join(infold_store::KEY_FILE)).unwrap();
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join(infold_store::KEY_FILE), key).unwrap();
    let engine = Bench::engine_in(&folder, settings(), &another.now_ms);
    let known = engine.adopt(&bench.who, &name(), adoption.clone()).await.unwrap();
    assert_eq!(reason(&known, &branch), None);
    assert!(known.has_edited);
    let look = BranchRef::Id { branch: branch.to_string(), session: None };
    let view = engine.branch(&bench.who, &look, None).await.unwrap().unwrap().branch;
    assert_eq!((view.budget_tokens, view.timeout_ms, view.isolation), (5_000, 60_000, Isolation::Inherit));
    let folded = engine.fold_branch(&bench.who, fold(branch.as_str(), "it is in a.rs")).await.unwrap();
    assert_eq!(folded.message, "it is in a.rs");

    // A client that copies a transcript has the ids of another session in it.
    let copy = SessionId::parse("copy").unwrap();
    let known = bench.engine.adopt(&bench.who, &copy, adoption).await.unwrap();
    assert_eq!(reason(&known, &branch), None);
}

#[tokio::test]
async fn the_opening_call_is_gone_from_the_transcript() {
    let bench = Bench::new(settings());
    let branch = bench.open("s").await.unwrap().branch_id;
    let before = bench.session("s").await.session.main_tokens;
    let known = bench.engine.lose(&bench.who, &name(), &branch).await.unwrap();
    assert_eq!(reason(&known, &branch), Some(EndReason::OpeningLost));
    let view = bench.view(branch.as_str()).await;
    assert_eq!((view.branch.status.as_str(), bench.session("s").await.session.main_tokens), ("failed", before));
    assert!(bench.open("s").await.unwrap().notices.is_empty());
}

#[tokio::test]
async fn notes_restarts_and_folds_are_stored_of_a_session_that_is_new_and_of_one_that_is_over() {
    let bench = Bench::new(settings());
    let note = |text: &str| Note { after: "c1".to_owned(), text: text.to_owned() };
    let restart = Restart { root: None, from: None, place: Anchor::After { call: "c1".to_owned() } };
    bench.engine.store_note(&bench.who, &name(), note("first")).await.unwrap();
    bench.engine.store_restart(&bench.who, &name(), restart.clone()).await.unwrap();
    let end = EndSession { session: SessionRef::Id(name()), idempotency_key: None };
    bench.engine.end_session(&bench.who, end, &Default::default(), |_| {}).await.unwrap();
    bench.engine.store_note(&bench.who, &name(), note("second")).await.unwrap();
    bench.engine.store_edited(&bench.who, &name()).await.unwrap();
    let known = known(&bench).await;
    assert_eq!(known.decisions.notes, [note("first"), note("second")]);
    assert_eq!(known.decisions.restarts, [restart]);
    assert!(known.has_edited);
}

#[tokio::test]
async fn answers_are_stored_without_secrets_and_the_first_one_stays() {
    let bench = Bench::new(settings());
    let answers = |text: &str| vec![(BlockKey([8; 16]), text.to_owned())];
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let answered =
        bench.engine.store_answers(&bench.who, &name(), answers(&format!("it said {secret}"))).await.unwrap();
    let text = answered.decisions.answers[&BlockKey([8; 16])].clone();
    assert!(text.starts_with("it said ") && !text.contains(secret), "{text}");
    let again = bench.engine.store_answers(&bench.who, &name(), answers("something else")).await.unwrap();
    assert_eq!(again.decisions.answers[&BlockKey([8; 16])], text);
    assert_eq!(known(&bench).await.decisions.answers, again.decisions.answers);
}

#[tokio::test]
async fn facts_follow_what_other_doors_do() {
    let bench = Bench::new(settings());
    let mut held = known(&bench).await;
    assert!(held.is_new && !held.has_edited);
    let branch = bench.open("s").await.unwrap().branch_id;
    let refresh = async |held: &mut KnownSession| bench.engine.refresh(&bench.who, &name(), held).await.unwrap();
    refresh(&mut held).await;
    assert_eq!((reason(&held, &branch), held.is_new, held.has_edited), (None, false, true));

    bench.engine.record_result(&bench.who, result("s", "three files")).await.unwrap();
    refresh(&mut held).await;
    let partial = |held: &KnownSession| match &held.decisions.branches[&branch].state {
        BranchState::Open { partial } => partial.clone(),
        BranchState::Ended { result, .. } => result.clone(),
    };
    assert!(partial(&held).contains("three files"), "what it would give if it were cut short now");

    bench.pass(300_000);
    refresh(&mut held).await;
    assert_eq!(reason(&held, &branch), Some(EndReason::TimedOut));
    bench.engine.fold_branch(&bench.who, fold(branch.as_str(), "after all")).await.unwrap();
    refresh(&mut held).await;
    assert_eq!(partial(&held), "after all");
}

#[tokio::test]
async fn a_conversation_without_ids_is_found_again_after_a_restart_once_something_is_stored_of_it() {
    let bench = Bench::new(settings());
    let chain =
        async |engine: &Engine, digests: &[[u8; 32]]| engine.conversation_by_prefix(&bench.who, digests).await.unwrap();
    bench.engine.store_conversation(&bench.who, [1; 32], &name()).await.unwrap();
    assert_eq!(chain(&bench.engine, &[[1; 32], [2; 32]]).await, Some(name()));
    assert_eq!(chain(&bench.another(settings()), &[[1; 32], [2; 32]]).await, None);

    bench.open("s").await.unwrap();
    bench.engine.store_conversation(&bench.who, [2; 32], &name()).await.unwrap();
    assert_eq!(chain(&bench.another(settings()), &[[1; 32], [2; 32], [3; 32]]).await, Some(name()));
    let other = Principal { owner: infold_core::Owner::from_subject("mallory"), ..Principal::local() };
    assert_eq!(bench.engine.conversation_by_prefix(&other, &[[1; 32]]).await.unwrap(), None);
}

#[tokio::test]
async fn a_branch_that_began_as_its_parents_reads_what_its_parent_may_read() {
    let bench = Bench::new(settings());
    let long: String = (1..=2000).map(|number| format!("line {number} of the log\n")).collect();
    let in_main = bench.engine.record_result(&bench.who, result("s", &long)).await.unwrap().ref_id.unwrap();
    let opening = |isolation| OpenBranch { isolation, parent: Some("main".to_owned()), ..open("s") };
    for (isolation, may) in [(None, false), (Some(Isolation::Inherit), true)] {
        let opened = bench.engine.open_branch(&bench.who, opening(isolation)).await.unwrap();
        assert_eq!(opened.isolation, isolation.unwrap_or_default());
        let request = ReadResult {
            ref_id: in_main.to_string(),
            thread: Some(opened.branch_id.to_string()),
            portion: Portion::Bytes { offset: 0 },
            limit_bytes: 100,
        };
        assert_eq!(bench.engine.read_result(&bench.who, &request).await.is_ok(), may);
    }
}
