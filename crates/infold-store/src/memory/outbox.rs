//! Ends of branches that wait to be learnt from, oldest first.

use infold_core::memory::{MemoryId, ProjectKey};
use infold_core::{Branch, BranchId, Event, ProjectHash, Scrubbed};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::pending::{NewLessons, ShownMemory};
use super::places;
use crate::codec::{Payload, column, from_json};
use crate::gateway::stored_text;
use crate::load::session_key;
use crate::{SessionKey, Store, StoreError};

/// An end that could not be learnt from so often is passed over.
const ATTEMPTS_MAX: u32 = 3;
/// How many ends that were passed over are remembered.
const FAILURES_MAX: u32 = 100;

/// Ends of branches, from one mark to the next.
#[derive(Debug)]
pub struct OutboxBatch {
    /// The last event that has been learnt from. A step that is decided on this batch names it.
    pub from: u64,
    /// The last event before the batch: that one, or a later one up to which nothing is to be learnt.
    pub behind: u64,
    /// The last event of the batch. It is beyond `ends` where ends were passed over.
    pub to: u64,
    /// What waits, without what was passed over.
    pub ends: Vec<OutboxEnd>,
}

/// Something that has to be learnt from, or unlearnt.
#[derive(Debug)]
pub struct OutboxEnd {
    /// The event's place in the feed.
    pub event: u64,
    /// The session that it happened in.
    pub session: SessionKey,
    /// A hash of the path of the session's project, if the session has one.
    pub path: Option<ProjectHash>,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: u64,
    /// What happened: the end of a branch, a late result, or a rollback.
    pub happened: Event,
    /// The branch as it is now.
    pub branch: Option<Branch>,
    /// What the branch said about lessons, if it returned.
    pub said: Option<NewLessons>,
    /// The project that the branch works in, as its opening says.
    pub project: Option<ProjectKey>,
    /// The git branch that it works on, as its opening says.
    pub git_branch: Option<Scrubbed>,
    /// Memories that its opening was given.
    pub shown: Vec<MemoryId>,
    /// Whether the session or its project is left alone: then nothing is learnt.
    pub is_silenced: bool,
    /// How often it could not be learnt from.
    pub attempts: u32,
}

impl Store {
    /// Reads what waits to be learnt from: at most `ends_max` rows.
    pub async fn outbox(&self, ends_max: usize) -> Result<OutboxBatch, StoreError> {
        self.outbox_behind((0, 0), ends_max).await
    }

    /// The same behind ends that lead to nothing: from the last event that has been learnt from to the last of those ends.
    /// They count only if that is still the last event that has been learnt from.
    pub async fn outbox_behind(&self, passed: (u64, u64), ends_max: usize) -> Result<OutboxBatch, StoreError> {
        self.read(move |transaction| read(transaction, passed, ends_max)).await
    }

    /// Notes that an end could not be learnt from. After the third time it is passed over. Returns whether it is.
    pub async fn note_learning_failure(&self, event: u64, problem: String) -> Result<bool, StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                let attempts: u32 = transaction
                    .prepare_cached(
                        "INSERT INTO memory_failures (event, attempts, problem) VALUES (?1, 1, ?2)
                         ON CONFLICT (event) DO UPDATE SET attempts = attempts + 1, problem = ?2 RETURNING attempts",
                    )?
                    .query_row(params![event, problem], |row| row.get(0))?;
                transaction
                    .prepare_cached(
                        "DELETE FROM memory_failures WHERE event NOT IN
                             (SELECT event FROM memory_failures ORDER BY event DESC LIMIT ?1)",
                    )?
                    .execute([FAILURES_MAX])?;
                Ok(attempts >= ATTEMPTS_MAX)
            })
            .await
    }

    /// Lists ends that were passed over: the event, and what went wrong.
    pub async fn learning_failures(&self) -> Result<Vec<(u64, String)>, StoreError> {
        self.read(|transaction| {
            let sql = "SELECT event, problem FROM memory_failures WHERE attempts >= ?1 ORDER BY event";
            let mut statement = transaction.prepare_cached(sql)?;
            let rows = statement.query_map([ATTEMPTS_MAX], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }
}

fn read(transaction: &Transaction<'_>, passed: (u64, u64), ends_max: usize) -> Result<OutboxBatch, StoreError> {
    let from: u64 = transaction.query_row("SELECT learnt FROM instance", [], |row| row.get(0))?;
    let behind = if passed.0 == from { passed.1.max(from) } else { from };
    let mut statement = transaction.prepare_cached(
        "SELECT events.id, sessions.owner, sessions.name, sessions.project, events.at, events.payload, events.branch,
             events.generation, coalesce((SELECT attempts FROM memory_failures WHERE event = events.id), 0)
         FROM events JOIN sessions ON sessions.id = events.session_id
         WHERE events.status IS NOT NULL AND events.id > ?1 ORDER BY events.id LIMIT ?2",
    )?;
    let mut rows = statement.query(params![behind, ends_max])?;
    let (mut to, mut ends) = (behind, Vec::new());
    while let Some(row) = rows.next()? {
        to = row.get(0)?;
        if row.get::<_, u32>(8)? < ATTEMPTS_MAX {
            ends.push(end(transaction, row)?);
        }
    }
    Ok(OutboxBatch { from, behind, to, ends })
}

fn end(transaction: &Transaction<'_>, row: &Row<'_>) -> Result<OutboxEnd, StoreError> {
    let session = session_key((row.get(1)?, row.get(2)?))?;
    let payload: Payload = row.get(5)?;
    let branch: Option<BranchId> = row.get::<_, Option<String>>(6)?.map(BranchId::from_stored);
    let generation: Option<u32> = row.get(7)?;
    let opening = branch.as_ref().map(|branch| opening_of(transaction, branch)).transpose()?.flatten();
    let (project, git_branch, shown) = opening.unwrap_or_default();
    let said = match (&branch, generation) {
        (Some(branch), Some(generation)) => said_of(transaction, branch, generation)?,
        _ => None,
    };
    let state = branch.as_ref().map(|branch| state_of(transaction, branch)).transpose()?.flatten();
    Ok(OutboxEnd {
        event: row.get(0)?,
        path: row.get::<_, Option<String>>(3)?.map(ProjectHash::from_stored),
        at_ms: row.get(4)?,
        happened: from_json("event", &payload.0)?,
        branch: state,
        said,
        is_silenced: places::is_silenced(transaction, &session.owner, Some(&session.id), project.as_ref())?,
        project,
        git_branch,
        shown,
        attempts: row.get(8)?,
        session,
    })
}

pub(super) type OpeningPlace = (Option<ProjectKey>, Option<Scrubbed>, Vec<MemoryId>);

pub(super) fn opening_of(transaction: &Transaction<'_>, branch: &BranchId) -> Result<Option<OpeningPlace>, StoreError> {
    let sql = "SELECT project, git_branch, memories FROM memory_shown WHERE branch = ?1";
    let mut statement = transaction.prepare_cached(sql)?;
    let mut rows = statement.query([branch.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let shown: Vec<ShownMemory> = column(row, 2, "memories")?;
    Ok(Some((
        row.get::<_, Option<String>>(0)?.map(ProjectKey::from_stored),
        row.get::<_, Option<String>>(1)?.map(stored_text),
        shown.into_iter().map(|shown| shown.id).collect(),
    )))
}

fn said_of(
    transaction: &Transaction<'_>,
    branch: &BranchId,
    generation: u32,
) -> Result<Option<NewLessons>, StoreError> {
    let content: Option<Payload> = transaction
        .prepare_cached("SELECT content FROM memory_lessons WHERE branch = ?1 AND generation = ?2")?
        .query_row(params![branch.as_str(), generation], |row| row.get(0))
        .optional()?;
    content.map(|content| from_json("lessons", &content.0)).transpose()
}

fn state_of(transaction: &Transaction<'_>, branch: &BranchId) -> Result<Option<Branch>, StoreError> {
    let mut statement = transaction.prepare_cached("SELECT state FROM branches WHERE id = ?1")?;
    let mut rows = statement.query([branch.as_str()])?;
    rows.next()?.map(|row| column(row, 0, "branch")).transpose()
}
