//! Each end is learnt from once, with all that it leads to.

use infold_core::memory::{BeliefMove, InjectedContext, Lesson};
use infold_core::{Command, Event, Session};

use super::*;
use crate::tests::{append_of, branch_id, fold_command, fresh, loaded, open_command};
use crate::{Append, EndedBranches, Sweep, Swept};

pub(in crate::memory) fn lessons(title: &str) -> NewLessons {
    let lesson: Lesson = kept(1, title, "text").memory.lesson;
    NewLessons { lessons: vec![lesson], used: vec![memory_id(9)], extraction: Extraction::Wished }
}

pub(in crate::memory) fn evidence(kind: EvidenceKind) -> NewEvidence {
    NewEvidence { kind, session: None, branch: None, from_memory: None, at_ms: 50 }
}

pub(in crate::memory) fn keep(kept: KeptMemory) -> LearnWrite {
    LearnWrite::Keep { kept: Box::new(kept), evidence: evidence(EvidenceKind::Made) }
}

async fn run(store: &Store, session: &Session, command: &Command, at_ms: u64) -> Session {
    run_with(store, append_of(session, command, at_ms)).await
}

async fn run_with(store: &Store, append: Append) -> Session {
    let after = append.decision.after.clone();
    store.append(append).await.unwrap();
    after
}

/// An append whose opening was given the ninth memory, with this text.
pub(in crate::memory) fn giving(append: Append, text: &str) -> Append {
    let mut decision = (*append.decision).clone();
    for event in &mut decision.events {
        if let Event::BranchOpened(opening) = event {
            let injected = InjectedContext { text: scrubbed(text), tokens: 1, memories: vec![memory_id(9)] };
            opening.injected = Some(injected);
        }
    }
    Append { decision: std::sync::Arc::new(decision), ..append }
}

/// A session whose first branch was opened in a project, given a memory, and has returned with a lesson.
pub(in crate::memory) async fn ended(store: &Store) -> Session {
    let found = |number| ShownMemory { id: memory_id(number), rank: 1, parts: serde_json::json!({ "words": 0.5 }) };
    let shown = NewShown {
        project: Some(project("p")),
        git_branch: Some(scrubbed("main")),
        memories: vec![found(9), found(8)],
    };
    let open = Append { shown: Some(shown), ..append_of(&fresh("s"), &open_command(1), 10) };
    let session = run_with(store, giving(open, "given")).await;
    let fold = Append { lessons: Some(lessons("first")), ..append_of(&session, &fold_command(1, "done"), 20) };
    run_with(store, fold).await
}

fn step(batch: &OutboxBatch, writes: Vec<LearnWrite>) -> LearnStep {
    LearnStep { from: batch.from, to: batch.to, writes, memories_max: 100, at_ms: 50 }
}

#[tokio::test]
async fn an_end_waits_with_what_its_branch_said_and_was_given() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    ended(&store).await;
    let batch = store.outbox(32).await.unwrap();
    assert_eq!((batch.from, batch.to, batch.ends.len()), (0, 4, 1));
    let end = &batch.ends[0];
    assert_eq!(end.said, Some(lessons("first")));
    assert_eq!((end.project.clone(), end.shown.clone()), (Some(project("p")), vec![memory_id(9)]));
    assert_eq!(end.git_branch, Some(scrubbed("main")));
    assert_eq!(end.branch.as_ref().unwrap().id, branch_id(1));
    assert!(matches!(end.happened, Event::BranchEnded { generation: 1, .. }));
    assert_eq!((end.session.id.as_str(), end.at_ms, end.is_silenced), ("s", 20, false));
}

#[tokio::test]
async fn of_two_processes_that_learn_the_same_one_is_overtaken_and_writes_nothing() {
    let folder = TempDir::new().unwrap();
    let (one_process, other) = (open_store(&folder), open_store(&folder));
    ended(&one_process).await;
    let batch = one_process.outbox(32).await.unwrap();
    let first = one_process.learn(step(&batch, vec![keep(kept(1, "word", ""))])).await.unwrap();
    assert_eq!(first, LearnAnswer::Learnt { made: 1, left_out: 0, evicted: 0 });
    let second = other.learn(step(&batch, vec![keep(kept(2, "word", ""))])).await.unwrap();
    assert_eq!(second, LearnAnswer::Overtaken);
    assert_eq!(found(&other, search(&["word"])).await, [memory_id(1)]);
    let batch = other.outbox(32).await.unwrap();
    assert_eq!((batch.from, batch.to, batch.ends.len()), (4, 4, 0));
}

#[tokio::test]
async fn no_two_memories_are_of_the_same_lesson_of_an_end() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    ended(&store).await;
    let of_end = |number| {
        let mut kept = kept(number, "word", "");
        kept.memory.origin.branch = Some((branch_id(1), 1));
        kept.ordinal = Some(0);
        keep(kept)
    };
    let batch = store.outbox(32).await.unwrap();
    store.learn(step(&batch, vec![of_end(1), of_end(2)])).await.unwrap_err();
    assert_eq!(store.outbox(32).await.unwrap().ends.len(), 1, "it is not learnt yet");
    store.learn(step(&batch, vec![of_end(1), of_end(1)])).await.unwrap();
    assert_eq!(store.memories(all()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_was_shown_and_used_is_counted_once_and_moves_the_belief_once() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    add(&store, vec![kept(9, "given", "")]).await;
    ended(&store).await;
    let by = BeliefMove::HelpedBranch;
    let used = || LearnWrite::Move {
        owner: Owner::local(),
        memory: memory_id(9),
        by,
        evidence: NewEvidence { branch: Some((branch_id(1), 1)), ..evidence(EvidenceKind::Moved(by)) },
    };
    let batch = store.outbox(32).await.unwrap();
    store.learn(step(&batch, vec![used(), used()])).await.unwrap();
    let row = one(&store, 9).await;
    assert_eq!((row.shown, row.used, row.shown_at_ms), (1, 1, Some(10)));
    assert_eq!((row.memory.belief.for_it, row.memory.evidence_at_ms), (5.0, 50));
    let counts = store.memory_counts(Owner::local(), 5).await.unwrap();
    assert_eq!((counts.given, counts.used), (1, 1));
    let given = store.shown_to_branch(Owner::local(), branch_id(1)).await.unwrap().unwrap();
    assert_eq!(given.memories[0].parts["words"], 0.5);
    assert_eq!(store.memory(Owner::local(), memory_id(9)).await.unwrap().unwrap().shown_in, [given]);
}

#[tokio::test]
async fn new_words_leave_the_belief_as_it_is() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    ended(&store).await;
    let batch = store.outbox(32).await.unwrap();
    let mut longer = kept(1, "longer", "text");
    longer.memory.belief = Belief { for_it: 1.0, against: 9.0 };
    let again =
        LearnWrite::Keep { kept: Box::new(longer), evidence: evidence(EvidenceKind::Moved(BeliefMove::LearntAgain)) };
    store.learn(step(&batch, vec![keep(kept(1, "short", "")), again])).await.unwrap();
    let memory = one(&store, 1).await.memory;
    assert_eq!((memory.belief.for_it, memory.belief.against), (5.0, 1.0));
    assert_eq!(memory.lesson.title.as_str(), "longer");
    assert_eq!(found(&store, search(&["short"])).await, []);
}

#[tokio::test]
async fn a_late_result_comes_again_with_what_it_says_now() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let session = run(&store, &fresh("s"), &open_command(1), 10).await;
    let cut_short = Command::CutShort { branch: branch_id(1), reason: infold_core::EndReason::Interrupted };
    let session = run(&store, &session, &cut_short, 20).await;
    assert_eq!(store.outbox(32).await.unwrap().ends.len(), 0, "what was interrupted teaches nothing");
    let late = Append { lessons: Some(lessons("late")), ..append_of(&session, &fold_command(1, "after all"), 30) };
    run_with(&store, late).await;
    let batch = store.outbox(32).await.unwrap();
    assert_eq!(batch.ends[0].said, Some(lessons("late")));
    assert!(matches!(batch.ends[0].happened, Event::ResultAmended { .. }));
}

#[tokio::test]
async fn a_rollback_waits_to_be_unlearnt() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let session = ended(&store).await;
    run(&store, &session, &Command::RollBack { to: branch_id(1) }, 30).await;
    let batch = store.outbox(32).await.unwrap();
    assert!(matches!(&batch.ends[1].happened, Event::RolledBack { reopened, .. } if *reopened == [branch_id(1)]));
}

#[tokio::test]
async fn what_a_branch_said_is_deleted_once_it_is_learnt() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    ended(&store).await;
    let pending = || {
        let connection = rusqlite::Connection::open(store.path()).unwrap();
        connection.query_row("SELECT count(*) FROM memory_lessons", [], |row| row.get::<_, u64>(0)).unwrap()
    };
    assert_eq!(pending(), 1);
    let batch = store.outbox(32).await.unwrap();
    store.learn(step(&batch, Vec::new())).await.unwrap();
    assert_eq!(pending(), 0);
}

#[tokio::test]
async fn an_end_that_fails_three_times_is_passed_over() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    ended(&store).await;
    for is_over in [false, false, true] {
        assert_eq!(store.outbox(32).await.unwrap().ends.len(), 1);
        assert_eq!(store.note_learning_failure(4, "it does not read back".to_owned()).await.unwrap(), is_over);
    }
    let batch = store.outbox(32).await.unwrap();
    assert_eq!((batch.to, batch.ends.len()), (4, 0));
    assert_eq!(store.learning_failures().await.unwrap(), [(4, "it does not read back".to_owned())]);
    store.learn(step(&batch, Vec::new())).await.unwrap();
    assert_eq!(store.outbox(32).await.unwrap().to, 4);
}

#[tokio::test]
async fn a_silenced_session_says_nothing_about_lessons() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let scope = SilenceScope::Project(project("p"));
    store.silence_memories(Owner::local(), scope.clone(), 1).await.unwrap();
    ended(&store).await;
    let end = store.outbox(32).await.unwrap().ends.remove(0);
    assert_eq!((end.is_silenced, end.said), (true, None));
    assert_eq!(store.silenced_memories(Owner::local()).await.unwrap(), [scope.to_string()]);
    assert!(store.unsilence_memories(Owner::local(), scope.clone()).await.unwrap());
    assert!(!store.unsilence_memories(Owner::local(), scope).await.unwrap());
    assert!(!store.outbox(32).await.unwrap().ends.remove(0).is_silenced);
}

#[tokio::test]
async fn a_session_that_waits_to_be_learnt_from_does_not_lapse_before_the_archive_does() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    ended(&store).await;
    let sweep = Sweep { active_before_ms: 1000, ended_before_ms: 0, sessions_max: 10 };
    assert_eq!(store.sweep(sweep).await.unwrap(), Swept::default());
    let batch = store.outbox(32).await.unwrap();
    store.learn(step(&batch, Vec::new())).await.unwrap();
    assert_eq!(store.sweep(sweep).await.unwrap().sessions, 1);

    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    ended(&store).await;
    let late = Sweep { ended_before_ms: 1000, ..sweep };
    assert_eq!(store.sweep(late).await.unwrap().sessions, 1);
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    let left = "SELECT (SELECT count(*) FROM memory_lessons) + (SELECT count(*) FROM memory_shown)";
    assert_eq!(connection.query_row(left, [], |row| row.get::<_, u64>(0)).unwrap(), 0);
}

#[tokio::test]
async fn a_full_store_leaves_a_lesson_out_and_goes_on() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    ended(&store).await;
    let batch = store.outbox(32).await.unwrap();
    let writes = vec![keep(kept(1, "a", "")), keep(kept(2, "b", "")), keep(kept(1, "again", ""))];
    let answer = store.learn(LearnStep { memories_max: 1, ..step(&batch, writes) }).await.unwrap();
    assert_eq!(answer, LearnAnswer::Learnt { made: 1, left_out: 1, evicted: 0 });
    assert_eq!(one(&store, 1).await.memory.lesson.title.as_str(), "again");
    assert!(loaded(&store, "s", EndedBranches::Nothing).await.session.branches.is_empty());
}
