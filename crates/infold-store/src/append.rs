//! Recording a decision: its events, and the session and branches as they are afterwards, all or
//! nothing, and only if the session is still the one that was decided on.

use std::sync::Arc;

use infold_core::{BlobId, BranchId, Decision, Event, Scrubbed};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::codec::{Payload, to_json};
use crate::{NewDecisions, SessionKey, StoreError, blobs, proxied};

/// A result that is kept out of the context.
#[derive(Debug, Clone)]
pub struct NewBlob {
    /// Its handle.
    pub id: BlobId,
    /// The tool that gave it.
    pub tool_name: Scrubbed,
    /// The whole result.
    pub content: Scrubbed,
    /// The branch it was seen in; none is the main thread.
    pub branch: Option<BranchId>,
}

/// What is answered again when a call is repeated with the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The caller's key.
    pub key: String,
    /// A hash of the request, to tell a repetition from a mistake.
    pub fingerprint: [u8; 32],
    /// The answer, as the engine wrote it.
    pub answer: String,
}

/// What a session that belongs to a project and is recorded for the first time needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectSlot {
    /// To become the project's current one; if another is that already, it is the one to use.
    Current,
    /// Any: its caller named it.
    Any,
}

/// A decision to be recorded.
#[derive(Debug)]
pub struct Append {
    /// The version that was decided on.
    pub decided_on: u64,
    /// When.
    pub at_ms: u64,
    /// What was decided.
    pub decision: Arc<Decision>,
    /// Results to keep with it.
    pub blobs: Vec<NewBlob>,
    /// Decisions of the proxy to keep with it.
    pub keep: NewDecisions,
    /// An answer to keep with it.
    pub reply: Option<Reply>,
    /// What place the session needs among its project's, if it is new.
    pub place: ProjectSlot,
    /// Open branches that the database may hold.
    pub open_branches_max: u64,
}

pub(crate) fn append(transaction: &Transaction<'_>, append: &Append) -> Result<(), StoreError> {
    let session = &append.decision.after;
    let key = SessionKey { owner: session.owner.clone(), id: session.id.clone() }.as_text();

    check_version(transaction, &key, append.decided_on)?;
    write_session(transaction, &key, append)?;
    write_branches(transaction, &key, append)?;
    write_events(transaction, &key, append)?;
    for blob in &append.blobs {
        blobs::insert(transaction, &key, session.owner.as_str(), blob)?;
    }
    proxied::keep(transaction, &key, &append.keep)?;
    if let Some(reply) = &append.reply {
        write_reply(transaction, &key, reply)?;
    }
    Ok(())
}

fn check_version(transaction: &Transaction<'_>, key: &str, decided_on: u64) -> Result<(), StoreError> {
    let stands_at: Option<u64> = transaction
        .prepare_cached("SELECT version FROM sessions WHERE id = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    if stands_at.unwrap_or(0) == decided_on { Ok(()) } else { Err(StoreError::Moved) }
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

/// The session is its project's current one, unless another is already, or it is over.
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
    if opened > 0 { check_room(transaction, append.open_branches_max) } else { Ok(()) }
}

fn check_room(transaction: &Transaction<'_>, open_max: u64) -> Result<(), StoreError> {
    let standing: u64 =
        transaction.prepare_cached("SELECT count(*) FROM branches WHERE open = 1")?.query_row([], |row| row.get(0))?;
    if standing > open_max { Err(StoreError::InstanceFull { open_max }) } else { Ok(()) }
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
        let end = match event {
            // What says how it ended is what waits to be learnt from.
            Event::BranchEnded { generation, reason, .. } => {
                Some((*generation, reason.can_teach().then(|| reason.status().as_str())))
            }
            _ => None,
        };
        transaction
            .prepare_cached(
                "INSERT INTO events (id, session_id, version, at, branch, generation, status, payload)
                 VALUES ((SELECT id FROM next_event), ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                key,
                version,
                append.at_ms,
                branch,
                end.map(|(generation, _)| generation),
                end.and_then(|(_, status)| status),
                payload
            ])?;
    }
    Ok(())
}

fn write_reply(transaction: &Transaction<'_>, key: &str, reply: &Reply) -> Result<(), StoreError> {
    let inserted = transaction
        .prepare_cached("INSERT OR IGNORE INTO replies (session_id, key, fingerprint, answer) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![key, reply.key, reply.fingerprint, reply.answer])?;
    // Somebody else's call with this key came first: looking again finds its answer.
    if inserted == 1 { Ok(()) } else { Err(StoreError::Moved) }
}
