//! A memory as a row.

use infold_core::memory::{
    Belief, LessonSource, Memory, MemoryId, MemoryOrigin, MemoryScope, MemoryState, ProjectKey, Trust,
};
use infold_core::{BranchId, Owner, Scrubbed, SessionId};
use rusqlite::types::FromSql;
use rusqlite::{OptionalExtension, Row, RowIndex, Transaction, params};

use crate::codec::{Payload, from_json, to_json};
use crate::gateway::stored_text;
use crate::requests::parse_session_id;
use crate::{StoreError, memory::words};

/// The columns that [`stored`] reads, in its order.
pub(super) const COLUMNS: &str =
    "memories.rowid, memories.id, memories.owner, memories.project, memories.git_branch, memories.state,
     memories.replaced_by, memories.source, memories.trust, memories.label, memories.session, memories.branch,
     memories.generation, memories.ordinal, memories.for_it, memories.against, memories.suspicion, memories.replaces,
     memories.made_at, memories.evidence_at, memories.shown, memories.used, memories.shown_at, memories.merged_at,
     memories.content";

/// A memory with what else its row holds.
#[derive(Debug, Clone)]
pub(super) struct StoredMemory {
    pub(super) rowid: i64,
    pub(super) ordinal: Option<u32>,
    pub(super) shown: u64,
    pub(super) used: u64,
    pub(super) shown_at_ms: Option<u64>,
    pub(super) merged_at_ms: Option<u64>,
    pub(super) memory: Memory,
}

/// Reads a row that begins with [`COLUMNS`]. They are read by their order: finding each by its name takes longer than all
/// the rest, and a search reads more than a hundred rows.
pub(super) fn stored(row: &Row<'_>) -> Result<StoredMemory, StoreError> {
    let mut columns = InOrder { row, at: 0 };
    let rowid = columns.next()?;
    let id = id_of(columns.next()?)?;
    let owner = Owner::from_stored(columns.next()?);
    let project = columns.next::<Option<String>>()?.map(ProjectKey::from_stored);
    let git_branch = columns.text()?;
    let (state, replaced_by) = (columns.next::<String>()?, columns.next()?);
    let (source, trust) = (columns.word(LessonSource::parse)?, columns.word(Trust::parse)?);
    let label = columns.text()?;
    let session = columns.next::<Option<String>>()?.map(parse_session_id).transpose()?;
    let (branch, generation) = (columns.next::<Option<String>>()?.map(BranchId::from_stored), columns.next()?);
    let ordinal = columns.next()?;
    let belief = Belief { for_it: columns.next()?, against: columns.next()? };
    let suspicion = columns.next()?;
    let replaces = columns.next::<Option<String>>()?.map(id_of).transpose()?;
    let (made_at_ms, evidence_at_ms) = (columns.next()?, columns.next()?);
    let (shown, used) = (columns.next()?, columns.next()?);
    let (shown_at_ms, merged_at_ms) = (columns.next()?, columns.next()?);
    let content: Payload = columns.next()?;
    let memory = Memory {
        id,
        scope: project.map_or(MemoryScope::Everywhere, MemoryScope::Project),
        git_branch,
        lesson: from_json("lesson", &content.0)?,
        origin: MemoryOrigin { owner, source, session, branch: branch.zip(generation), label },
        trust,
        belief,
        suspicion,
        state: state_of(&state, replaced_by)?,
        replaces,
        made_at_ms,
        evidence_at_ms,
    };
    Ok(StoredMemory { rowid, ordinal, shown, used, shown_at_ms, merged_at_ms, memory })
}

/// The columns of a row, one after the other.
struct InOrder<'r, 's> {
    row: &'r Row<'s>,
    at: usize,
}

impl InOrder<'_, '_> {
    fn next<T: FromSql>(&mut self) -> Result<T, StoreError> {
        self.at += 1;
        Ok(self.row.get(self.at - 1)?)
    }

    fn text(&mut self) -> Result<Option<Scrubbed>, StoreError> {
        Ok(self.next::<Option<String>>()?.map(stored_text))
    }

    fn word<T>(&mut self, parse: impl Fn(&str) -> Option<T>) -> Result<T, StoreError> {
        self.at += 1;
        word(self.row, self.at - 1, parse)
    }
}

/// Reads a memory of an owner by its name.
pub(super) fn read(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &MemoryId,
) -> Result<Option<StoredMemory>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM memories WHERE id = ?1 AND owner = ?2");
    let mut statement = transaction.prepare_cached(&sql)?;
    let mut rows = statement.query(params![id.as_str(), owner.as_str()])?;
    rows.next()?.map(stored).transpose()
}

/// Writes a memory: a new row, or over the one that has its name. Returns the number of its row.
pub(super) fn write(transaction: &Transaction<'_>, memory: &Memory, ordinal: Option<u32>) -> Result<i64, StoreError> {
    let text = |text: &Option<Scrubbed>| text.as_ref().map(|text| text.as_str().to_owned());
    let branch = memory.origin.branch.as_ref();
    let (state, replaced_by) = state_words(&memory.state);
    let rowid: Option<i64> = transaction
        .prepare_cached(
            "INSERT INTO memories (id, owner, project, git_branch, kind, state, replaced_by, source, trust, label, session,
                 branch, generation, ordinal, for_it, against, suspicion, replaces, made_at, evidence_at, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
             ON CONFLICT (id) DO UPDATE
             SET project = ?3, git_branch = ?4, kind = ?5, state = ?6, replaced_by = ?7, trust = ?9, for_it = ?15,
                 against = ?16, suspicion = ?17, replaces = ?18, evidence_at = ?20, content = ?21
             WHERE owner = ?2 RETURNING rowid",
        )?
        .query_row(
            params![
                memory.id.as_str(),
                memory.origin.owner.as_str(),
                project_of(&memory.scope),
                text(&memory.git_branch),
                memory.lesson.kind.as_str(),
                state,
                replaced_by,
                memory.origin.source.as_str(),
                memory.trust.as_str(),
                text(&memory.origin.label),
                memory.origin.session.as_ref().map(SessionId::as_str),
                branch.map(|(branch, _)| branch.as_str()),
                branch.map(|(_, generation)| generation),
                ordinal,
                memory.belief.for_it,
                memory.belief.against,
                memory.suspicion,
                memory.replaces.as_ref().map(MemoryId::as_str),
                memory.made_at_ms,
                memory.evidence_at_ms,
                Payload(to_json("lesson", &memory.lesson)?)
            ],
            |row| row.get(0),
        )
        .optional()?;
    // Names are hashes or random: one that is another owner's already is a fault, not somebody's mistake.
    rowid.ok_or_else(|| StoreError::Unreadable { what: "memory", problem: format!("{} exists already", memory.id) })
}

/// Deletes a memory with its words, vectors, marks and what it could be put back to.
pub(super) fn delete(transaction: &Transaction<'_>, found: &StoredMemory) -> Result<(), StoreError> {
    words::remove(transaction, found.rowid)?;
    let id = found.memory.id.as_str();
    transaction.prepare_cached("DELETE FROM memory_changes WHERE memory = ?1")?.execute([id])?;
    transaction.prepare_cached("DELETE FROM memories WHERE rowid = ?1")?.execute([found.rowid])?;
    Ok(())
}

pub(super) fn project_of(scope: &MemoryScope) -> Option<&str> {
    match scope {
        MemoryScope::Project(project) => Some(project.as_str()),
        MemoryScope::Everywhere => None,
    }
}

pub(super) fn id_of(text: String) -> Result<MemoryId, StoreError> {
    MemoryId::parse(&text).ok_or(StoreError::Unreadable { what: "memory's name", problem: text })
}

fn state_words(state: &MemoryState) -> (&'static str, Option<&str>) {
    match state {
        MemoryState::Live => ("live", None),
        MemoryState::Waiting => ("waiting", None),
        MemoryState::Replaced(by) => ("replaced", Some(by.as_str())),
        MemoryState::Rejected => ("rejected", None),
    }
}

fn state_of(word: &str, replaced_by: Option<String>) -> Result<MemoryState, StoreError> {
    match (word, replaced_by) {
        ("live", _) => Ok(MemoryState::Live),
        ("waiting", _) => Ok(MemoryState::Waiting),
        ("replaced", Some(by)) => Ok(MemoryState::Replaced(id_of(by)?)),
        ("rejected", _) => Ok(MemoryState::Rejected),
        (other, _) => Err(StoreError::Unreadable { what: "memory's state", problem: other.to_owned() }),
    }
}

pub(super) fn word<T>(
    row: &Row<'_>,
    column: impl RowIndex,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, StoreError> {
    let word: String = row.get(column)?;
    parse(&word).ok_or(StoreError::Unreadable { what: "memory", problem: word })
}
