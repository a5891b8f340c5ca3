//! Changes of memories, and putting them back. Changes that were made together have one number and are undone together.

use infold_core::memory::{Memory, MemoryId, MemoryState};
use infold_core::{Owner, memory::ProjectKey};
use rusqlite::{OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize};

use super::row::{self, StoredMemory};
use super::words::{self, FieldWords};
use super::{keep, places};
use crate::codec::{Payload, from_json, to_json};
use crate::{Store, StoreError};

/// How many changes of one owner can be undone; older ones stay as they are.
const CHANGES_MAX: i64 = 1_000;

/// What a change put in the place of something else.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Before {
    /// A memory as it was.
    Memory { memory: Box<Memory>, ordinal: Option<u32>, words: FieldWords },
    /// The project that a name meant, if it meant another.
    Alias { project: Option<ProjectKey> },
}

/// Changes that are made together.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewChange {
    number: i64,
    what: &'static str,
    at_ms: u64,
}

impl NewChange {
    /// Begins a change of an owner's memories. `what` is the word for it.
    pub(super) fn begin(
        transaction: &Transaction<'_>,
        owner: &Owner,
        what: &'static str,
        at_ms: u64,
    ) -> Result<Self, StoreError> {
        let number: i64 = transaction
            .prepare_cached("SELECT 1 + coalesce(max(number), 0) FROM memory_changes WHERE owner = ?1")?
            .query_row([owner.as_str()], |row| row.get(0))?;
        transaction
            .prepare_cached("DELETE FROM memory_changes WHERE owner = ?1 AND number <= ?2")?
            .execute(params![owner.as_str(), number - CHANGES_MAX])?;
        Ok(Self { number, what, at_ms })
    }

    /// The change's number among its owner's.
    pub(super) fn number(self) -> i64 {
        self.number
    }

    /// Notes how a memory was before this change; `None` if it was not there.
    pub(super) fn note(
        self,
        transaction: &Transaction<'_>,
        owner: &Owner,
        id: &MemoryId,
        before: Option<&StoredMemory>,
    ) -> Result<(), StoreError> {
        let before = match before {
            Some(found) => Some(Before::Memory {
                memory: Box::new(found.memory.clone()),
                ordinal: found.ordinal,
                words: words::read(transaction, found.rowid)?,
            }),
            None => None,
        };
        self.write(transaction, owner, id.as_str(), before.as_ref())
    }

    /// Notes which project a name meant before this change.
    pub(super) fn note_alias(
        self,
        transaction: &Transaction<'_>,
        owner: &Owner,
        alias: &ProjectKey,
        project: Option<ProjectKey>,
    ) -> Result<(), StoreError> {
        self.write(transaction, owner, alias.as_str(), Some(&Before::Alias { project }))
    }

    fn write(
        self,
        transaction: &Transaction<'_>,
        owner: &Owner,
        name: &str,
        before: Option<&Before>,
    ) -> Result<(), StoreError> {
        let before = before.map(|before| to_json("change", before).map(Payload)).transpose()?;
        // Only the first note of a change counts: it has what was there before all of it.
        transaction
            .prepare_cached(
                "INSERT OR IGNORE INTO memory_changes (number, owner, memory, what, before, at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![self.number, owner.as_str(), name, self.what, before, self.at_ms])?;
        Ok(())
    }
}

/// A change in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRow {
    /// Its number among its owner's changes.
    pub number: i64,
    /// The word for it.
    pub what: String,
    /// When it was made, in milliseconds since 1970.
    pub at_ms: u64,
    /// How many memories it changed.
    pub count: u64,
    /// One of them.
    pub memory: String,
    /// Whether it was undone.
    pub is_undone: bool,
}

/// How undoing went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoAnswer {
    /// The change was undone, which is a change of its own.
    Undone {
        /// The change that was undone.
        number: i64,
        /// The word for it.
        what: String,
        /// The memories that are now as they were before it.
        memories: Vec<MemoryId>,
    },
    /// The change was undone before.
    Already,
    /// There is no such change, or none at all.
    NotFound,
}

impl Store {
    /// Lists the changes of an owner's memories, the newest first.
    pub async fn memory_changes(&self, owner: Owner, limit: usize) -> Result<Vec<ChangeRow>, StoreError> {
        self.read(move |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT number, min(what), min(at), count(*), min(memory), max(undone) FROM memory_changes
                 WHERE owner = ?1 GROUP BY number ORDER BY number DESC LIMIT ?2",
            )?;
            let rows = statement.query_map(params![owner.as_str(), limit], |row| {
                Ok(ChangeRow {
                    number: row.get(0)?,
                    what: row.get(1)?,
                    at_ms: row.get(2)?,
                    count: row.get(3)?,
                    memory: row.get(4)?,
                    is_undone: row.get(5)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Undoes a change: the one with this number, or the newest that is neither undone nor an undoing. A memory that was
    /// not there before the change is rejected: only forgetting deletes.
    pub async fn undo_memory_change(
        &self,
        owner: Owner,
        number: Option<i64>,
        at_ms: u64,
    ) -> Result<UndoAnswer, StoreError> {
        self.inner.writer.run(move |transaction| undo(transaction, &owner, number, at_ms)).await
    }
}

fn undo(
    transaction: &Transaction<'_>,
    owner: &Owner,
    number: Option<i64>,
    at_ms: u64,
) -> Result<UndoAnswer, StoreError> {
    let found: Option<(i64, String, bool)> = transaction
        .prepare_cached(
            "SELECT number, what, undone FROM memory_changes
             WHERE owner = ?1 AND (number = ?2 OR ?2 IS NULL AND undone = 0 AND what <> 'undone')
             ORDER BY number DESC LIMIT 1",
        )?
        .query_row(params![owner.as_str(), number], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let (number, what) = match found {
        None => return Ok(UndoAnswer::NotFound),
        Some((_, _, true)) => return Ok(UndoAnswer::Already),
        Some((number, what, false)) => (number, what),
    };
    let rows: Vec<(String, Option<Payload>)> = transaction
        .prepare_cached("SELECT memory, before FROM memory_changes WHERE owner = ?1 AND number = ?2 ORDER BY memory")?
        .query_map(params![owner.as_str(), number], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let change = NewChange::begin(transaction, owner, "undone", at_ms)?;
    let mut memories = Vec::new();
    for (name, before) in rows {
        let before = before.map(|before| from_json::<Before>("change", &before.0)).transpose()?;
        memories.extend(put_back(transaction, owner, &name, before, change)?);
    }
    transaction
        .prepare_cached("UPDATE memory_changes SET undone = 1 WHERE owner = ?1 AND number = ?2")?
        .execute(params![owner.as_str(), number])?;
    Ok(UndoAnswer::Undone { number, what, memories })
}

fn put_back(
    transaction: &Transaction<'_>,
    owner: &Owner,
    name: &str,
    before: Option<Before>,
    change: NewChange,
) -> Result<Option<MemoryId>, StoreError> {
    if let Some(Before::Alias { project }) = &before {
        let alias = ProjectKey::from_stored(name.to_owned());
        places::set_alias(transaction, owner, &alias, project.as_ref(), change)?;
        return Ok(None);
    }
    let id = row::id_of(name.to_owned())?;
    let Some(now) = row::read(transaction, owner, &id)? else { return Ok(None) };
    change.note(transaction, owner, &id, Some(&now))?;
    match before {
        Some(Before::Memory { memory, words, .. }) => keep::rewrite(transaction, &now, &memory, Some(&words))?,
        Some(Before::Alias { .. }) | None => {
            let rejected = Memory { state: MemoryState::Rejected, ..now.memory.clone() };
            keep::rewrite(transaction, &now, &rejected, None)?;
        }
    }
    Ok(Some(id))
}
