//! Recording a decision: its events, and the session and branches as they are afterwards, all or
//! nothing, and only if the session is still the one that was decided on.

use std::sync::Arc;

use infold_core::{BlobId, BranchId, Decision, Scrubbed};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::codec::{Payload, to_json};
use crate::{NewDecisions, NewLessons, NewShown, Reply, Room, SessionKey, Store, StoreError};
use crate::{blobs, memory, proxied, reply, room};

/// A tool result that is offloaded: it is stored, and the model is shown a reference.
#[derive(Debug, Clone)]
pub struct NewBlob {
    /// The handle by which the result is read back.
    pub id: BlobId,
    /// The name of the tool that gave the result.
    pub tool_name: Scrubbed,
    /// The whole result, with secrets taken out.
    pub content: Scrubbed,
    /// The branch that the result was seen in; `None` for the main thread.
    pub branch: Option<BranchId>,
}

/// Whether a session of a project has to be the project's current one when it is recorded for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectSlot {
    /// It has to. If another session is current already, the append is refused with [`StoreError::Moved`], and the
    /// caller uses the other one.
    Current,
    /// It need not be the current one, because its caller named it.
    Any,
}

/// A decision, with everything that is written in the same transaction.
#[derive(Debug)]
pub struct Append {
    /// The version of the session that the decision was made on; 0 for a new session.
    pub decided_on: u64,
    /// When the decision was made, in milliseconds since 1970.
    pub at_ms: u64,
    /// The events to write, and the session and its branches after them.
    pub decision: Arc<Decision>,
    /// Offloaded results to store.
    pub blobs: Vec<NewBlob>,
    /// What was decided about the session's model requests.
    pub new_decisions: NewDecisions,
    /// What the branch that returns says about lessons.
    pub lessons: Option<NewLessons>,
    /// What the branch that is opened was given.
    pub shown: Option<NewShown>,
    /// The answer to store, if the call had an idempotency key.
    pub reply: Option<Reply>,
    /// Whether a new session has to be its project's current one.
    pub place: ProjectSlot,
    /// How many branches may be open.
    pub room: Room,
}

impl Store {
    /// Records a decision. It is on disk when this returns.
    #[tracing::instrument(name = "store_append", skip_all)]
    pub async fn append(&self, append: Append) -> Result<(), StoreError> {
        self.inner.writer.run(move |transaction| write(transaction, &append)).await
    }
}

fn write(transaction: &Transaction<'_>, append: &Append) -> Result<(), StoreError> {
    let session = &append.decision.after;
    let key = SessionKey { owner: session.owner.clone(), id: session.id.clone() }.as_text();

    check_version(transaction, &key, append.decided_on)?;
    write_session(transaction, &key, append)?;
    write_branches(transaction, &key, append)?;
    write_events(transaction, &key, append)?;
    for blob in &append.blobs {
        blobs::insert(transaction, &key, session.owner.as_str(), blob)?;
    }
    proxied::save_decisions(transaction, &key, &append.new_decisions)?;
    memory::write_lessons(transaction, &key, append)?;
    memory::write_shown(transaction, append)?;
    if let Some(reply) = &append.reply {
        reply::write(transaction, &key, reply)?;
    }
    Ok(())
}

fn check_version(transaction: &Transaction<'_>, key: &str, decided_on: u64) -> Result<(), StoreError> {
    let version: Option<u64> = transaction
        .prepare_cached("SELECT version FROM sessions WHERE id = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    if version.unwrap_or(0) == decided_on { Ok(()) } else { Err(StoreError::Moved) }
}

fn write_session(transaction: &Transaction<'_>, key: &str, append: &Append) -> Result<(), StoreError> {
    let session = &append.decision.after;
    let project = session.project.as_ref().map(|project| project.as_str());
    let state = to_json("session", session)?;
    transaction
        .prepare_cached(
            "INSERT INTO sessions (id, owner, name, project, version, active_at, ended_at, state)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (id) DO UPDATE SET version = ?5, active_at = ?6, ended_at = ?7, state = ?8",
        )?
        .execute(params![
            key,
            session.owner.as_str(),
            session.id.as_str(),
            project,
            session.version,
            session.active_at_ms,
            session.ended_at_ms,
            state
        ])?;
    if let Some(project) = project {
        write_project(transaction, key, append, project)?;
    }
    Ok(())
}

/// Makes the session its project's current one, unless another is that already. A session that has ended is no longer
/// it.
fn write_project(transaction: &Transaction<'_>, key: &str, append: &Append, project: &str) -> Result<(), StoreError> {
    let session = &append.decision.after;
    let owner = session.owner.as_str();
    if session.ended_at_ms.is_some() {
        transaction
            .prepare_cached("DELETE FROM projects WHERE owner = ?1 AND project = ?2 AND session_id = ?3")?
            .execute(params![owner, project, key])?;
        return Ok(());
    }
    let taken = transaction
        .prepare_cached("INSERT OR IGNORE INTO projects (owner, project, session_id) VALUES (?1, ?2, ?3)")?
        .execute(params![owner, project, key])?
        == 0;
    let is_new = append.decided_on == 0;
    if taken && is_new && append.place == ProjectSlot::Current { Err(StoreError::Moved) } else { Ok(()) }
}

fn write_branches(transaction: &Transaction<'_>, key: &str, append: &Append) -> Result<(), StoreError> {
    let mut opened: i64 = 0;
    for id in &append.decision.changed {
        let Some(branch) = append.decision.after.branches.get(id) else { continue };
        let was_open = stored_openness(transaction, key, id)?;
        opened += i64::from(branch.is_open()) - i64::from(was_open.unwrap_or(false));
        transaction
            .prepare_cached(
                "INSERT INTO branches (id, session_id, ordinal, open, opened_at, deadline, state)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                 ON CONFLICT (id) DO UPDATE SET open = ?4, deadline = ?6, state = ?7",
            )?
            .execute(params![
                id.as_str(),
                key,
                branch.ordinal,
                branch.is_open(),
                branch.opened_at_ms,
                branch.deadline_ms,
                to_json("branch", branch)?
            ])?;
    }
    if opened > 0 { room::check(transaction, append) } else { Ok(()) }
}

fn stored_openness(transaction: &Transaction<'_>, key: &str, id: &BranchId) -> Result<Option<bool>, StoreError> {
    let found: Option<(String, bool)> = transaction
        .prepare_cached("SELECT session_id, open FROM branches WHERE id = ?1")?
        .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        Some((session, _)) if session != key => Err(StoreError::IdTaken(id.clone())),
        Some((_, open)) => Ok(Some(open)),
        None => Ok(None),
    }
}

fn write_events(transaction: &Transaction<'_>, key: &str, append: &Append) -> Result<(), StoreError> {
    for (version, event) in (append.decided_on + 1..).zip(&append.decision.events) {
        let payload = Payload(to_json("event", event)?);
        let branch = event.branch().map(BranchId::as_str);
        let (generation, status) = memory::end_columns(event, &append.decision.after);
        transaction
            .prepare_cached(
                "INSERT INTO events (id, session_id, version, at, branch, generation, status, payload)
                 VALUES ((SELECT id FROM next_event), ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![key, version, append.at_ms, branch, generation, status, payload])?;
    }
    Ok(())
}
