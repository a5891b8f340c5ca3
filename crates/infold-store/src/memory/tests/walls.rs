//! What is another owner's is not there, by every door, and nothing about it can be counted.

use infold_core::memory::BeliefMove;

use super::learning::{ended, evidence};
use super::*;
use crate::tests::{branch_id, key};

fn mallory() -> Owner {
    Owner::from_subject("mallory")
}

#[tokio::test]
async fn another_owners_memories_are_not_found_by_any_door() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    add(&store, vec![filled()]).await;
    ended(&store).await;
    let id = memory_id(7);

    assert!(store.memory(mallory(), id.clone()).await.unwrap().is_none());
    assert!(store.memories(MemoryFilter { owner: mallory(), ..all() }).await.unwrap().is_empty());
    assert!(store.shown_to_branch(mallory(), branch_id(1)).await.unwrap().is_none());
    assert_eq!(store.memory_counts(mallory(), 0).await.unwrap(), MemoryCounts::default());
    assert_eq!(store.memory_changes(mallory(), 10).await.unwrap(), []);
    assert_eq!(store.undo_memory_change(mallory(), Some(1), 9).await.unwrap(), UndoAnswer::NotFound);
    assert_eq!(store.undo_memory_change(mallory(), None, 9).await.unwrap(), UndoAnswer::NotFound);
    assert_eq!(store.memory_projects(mallory()).await.unwrap(), []);
    assert_eq!(store.memory_marks(mallory(), project("p"), every_name()).await.unwrap(), []);
    let steal = |memory: &Memory| {
        let update = MemoryUpdate { memory: memory.clone(), words: None, moved: None };
        (Some(update), ())
    };
    assert_eq!(store.change_memory(mallory(), id.clone(), "edited", 9, steal).await.unwrap(), None);

    let missing = ForgetSource::Memories(vec![memory_id(99)]);
    let theirs = ForgetSource::Memories(vec![id.clone()]);
    let message = |error: StoreError, id: MemoryId| error.to_string().replace(id.as_str(), "ID");
    let other = store.forget_memories(mallory(), theirs.clone(), 9).await.unwrap_err();
    let absent = store.forget_memories(mallory(), missing, 9).await.unwrap_err();
    assert_eq!(message(other, id.clone()), message(absent, memory_id(99)));
    store.preview_forgetting(mallory(), theirs).await.unwrap_err();
    for source in [
        ForgetSource::Session(key("s").id),
        ForgetSource::Branch(branch_id(1)),
        ForgetSource::Label("tool:WebFetch".to_owned()),
        ForgetSource::Project(project("p")),
        ForgetSource::Hand,
    ] {
        assert_eq!(store.forget_memories(mallory(), source, 9).await.unwrap(), Forgotten::default());
    }
    assert_eq!(one(&store, 7).await.memory, filled().memory);
    assert_eq!(store.outbox(32).await.unwrap().ends[0].said.as_ref().unwrap().lessons.len(), 1);
}

#[tokio::test]
async fn another_owners_memory_is_neither_replaced_nor_moved_nor_overwritten() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    add(&store, vec![kept(1, "word", "")]).await;
    let of_mallory = |number| {
        let mut kept = kept(number, "evil", "");
        kept.memory.origin.owner = mallory();
        kept
    };
    let mut replacing = of_mallory(2);
    replacing.memory.replaces = Some(memory_id(1));
    let add_for = |kept| {
        store.add_memories(NewMemories {
            owner: mallory(),
            what: "added",
            memories: vec![kept],
            memories_max: 10,
            at_ms: 5,
        })
    };
    assert_eq!(add_for(replacing).await, Err(StoreError::UnknownMemory(memory_id(1))));
    add_for(of_mallory(1)).await.unwrap_err();
    let by = BeliefMove::FailedBranch;
    let writes = vec![
        LearnWrite::Move { owner: mallory(), memory: memory_id(1), by, evidence: evidence(EvidenceKind::Moved(by)) },
        LearnWrite::Turn { owner: mallory(), memory: memory_id(1), state: MemoryState::Rejected },
    ];
    store.learn(LearnStep { from: 0, to: 1, writes, memories_max: 9, at_ms: 5 }).await.unwrap();
    assert_eq!(one(&store, 1).await.memory, kept(1, "word", "").memory);
}

#[tokio::test]
async fn how_often_a_word_occurs_is_not_counted_over_the_walls() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    add(&store, (1..=5).map(|number| kept(number, "secret word", "")).collect()).await;
    let mut theirs = kept(6, "word", "");
    theirs.memory.origin.owner = mallory();
    add(&store, vec![theirs]).await;
    let answer = store.find_memories(MemorySearch { owner: mallory(), ..search(&["word", "secret"]) }).await.unwrap();
    assert_eq!(answer.candidates.len(), 1);
    assert_eq!(answer.frequencies, [("word".to_owned(), 1)].into());
    assert_eq!(answer.memories, 1);
}

#[tokio::test]
async fn a_mark_of_another_owners_memory_stays_as_it_is() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    add(&store, vec![filled()]).await;
    let note = MarkNote { memory: memory_id(7), file: scrubbed("src/a.rs"), is_changed: true, at_ms: 9 };
    store.note_memory_marks(mallory(), vec![note]).await.unwrap();
    assert!(!one(&store, 7).await.is_changed);
}
