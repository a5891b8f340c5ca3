//! Changes that people and agents make: new memories, other words, another state, feedback.

use infold_core::Owner;
use infold_core::memory::{BeliefMove, Memory, MemoryId, MemoryState};
use rusqlite::Transaction;

use super::keep::{self, EvidenceKind, KeptMemory, NewEvidence};
use super::learn::Quota;
use super::row;
use super::undo::NewChange;
use super::vectors::{self, MemoryVector};
use super::words::FieldWords;
use crate::{Store, StoreError};

/// Memories that are added together.
#[derive(Debug)]
pub struct NewMemories {
    /// Whose they are.
    pub owner: Owner,
    /// The word for the change: `added`, `recorded`, `imported`.
    pub what: &'static str,
    /// The memories. One that replaces another puts that one out of use; one that is there already stays as it is.
    pub memories: Vec<KeptMemory>,
    /// How many memories an owner may have.
    pub memories_max: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// How adding memories went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedMemories {
    /// The number by which all of it can be undone.
    pub change: i64,
    /// How many memories are new.
    pub made: u64,
    /// How many memories had to make room.
    pub evicted: u64,
}

/// A memory as it is to be.
#[derive(Debug, Clone)]
pub struct MemoryUpdate {
    /// The memory. Its name, owner and origin stay.
    pub memory: Memory,
    /// Its stems and what its text means, if its words are other ones.
    pub words: Option<(FieldWords, Option<MemoryVector>)>,
    /// What moves the belief in it.
    pub moved: Option<(BeliefMove, NewEvidence)>,
}

impl Store {
    /// Adds memories, all or none.
    pub async fn add_memories(&self, new: NewMemories) -> Result<AddedMemories, StoreError> {
        self.inner.writer.run(move |transaction| add(transaction, &new)).await
    }

    /// Changes a memory in one transaction. `decide` gets it as it is, and says how it is to be, if it changes at all,
    /// together with what the caller wants to know. `None` if its owner has no such memory.
    pub async fn change_memory<T: Send + 'static>(
        &self,
        owner: Owner,
        id: MemoryId,
        what: &'static str,
        at_ms: u64,
        decide: impl Fn(&Memory) -> (Option<MemoryUpdate>, T) + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                let Some(before) = row::read(transaction, &owner, &id)? else { return Ok(None) };
                let (update, answer) = decide(&before.memory);
                if let Some(update) = update {
                    let change = NewChange::begin(transaction, &owner, what, at_ms)?;
                    change.note(transaction, &owner, &id, Some(&before))?;
                    apply(transaction, &before, update, change)?;
                }
                Ok(Some(answer))
            })
            .await
    }
}

fn add(transaction: &Transaction<'_>, new: &NewMemories) -> Result<AddedMemories, StoreError> {
    let mut quota = Quota::new(new.memories_max);
    let change = NewChange::begin(transaction, &new.owner, new.what, new.at_ms)?;
    let mut made = 0;
    for kept in &new.memories {
        if row::read(transaction, &new.owner, &kept.memory.id)?.is_some() {
            continue;
        }
        if !quota.make_room(transaction, &kept.memory)? {
            return Err(StoreError::MemoriesFull { memories_max: new.memories_max });
        }
        let origin = &kept.memory.origin;
        let evidence = NewEvidence {
            kind: EvidenceKind::Made,
            session: origin.session.clone(),
            branch: origin.branch.clone(),
            from_memory: None,
            at_ms: new.at_ms,
        };
        keep::keep(transaction, kept, &evidence, change)?;
        made += 1;
    }
    Ok(AddedMemories { change: change.number(), made, evicted: quota.evicted })
}

fn apply(
    transaction: &Transaction<'_>,
    before: &row::StoredMemory,
    update: MemoryUpdate,
    change: NewChange,
) -> Result<(), StoreError> {
    let (id, owner) = (&before.memory.id, &before.memory.origin.owner);
    let mut memory = Memory { id: id.clone(), origin: before.memory.origin.clone(), ..update.memory };
    super::places::put_in_project(transaction, &mut memory)?;
    keep::rewrite(transaction, before, &memory, update.words.as_ref().map(|(words, _)| words))?;
    if let Some((_, vector)) = &update.words {
        vectors::replace(transaction, id, vector.as_ref())?;
    }
    if before.memory.state == MemoryState::Waiting {
        keep::take_place(transaction, &memory, change)?;
    }
    if let Some((by, evidence)) = &update.moved {
        keep::move_belief(transaction, owner, id, *by, evidence)?;
    }
    Ok(())
}
