//! What is forgotten leaves no byte behind, and takes with it what was derived from it alone.

use infold_core::memory::BeliefMove;

use super::learning::{ended, evidence, giving, keep, lessons};
use super::*;
use crate::tests::{append_of, branch_id, fold_command, fresh, key, open_command};
use crate::{Append, Sweep};

/// A word for each field, none of which is in any other text.
const CANARIES: [&str; 9] = [
    "canarytitle",
    "canarylesson",
    "canaryfile",
    "canarycommand",
    "canarybranch",
    "canarylabel",
    "canarymark",
    "canaryedit",
    "canaryvector",
];

fn canary() -> KeptMemory {
    let mut kept = kept(1, "canarytitle", "canarylesson");
    kept.memory.lesson.files = vec![LessonFile { path: scrubbed("canaryfile.rs"), used: FileUse::Edited }];
    kept.memory.lesson.commands = vec![scrubbed("canarycommand --now")];
    kept.memory.git_branch = Some(scrubbed("canarybranch"));
    kept.memory.origin.label = Some(scrubbed("import:canarylabel"));
    kept.words.edited = "canaryfile".to_owned();
    kept.words.commands = "canarycommand".to_owned();
    kept.words.git = "canarybranch".to_owned();
    kept.vector = Some(MemoryVector { model: "m".to_owned(), bytes: b"canaryvector".to_vec() });
    kept.marks = vec![StoredMark { file: scrubbed("canarymark"), lines: vec![1], is_changed: false, at_ms: 1 }];
    kept
}

fn left(folder: &TempDir) -> Vec<&'static str> {
    let mut bytes = Vec::new();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        bytes.extend(std::fs::read(file.unwrap().path()).unwrap());
    }
    let is_there = |word: &str| bytes.windows(word.len()).any(|window| window == word.as_bytes());
    CANARIES.into_iter().filter(|word| is_there(word)).collect()
}

async fn edit(store: &Store) {
    let edit = |memory: &Memory| {
        let mut memory = memory.clone();
        memory.lesson.lesson = scrubbed("canaryedit");
        let words = FieldWords { lesson: "canaryedit".to_owned(), ..FieldWords::default() };
        (Some(MemoryUpdate { memory, words: Some((words, None)), moved: None }), ())
    };
    store.change_memory(Owner::local(), memory_id(1), "edited", 6, edit).await.unwrap().unwrap();
    store.undo_memory_change(Owner::local(), None, 7).await.unwrap();
}

/// So many others that the index has several pages and words before and after the ones that go.
fn others() -> Vec<KeptMemory> {
    let word = |number: u8, place: u16| format!("w{}x{place}", u32::from(number) * 7919 % 1000);
    (2..=200)
        .map(|number| {
            let text: Vec<String> = (0..60).map(|place| word(number, place)).collect();
            kept(number, &format!("other{number}"), &text.join(" "))
        })
        .collect()
}

#[tokio::test]
async fn no_byte_of_a_forgotten_memory_is_left_in_the_files() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    add(&store, others()).await;
    add(&store, vec![canary()]).await;
    edit(&store).await;
    assert_eq!(left(&folder), CANARIES);

    let forgotten = store.forget_memories(Owner::local(), ForgetSource::Memories(vec![memory_id(1)]), 9).await.unwrap();
    assert_eq!(forgotten.memories, [(memory_id(1), scrubbed("canarytitle"))]);
    assert_eq!(left(&folder), [""; 0]);
    assert_eq!(store.memories(all()).await.unwrap().len(), 199);
    store.check_memory_words().await.unwrap();
    assert_eq!(found(&store, search(&["other7"])).await, [memory_id(7)]);
    let undone = store.undo_memory_change(Owner::local(), Some(2), 10).await.unwrap();
    assert_eq!(undone, UndoAnswer::NotFound, "forgetting is final");
}

#[tokio::test]
async fn most_of_the_index_can_be_forgotten_without_a_trace() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let mut memories = others();
    for (number, kept) in memories.iter_mut().enumerate().filter(|(number, _)| number % 3 > 0) {
        kept.memory.origin.label = Some(scrubbed("import:canarylabel"));
        kept.words.title = format!("canarytitle{number} {number}canarylesson");
    }
    for chunk in memories.chunks(10) {
        add(&store, chunk.to_vec()).await;
    }
    let source = ForgetSource::Label("import:canarylabel".to_owned());
    let preview = store.preview_forgetting(Owner::local(), source.clone()).await.unwrap();
    assert_eq!(preview.memories.len(), 132);
    assert_eq!(store.forget_memories(Owner::local(), source, 9).await.unwrap(), preview);
    assert_eq!(left(&folder), [""; 0]);
}

#[tokio::test]
async fn what_was_derived_from_it_alone_goes_too_and_others_lose_that_evidence() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    add(&store, vec![kept(1, "first", ""), kept(3, "other", "")]).await;
    let derived = |kind| NewEvidence { from_memory: Some(memory_id(1)), ..evidence(kind) };
    let by = BeliefMove::LearntAgain;
    let writes = vec![
        LearnWrite::Keep { kept: Box::new(kept(2, "derived", "")), evidence: derived(EvidenceKind::Made) },
        LearnWrite::Move {
            owner: Owner::local(),
            memory: memory_id(3),
            by,
            evidence: derived(EvidenceKind::Moved(by)),
        },
    ];
    store.learn(LearnStep { from: 0, to: 1, writes, memories_max: 9, at_ms: 5 }).await.unwrap();
    assert_eq!(one(&store, 3).await.memory.belief.for_it, 5.0);

    let forgotten = store.forget_memories(Owner::local(), ForgetSource::Memories(vec![memory_id(1)]), 9).await.unwrap();
    assert_eq!(forgotten.memories.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), [memory_id(1), memory_id(2)]);
    assert_eq!(forgotten.weakened, 1);
    assert_eq!(one(&store, 3).await.memory.belief.for_it, 4.0);
    assert_eq!(store.memories(all()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_session_goes_with_its_words_in_others_and_with_what_waits() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    ended(&store).await;
    let mut of_session = kept(1, "canarytitle", "");
    of_session.memory.origin.session = Some(key("s").id);
    let from_session = |kind| NewEvidence { session: Some(key("s").id), ..evidence(kind) };
    let again = EvidenceKind::Moved(BeliefMove::LearntAgain);
    add(&store, vec![kept(2, "reworded", ""), kept(3, "confirmed", "")]).await;
    let writes = vec![
        LearnWrite::Keep { kept: Box::new(of_session), evidence: from_session(EvidenceKind::Made) },
        LearnWrite::Keep {
            kept: Box::new(kept(2, "canarylesson", "")),
            evidence: from_session(EvidenceKind::Reworded),
        },
        LearnWrite::Keep { kept: Box::new(kept(3, "confirmed", "")), evidence: from_session(again) },
    ];
    store.learn(LearnStep { from: 0, to: 1, writes, memories_max: 9, at_ms: 5 }).await.unwrap();

    let forgotten = store.forget_memories(Owner::local(), ForgetSource::Session(key("s").id), 9).await.unwrap();
    assert_eq!(forgotten.memories.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), [memory_id(1), memory_id(2)]);
    assert_eq!((forgotten.weakened, forgotten.pending), (1, 1));
    assert_eq!(left(&folder), [""; 0]);
    let held = HeldText { session: key("s").id, branch: None, active_at_ms: 20, lapse: TextLapse::WithLiveSessions };
    assert_eq!(forgotten.held, [held], "its own log is not changed, and that is said");
}

#[tokio::test]
async fn openings_that_quote_it_are_named_until_their_session_lapses() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    add(&store, vec![kept(9, "given", "")]).await;
    ended(&store).await;
    let source = ForgetSource::Memories(vec![memory_id(9)]);
    let preview = store.preview_forgetting(Owner::local(), source.clone()).await.unwrap();
    assert_eq!(preview.held[0].branch, Some(branch_id(1)));
    store.learn(LearnStep { from: 0, to: 4, writes: Vec::new(), memories_max: 9, at_ms: 5 }).await.unwrap();
    store.sweep(Sweep { active_before_ms: 1000, ended_before_ms: 0, sessions_max: 10 }).await.unwrap();
    assert_eq!(store.forget_memories(Owner::local(), source, 9).await.unwrap().held, []);
    let given = store.shown_to_branch(Owner::local(), branch_id(1)).await.unwrap().unwrap();
    assert_eq!(given.memories[0].id, memory_id(9), "which it was stays known");
}

#[tokio::test]
async fn archived_branches_of_a_forgotten_session_go() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    ended(&store).await;
    store.learn(LearnStep { from: 0, to: 4, writes: Vec::new(), memories_max: 9, at_ms: 5 }).await.unwrap();
    store.sweep(Sweep { active_before_ms: 1000, ended_before_ms: 0, sessions_max: 10 }).await.unwrap();
    assert!(store.trajectory(Owner::local(), branch_id(1), None).await.unwrap().is_some());
    let forgotten = store.forget_memories(Owner::local(), ForgetSource::Branch(branch_id(1)), 9).await.unwrap();
    assert_eq!(forgotten.archived, 1);
    assert!(store.trajectory(Owner::local(), branch_id(1), None).await.unwrap().is_none());
}

#[tokio::test]
async fn an_archived_opening_has_no_text_of_memories() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let open = giving(append_of(&fresh("s"), &open_command(1), 10), "canarylesson");
    let session = open.decision.after.clone();
    store.append(open).await.unwrap();
    store.append(append_of(&session, &fold_command(1, "done"), 20)).await.unwrap();
    store.learn(LearnStep { from: 0, to: 4, writes: Vec::new(), memories_max: 9, at_ms: 5 }).await.unwrap();
    store.sweep(Sweep { active_before_ms: 1000, ended_before_ms: 0, sessions_max: 10 }).await.unwrap();
    let archived = store.trajectory(Owner::local(), branch_id(1), None).await.unwrap().unwrap();
    let said = format!("{archived:?}");
    assert!(!said.contains("canarylesson") && said.contains(memory_id(9).as_str()), "{said}");
}

#[tokio::test]
async fn the_same_words_are_not_learnt_again_but_a_person_may_write_them() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    add(&store, vec![kept(1, "word", "text")]).await;
    store.forget_memories(Owner::local(), ForgetSource::Memories(vec![memory_id(1)]), 9).await.unwrap();
    let step = |from, kept| LearnStep { from, to: from + 1, writes: vec![keep(kept)], memories_max: 9, at_ms: 5 };
    let again = store.learn(step(0, kept(2, "word", "text"))).await.unwrap();
    assert_eq!(again, LearnAnswer::Learnt { made: 0, left_out: 1, evicted: 0 });
    let mut by_hand = kept(3, "word", "text");
    by_hand.memory.origin.source = LessonSource::Hand;
    let again = store.learn(step(1, by_hand)).await.unwrap();
    assert_eq!(again, LearnAnswer::Learnt { made: 1, left_out: 0, evicted: 0 });
}

#[tokio::test]
async fn lessons_of_a_branch_that_wait_go_with_it() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let open = append_of(&fresh("s"), &open_command(1), 10);
    let session = open.decision.after.clone();
    store.append(open).await.unwrap();
    let fold = Append { lessons: Some(lessons("canarytitle")), ..append_of(&session, &fold_command(1, "done"), 20) };
    store.append(fold).await.unwrap();
    store.note_learning_failure(4, "canarylesson does not read back".to_owned()).await.unwrap();
    assert_eq!(left(&folder), ["canarytitle", "canarylesson"]);
    let forgotten = store.forget_memories(Owner::local(), ForgetSource::Branch(branch_id(1)), 9).await.unwrap();
    assert_eq!((forgotten.pending, left(&folder)), (1, Vec::new()));
}
