//! Memories on a real database.

mod asks;
mod forgetting;
mod learning;
mod walls;

use infold_core::memory::{
    Belief, FileUse, Lesson, LessonFile, LessonSource, Memory, MemoryId, MemoryKind, MemoryOrigin, MemoryScope,
    MemoryState, ProjectKey, Trust,
};
use infold_core::{BranchId, Owner, SessionId};
use tempfile::TempDir;

use super::*;
use crate::tests::{open_store, scrubbed};
use crate::{Store, StoreError};

pub(super) fn memory_id(number: u8) -> MemoryId {
    MemoryId::mint([number / 32, number, 0, 0, 0, 0, 0, 0, 0, 0])
}

pub(super) fn project(name: &str) -> ProjectKey {
    ProjectKey::of_path(name)
}

/// A memory of a project `p` whose words are those of its title and lesson.
pub(super) fn kept(number: u8, title: &str, lesson: &str) -> KeptMemory {
    KeptMemory {
        memory: Memory {
            id: memory_id(number),
            scope: MemoryScope::Project(project("p")),
            git_branch: None,
            lesson: Lesson {
                title: scrubbed(title),
                lesson: scrubbed(lesson),
                kind: MemoryKind::Works,
                files: Vec::new(),
                commands: Vec::new(),
            },
            origin: MemoryOrigin {
                owner: Owner::local(),
                source: LessonSource::Model,
                session: None,
                branch: None,
                label: None,
            },
            trust: Trust::Own,
            belief: Belief { for_it: 4.0, against: 1.0 },
            suspicion: 0.0,
            state: MemoryState::Live,
            replaces: None,
            made_at_ms: u64::from(number),
            evidence_at_ms: u64::from(number),
        },
        ordinal: None,
        words: FieldWords { title: title.to_lowercase(), lesson: lesson.to_lowercase(), ..FieldWords::default() },
        vector: None,
        marks: Vec::new(),
    }
}

/// Names that every path ends in.
pub(super) fn every_name() -> Vec<String> {
    vec![String::new()]
}

pub(super) async fn add(store: &Store, memories: Vec<KeptMemory>) -> AddedMemories {
    let owner = memories[0].memory.origin.owner.clone();
    store.add_memories(NewMemories { owner, what: "added", memories, memories_max: 1000, at_ms: 5 }).await.unwrap()
}

pub(super) fn search(words: &[&str]) -> MemorySearch {
    MemorySearch {
        owner: Owner::local(),
        projects: vec![project("p")],
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        words_max: 32,
        limit: 200,
        reach: SearchReach::Shown,
        model: "m".to_owned(),
    }
}

pub(super) async fn found(store: &Store, search: MemorySearch) -> Vec<MemoryId> {
    let mut ids: Vec<MemoryId> =
        store.find_memories(search).await.unwrap().candidates.into_iter().map(|found| found.memory.id).collect();
    ids.sort();
    ids
}

pub(super) fn all() -> MemoryFilter {
    MemoryFilter {
        owner: Owner::local(),
        project: None,
        kind: None,
        state: StateFilter::All,
        session: None,
        branch: None,
        offset: 0,
        limit: 1000,
    }
}

pub(super) async fn one(store: &Store, number: u8) -> MemoryRow {
    store.memory(Owner::local(), memory_id(number)).await.unwrap().unwrap().row
}

fn filled() -> KeptMemory {
    let mut kept = kept(7, "rebuild fixtures", "run just fixtures first");
    kept.memory.git_branch = Some(scrubbed("feature/x"));
    kept.memory.lesson.files = vec![LessonFile { path: scrubbed("src/a.rs"), used: FileUse::Edited }];
    kept.memory.lesson.commands = vec![scrubbed("just fixtures")];
    kept.memory.origin.session = Some(SessionId::parse("s").unwrap());
    kept.memory.origin.branch = Some((crate::tests::branch_id(1), 2));
    kept.memory.origin.label = Some(scrubbed("tool:WebFetch"));
    kept.memory.trust = Trust::Outside;
    kept.memory.suspicion = 0.25;
    kept.memory.state = MemoryState::Waiting;
    kept.ordinal = Some(1);
    kept.vector = Some(MemoryVector { model: "m".to_owned(), bytes: vec![1, 2, 3] });
    kept.marks = vec![StoredMark { file: scrubbed("src/a.rs"), lines: vec![9; 16], is_changed: false, at_ms: 3 }];
    kept
}

#[tokio::test]
async fn a_memory_reads_back_with_all_that_was_stored_beside_it() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let kept = filled();
    add(&store, vec![kept.clone()]).await;

    let detail = open_store(&folder).memory(Owner::local(), memory_id(7)).await.unwrap().unwrap();
    assert_eq!(detail.row.memory, kept.memory);
    assert_eq!(detail.marks, kept.marks);
    assert_eq!(detail.evidence.iter().map(|row| row.what.as_str()).collect::<Vec<_>>(), ["made"]);
    let search = MemorySearch { reach: SearchReach::All, ..search(&["fixtures"]) };
    let candidate = store.find_memories(search).await.unwrap().candidates.remove(0);
    assert_eq!((candidate.words, candidate.vector), (kept.words, kept.vector));
}

#[tokio::test]
async fn the_rarest_words_are_searched_and_all_are_counted() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    add(&store, vec![kept(1, "common rare", ""), kept(2, "common", ""), kept(3, "common other", "")]).await;

    let answer =
        store.find_memories(MemorySearch { words_max: 1, ..search(&["common", "rare", "missing"]) }).await.unwrap();
    assert_eq!(answer.candidates.iter().map(|found| found.memory.id.clone()).collect::<Vec<_>>(), [memory_id(1)]);
    assert_eq!(answer.frequencies, [("common".to_owned(), 3), ("rare".to_owned(), 1)].into());
    assert_eq!(answer.memories, 3);
    assert_eq!(found(&store, search(&["common"])).await.len(), 3);
    assert_eq!(found(&store, search(&["\" OR x", "*", "(", ""])).await, []);
}

#[tokio::test]
async fn only_what_is_live_is_found_for_a_branch_and_people_find_all() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let mut waiting = kept(2, "word", "");
    waiting.memory.state = MemoryState::Waiting;
    add(&store, vec![kept(1, "word", ""), waiting]).await;

    let answer = store.find_memories(search(&["word"])).await.unwrap();
    assert_eq!((answer.candidates.len(), answer.frequencies["word"], answer.memories), (1, 1, 1));
    assert_eq!(found(&store, MemorySearch { reach: SearchReach::All, ..search(&["word"]) }).await.len(), 2);

    let accept = |memory: &Memory| {
        let memory = Memory { state: MemoryState::Live, ..memory.clone() };
        (Some(MemoryUpdate { memory, words: None, moved: None }), ())
    };
    store.change_memory(Owner::local(), memory_id(2), "accepted", 6, accept).await.unwrap().unwrap();
    assert_eq!(found(&store, search(&["word"])).await.len(), 2);
}

#[tokio::test]
async fn a_project_finds_its_own_and_what_counts_everywhere() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let (mut everywhere, mut elsewhere) = (kept(2, "word", ""), kept(3, "word", ""));
    everywhere.memory.scope = MemoryScope::Everywhere;
    elsewhere.memory.scope = MemoryScope::Project(project("q"));
    add(&store, vec![kept(1, "word", ""), everywhere, elsewhere]).await;
    assert_eq!(found(&store, search(&["word"])).await, [memory_id(1), memory_id(2)]);
    let nowhere = MemorySearch { projects: Vec::new(), ..search(&["word"]) };
    assert_eq!(found(&store, nowhere).await, [memory_id(2)]);
}

#[tokio::test]
async fn joined_projects_share_their_memories_until_that_is_undone() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let mut elsewhere = kept(2, "word", "");
    elsewhere.memory.scope = MemoryScope::Project(project("q"));
    add(&store, vec![kept(1, "word", ""), elsewhere]).await;
    assert_eq!(store.join_projects(Owner::local(), project("q"), project("p"), 9).await.unwrap(), 1);

    let both = [memory_id(1), memory_id(2)];
    let in_q = MemorySearch { projects: vec![project("q")], ..search(&["word"]) };
    assert_eq!(found(&store, search(&["word"])).await, both);
    assert_eq!(found(&store, in_q.clone()).await, both);
    let projects = store.memory_projects(Owner::local()).await.unwrap();
    assert_eq!(projects.iter().map(|row| (row.project.clone(), row.live)).collect::<Vec<_>>(), [(project("p"), 2)]);
    assert_eq!(projects[0].aliases, [project("q")]);

    store.undo_memory_change(Owner::local(), None, 10).await.unwrap();
    assert_eq!(found(&store, in_q).await, [memory_id(2)]);
    assert_eq!(found(&store, search(&["word"])).await, [memory_id(1)]);
}

#[tokio::test]
async fn what_a_project_is_called_is_noted_once_and_is_no_change_to_undo() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    for label in ["/home/me/p", "/home/me/other"] {
        let named = NamedProject {
            project: project("p"),
            label: scrubbed(label),
            git_folder: None,
            remote: None,
            clones: Clones::Apart,
        };
        store.name_project(Owner::local(), named, 5).await.unwrap();
    }
    assert_eq!(store.memory_changes(Owner::local(), 10).await.unwrap().len(), 0);
    let rows = store.memory_projects(Owner::local()).await.unwrap();
    assert_eq!(rows[0].label, Some(scrubbed("/home/me/p")));
}

#[tokio::test]
async fn every_change_is_undone_to_what_was_before() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    add(&store, vec![kept(1, "old words", "text")]).await;
    let edit = |memory: &Memory| {
        let mut memory = memory.clone();
        memory.lesson.title = scrubbed("new title");
        let words = FieldWords { title: "new title".to_owned(), ..FieldWords::default() };
        (Some(MemoryUpdate { memory, words: Some((words, None)), moved: None }), ())
    };
    store.change_memory(Owner::local(), memory_id(1), "edited", 6, edit).await.unwrap().unwrap();
    assert_eq!(found(&store, search(&["title"])).await, [memory_id(1)]);

    let undone = store.undo_memory_change(Owner::local(), None, 7).await.unwrap();
    let expected = UndoAnswer::Undone { number: 2, what: "edited".to_owned(), memories: vec![memory_id(1)] };
    assert_eq!(undone, expected);
    assert_eq!(one(&store, 1).await.memory, kept(1, "old words", "text").memory);
    assert_eq!(found(&store, search(&["old"])).await, [memory_id(1)]);
    assert_eq!(store.undo_memory_change(Owner::local(), Some(2), 7).await.unwrap(), UndoAnswer::Already);
    assert_eq!(store.undo_memory_change(Owner::local(), Some(99), 7).await.unwrap(), UndoAnswer::NotFound);

    store.undo_memory_change(Owner::local(), Some(3), 8).await.unwrap();
    assert_eq!(one(&store, 1).await.memory.lesson.title.as_str(), "new title", "an undoing is undone");
    store.undo_memory_change(Owner::local(), None, 9).await.unwrap();
    assert_eq!(one(&store, 1).await.memory.state, MemoryState::Rejected, "an addition is undone");
    assert_eq!(found(&store, search(&["title", "old"])).await, []);
    assert_eq!(store.undo_memory_change(Owner::local(), None, 9).await.unwrap(), UndoAnswer::NotFound);
}

#[tokio::test]
async fn one_that_replaces_another_puts_it_out_of_use_and_undoing_brings_it_back() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    add(&store, vec![kept(1, "word", "")]).await;
    let mut newer = kept(2, "word", "");
    newer.memory.replaces = Some(memory_id(1));
    add(&store, vec![newer]).await;
    assert_eq!(one(&store, 1).await.memory.state, MemoryState::Replaced(memory_id(2)));
    assert_eq!(found(&store, search(&["word"])).await, [memory_id(2)]);
    store.undo_memory_change(Owner::local(), None, 9).await.unwrap();
    assert_eq!(found(&store, search(&["word"])).await, [memory_id(1)]);

    let mut dangling = kept(3, "word", "");
    dangling.memory.replaces = Some(memory_id(99));
    let new = NewMemories { owner: Owner::local(), what: "added", memories: vec![dangling], memories_max: 9, at_ms: 5 };
    assert_eq!(store.add_memories(new).await, Err(StoreError::UnknownMemory(memory_id(99))));
    assert_eq!(store.memories(all()).await.unwrap().len(), 2, "nothing is half done");
}

#[tokio::test]
async fn at_the_limit_the_least_believed_of_those_that_nobody_wrote_goes() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let mut memories = vec![kept(1, "a", ""), kept(2, "b", ""), kept(3, "c", "")];
    memories[0].memory.origin.source = LessonSource::Mechanical;
    memories[1].memory.origin.source = LessonSource::Mechanical;
    memories[1].memory.belief.against = 3.0;
    memories[2].memory.belief.against = 9.0;
    add(&store, memories).await;
    let more = |number, count| NewMemories {
        owner: Owner::local(),
        what: "added",
        memories: (number..number + count).map(|number| kept(number, "d", "")).collect(),
        memories_max: 3,
        at_ms: 5,
    };
    assert_eq!(store.add_memories(more(4, 1)).await.unwrap().evicted, 1);
    let left = |rows: Vec<MemoryRow>| rows.into_iter().map(|row| row.memory.id).collect::<Vec<_>>();
    assert_eq!(left(store.memories(all()).await.unwrap()), [memory_id(1), memory_id(3), memory_id(4)]);
    assert_eq!(store.add_memories(more(5, 2)).await, Err(StoreError::MemoriesFull { memories_max: 3 }));
    assert_eq!(left(store.memories(all()).await.unwrap()), [memory_id(1), memory_id(3), memory_id(4)]);
}

#[tokio::test]
async fn a_missing_or_damaged_index_is_said_and_made_anew() {
    let harms = [
        "DROP TABLE memory_words",
        "DROP TABLE memory_words_data",
        "DROP TABLE memory_words_config",
        "DROP TABLE memory_words_content",
        "DELETE FROM memory_words_data",
        "UPDATE memory_words_data SET block = x'00ff00ff00ff'",
    ];
    for harm in harms {
        let folder = TempDir::new().unwrap();
        let store = open_store(&folder);
        add(&store, (1..=20).map(|number| kept(number, "word", "text")).collect()).await;
        drop(store);
        rusqlite::Connection::open(folder.path().join("infold.db")).unwrap().execute_batch(harm).unwrap();

        let store = open_store(&folder);
        let lost = store.find_memories(search(&["word"])).await;
        assert!(matches!(lost, Err(StoreError::NoMemoryIndex { .. })), "{harm}: {lost:?}");
        let words =
            |memory: &Memory| FieldWords { title: memory.lesson.title.as_str().to_owned(), ..FieldWords::default() };
        assert_eq!(store.rebuild_memory_words(words).await.unwrap(), 20, "{harm}");
        store.check_memory_words().await.unwrap();
        assert_eq!(found(&store, search(&["word"])).await.len(), 20, "{harm}");
    }
}

#[tokio::test]
async fn what_was_seen_of_marked_files_is_noted() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    add(&store, vec![filled()]).await;
    let note = |is_changed| {
        let note = MarkNote { memory: memory_id(7), file: scrubbed("src/a.rs"), is_changed, at_ms: 9 };
        store.note_memory_marks(Owner::local(), vec![note])
    };
    assert!(!one(&store, 7).await.is_changed);
    note(true).await.unwrap();
    assert!(one(&store, 7).await.is_changed);
    let marks = store.memory_marks(Owner::local(), project("p"), every_name()).await.unwrap();
    assert_eq!(marks.len(), 1);
    assert_eq!(store.memory_marks(Owner::local(), project("q"), every_name()).await.unwrap(), []);
    note(false).await.unwrap();
    assert!(!one(&store, 7).await.is_changed);
}

#[tokio::test]
async fn lists_are_filtered_and_in_the_order_of_making() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let mut fails = kept(2, "b", "");
    fails.memory.lesson.kind = MemoryKind::Fails;
    fails.memory.origin.branch = Some((crate::tests::branch_id(1), 1));
    let mut waiting = kept(1, "c", "");
    waiting.memory.state = MemoryState::Waiting;
    add(&store, vec![kept(3, "a", ""), fails, waiting]).await;
    let ids = async |query: MemoryFilter| -> Vec<MemoryId> {
        store.memories(query).await.unwrap().into_iter().map(|row| row.memory.id).collect()
    };
    assert_eq!(ids(all()).await, [memory_id(1), memory_id(2), memory_id(3)]);
    assert_eq!(ids(MemoryFilter { offset: 1, limit: 1, ..all() }).await, [memory_id(2)]);
    assert_eq!(ids(MemoryFilter { kind: Some(MemoryKind::Fails), ..all() }).await, [memory_id(2)]);
    assert_eq!(ids(MemoryFilter { state: StateFilter::Waiting, ..all() }).await, [memory_id(1)]);
    assert_eq!(ids(MemoryFilter { state: StateFilter::Live, ..all() }).await, [memory_id(2), memory_id(3)]);
    let of_branch: Option<BranchId> = Some(crate::tests::branch_id(1));
    assert_eq!(ids(MemoryFilter { branch: of_branch, ..all() }).await, [memory_id(2)]);
    assert_eq!(ids(MemoryFilter { project: Some(project("q")), ..all() }).await, []);
    let counts = store.memory_counts(Owner::local(), 0).await.unwrap();
    assert_eq!((counts.live, counts.waiting), (2, 1));
}
