//! Marks: lines of the files that a memory is about, by which it is known whether the code has changed since.

use infold_core::memory::{MemoryId, ProjectKey};
use infold_core::{Owner, Scrubbed};
use rusqlite::{Transaction, params};

use super::{places, row};
use crate::gateway::stored_text;
use crate::{Store, StoreError};

/// Lines of one file that a memory is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMark {
    /// The file, as the lesson spells it.
    pub file: Scrubbed,
    /// Hashes of the lines, as their maker knows them.
    pub lines: Vec<u8>,
    /// Whether the lines were seen to be other ones since.
    pub is_changed: bool,
    /// When that was seen, or when the mark was made, in milliseconds since 1970.
    pub at_ms: u64,
}

/// What was seen of a marked file.
#[derive(Debug, Clone)]
pub struct MarkNote {
    /// The memory whose mark it is.
    pub memory: MemoryId,
    /// The file.
    pub file: Scrubbed,
    /// Whether its lines are other ones now.
    pub is_changed: bool,
    /// When it was seen, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Store {
    /// Reads the marks of files whose paths end in one of these names: those of an owner's memories of a project, and of
    /// those that count everywhere.
    pub async fn memory_marks(
        &self,
        owner: Owner,
        project: ProjectKey,
        names: Vec<String>,
    ) -> Result<Vec<(MemoryId, StoredMark)>, StoreError> {
        self.read(move |transaction| {
            let project = places::project_named(transaction, &owner, &project)?;
            let mut statement = transaction.prepare_cached(
                "SELECT memory, file, lines, changed, at FROM memories JOIN memory_marks ON memory = memories.id
                 WHERE owner = ?1 AND (project IS NULL OR project = ?2) ORDER BY memory, file",
            )?;
            let mut rows = statement.query(params![owner.as_str(), project.as_str()])?;
            let mut found = Vec::new();
            while let Some(mark) = rows.next()? {
                let file = mark.get_ref(1)?.as_str().unwrap_or_default();
                if names.iter().any(|name| file.ends_with(name)) {
                    found.push((row::id_of(mark.get(0)?)?, stored_mark(mark)?));
                }
            }
            Ok(found)
        })
        .await
    }

    /// Notes what was seen of marked files. Marks that are gone, or another owner's, are passed over.
    pub async fn note_memory_marks(&self, owner: Owner, notes: Vec<MarkNote>) -> Result<(), StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                let mut update = transaction.prepare_cached(
                    "UPDATE memory_marks SET changed = ?4, at = ?5 WHERE memory = ?2 AND file = ?3
                     AND EXISTS (SELECT 1 FROM memories WHERE id = ?2 AND owner = ?1)",
                )?;
                for note in &notes {
                    let (memory, file) = (note.memory.as_str(), note.file.as_str());
                    update.execute(params![owner.as_str(), memory, file, note.is_changed, note.at_ms])?;
                }
                Ok(())
            })
            .await
    }
}

/// Writes the marks of a memory, in place of those that it had.
pub(super) fn replace(transaction: &Transaction<'_>, id: &MemoryId, marks: &[StoredMark]) -> Result<(), StoreError> {
    transaction.prepare_cached("DELETE FROM memory_marks WHERE memory = ?1")?.execute([id.as_str()])?;
    for mark in marks {
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO memory_marks (memory, file, lines, changed, at) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![id.as_str(), mark.file.as_str(), mark.lines, mark.is_changed, mark.at_ms])?;
    }
    Ok(())
}

/// Reads the marks of one memory, in order of files.
pub(super) fn of_memory(transaction: &Transaction<'_>, id: &MemoryId) -> Result<Vec<StoredMark>, StoreError> {
    let sql = "SELECT memory, file, lines, changed, at FROM memory_marks WHERE memory = ?1 ORDER BY file";
    let mut statement = transaction.prepare_cached(sql)?;
    let rows = statement.query_map([id.as_str()], stored_mark)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Whether lines that a memory is about were seen to be other ones.
pub(super) fn is_changed(transaction: &Transaction<'_>, id: &MemoryId) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM memory_marks WHERE memory = ?1 AND changed = 1";
    Ok(transaction.prepare_cached(sql)?.exists([id.as_str()])?)
}

fn stored_mark(row: &rusqlite::Row<'_>) -> rusqlite::Result<StoredMark> {
    Ok(StoredMark { file: stored_text(row.get(1)?), lines: row.get(2)?, is_changed: row.get(3)?, at_ms: row.get(4)? })
}
