//! Writing a memory with all that belongs to it, and what speaks for it.

use infold_core::memory::{BeliefMove, Memory, MemoryId, MemoryState};
use infold_core::{BranchId, Owner, SessionId};
use rusqlite::{Transaction, params};

use super::row::{self, StoredMemory};
use super::undo::NewChange;
use super::vectors::{self, MemoryVector};
use super::words::{self, FieldWords};
use super::{marks, places};
use crate::{StoreError, StoredMark};

/// A memory with all that is stored beside it.
#[derive(Debug, Clone)]
pub struct KeptMemory {
    /// The memory.
    pub memory: Memory,
    /// Which lesson of its branch's end it is, counted from 0; `None` if it comes from no end.
    pub ordinal: Option<u32>,
    /// Its stems.
    pub words: FieldWords,
    /// What its text means, if a model says so.
    pub vector: Option<MemoryVector>,
    /// Lines of the files that it is about.
    pub marks: Vec<StoredMark>,
}

/// What a piece of evidence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidenceKind {
    /// The memory was made.
    Made,
    /// Words of another lesson went into it. Whoever forgets that one's origin forgets this memory too.
    Reworded,
    /// Something moved what is believed of it.
    Moved(BeliefMove),
}

impl EvidenceKind {
    /// The word for it, in tables and the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Reworded => "reworded",
            Self::Moved(by) => by.as_str(),
        }
    }
}

/// Something that speaks for a memory or against it.
#[derive(Debug, Clone)]
pub struct NewEvidence {
    /// What it is.
    pub kind: EvidenceKind,
    /// The session that it comes from.
    pub session: Option<SessionId>,
    /// The branch that it comes from, and which opening of it.
    pub branch: Option<(BranchId, u32)>,
    /// The memory that it was derived from: one that its branch had been shown.
    pub from_memory: Option<MemoryId>,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// Writes a new memory, or new words for one that is there. What is believed of one that is there stays, but for what
/// the evidence moves. Returns whether it was new.
pub(super) fn keep(
    transaction: &Transaction<'_>,
    kept: &KeptMemory,
    evidence: &NewEvidence,
    change: NewChange,
) -> Result<Kept, StoreError> {
    let mut memory = kept.memory.clone();
    places::put_in_project(transaction, &mut memory)?;
    let before = row::read(transaction, &memory.origin.owner, &memory.id)?;
    if let Some(before) = &before {
        memory.belief = before.memory.belief;
        memory.evidence_at_ms = before.memory.evidence_at_ms;
    }
    let prior = memory.belief;
    if let EvidenceKind::Moved(by) = evidence.kind {
        memory.belief = memory.belief.moved(by);
        memory.evidence_at_ms = memory.evidence_at_ms.max(evidence.at_ms);
    }
    change.note(transaction, &memory.origin.owner, &memory.id, before.as_ref())?;
    let rowid = row::write(transaction, &memory, kept.ordinal)?;
    words::write(transaction, rowid, &memory, &kept.words)?;
    vectors::replace(transaction, &memory.id, kept.vector.as_ref())?;
    marks::replace(transaction, &memory.id, &kept.marks)?;
    let grown = match &before {
        Some(_) => (memory.belief.for_it - prior.for_it, memory.belief.against - prior.against),
        None => (memory.belief.for_it, memory.belief.against),
    };
    write_evidence(transaction, &memory.origin.owner, &memory.id, evidence, grown)?;
    if let (Some(old), MemoryState::Live) = (&memory.replaces, &memory.state) {
        replace(transaction, &memory, old, change)?;
    }
    Ok(if before.is_some() { Kept::Again } else { Kept::New })
}

/// Whether a memory that was written is a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    New,
    Again,
}

/// Writes a memory that is there with other values, and the words that it has or gets.
pub(super) fn rewrite(
    transaction: &Transaction<'_>,
    before: &StoredMemory,
    memory: &Memory,
    new_words: Option<&FieldWords>,
) -> Result<(), StoreError> {
    let kept_words = match new_words {
        Some(words) => words.clone(),
        None => words::read(transaction, before.rowid)?,
    };
    let rowid = row::write(transaction, memory, before.ordinal)?;
    if memory.lesson.text() != before.memory.lesson.text() {
        vectors::replace(transaction, &memory.id, None)?;
    }
    words::write(transaction, rowid, memory, &kept_words)
}

/// Puts a memory that waited, and waits no more, in the place that it was to take, if somebody is still there.
pub(super) fn take_place(transaction: &Transaction<'_>, by: &Memory, change: NewChange) -> Result<(), StoreError> {
    let (Some(old), MemoryState::Live) = (&by.replaces, &by.state) else { return Ok(()) };
    match row::read(transaction, &by.origin.owner, old)?.map(|found| found.memory.state) {
        Some(MemoryState::Live | MemoryState::Waiting) => replace(transaction, by, old, change),
        Some(MemoryState::Replaced(_) | MemoryState::Rejected) | None => Ok(()),
    }
}

/// Puts a memory in the place of another of the same owner.
fn replace(transaction: &Transaction<'_>, by: &Memory, old: &MemoryId, change: NewChange) -> Result<(), StoreError> {
    let owner = &by.origin.owner;
    let Some(found) = row::read(transaction, owner, old)? else {
        return Err(StoreError::UnknownMemory(old.clone()));
    };
    let after = Memory { state: MemoryState::Replaced(by.id.clone()), ..found.memory.clone() };
    if found.memory.state != after.state {
        change.note(transaction, owner, old, Some(&found))?;
        rewrite(transaction, &found, &after, None)?;
    }
    Ok(())
}

/// Moves what is believed of a memory, and notes why. `None` if its owner has no such memory.
pub(super) fn move_belief(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &MemoryId,
    by: BeliefMove,
    evidence: &NewEvidence,
) -> Result<Option<Memory>, StoreError> {
    let Some(found) = row::read(transaction, owner, id)? else { return Ok(None) };
    let before = found.memory.belief;
    let mut memory = found.memory;
    memory.belief = before.moved(by);
    memory.evidence_at_ms = memory.evidence_at_ms.max(evidence.at_ms);
    row::write(transaction, &memory, found.ordinal)?;
    let grown = (memory.belief.for_it - before.for_it, memory.belief.against - before.against);
    write_evidence(transaction, owner, id, evidence, grown)?;
    Ok(Some(memory))
}

pub(super) fn write_evidence(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &MemoryId,
    evidence: &NewEvidence,
    (for_it, against): (f64, f64),
) -> Result<(), StoreError> {
    let branch = evidence.branch.as_ref();
    transaction
        .prepare_cached(
            "INSERT INTO memory_evidence
                 (owner, memory, what, for_it, against, session, branch, generation, from_memory, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            owner.as_str(),
            id.as_str(),
            evidence.kind.as_str(),
            for_it,
            against,
            evidence.session.as_ref().map(SessionId::as_str),
            branch.map(|(branch, _)| branch.as_str()),
            branch.map(|(_, generation)| generation),
            evidence.from_memory.as_ref().map(MemoryId::as_str),
            evidence.at_ms
        ])?;
    Ok(())
}
