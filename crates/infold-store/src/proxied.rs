//! What the proxy has decided about a session's requests, kept so that the same bytes are sent for ever.

mod chains;
mod read;

use infold_core::view::{Anchor, BlockKey, ForcedFold, Note, Reason, Replacement, Restart, ScriptedCall};
use infold_core::{BlobId, Session, Thread};
use rusqlite::{Transaction, params};

use crate::StoreError;
use crate::codec::{Payload, to_json};

/// Decisions to be kept.
#[derive(Debug, Clone, Default)]
pub struct NewDecisions {
    /// What is sent in place of results, by the ids of their calls.
    pub rewrites: Vec<(String, Replacement)>,
    /// Where branches end that no call ends.
    pub endings: Vec<ForcedFold>,
    /// Words behind results.
    pub notes: Vec<Note>,
    /// Where threads were started anew.
    pub restarts: Vec<Restart>,
    /// What our own tools answered, by what tells the calls from others.
    pub answers: Vec<(BlockKey, String)>,
    /// Words that an open branch heard, by their places.
    pub heard: Vec<BlockKey>,
    /// Calls of our tools that scripts made, in their order, each with the id of the call that ran its script.
    pub scripted: Vec<(String, ScriptedCall)>,
    /// Results that were counted.
    pub counted: Vec<CountedCall>,
    /// Whether the session's model is sent something else than came in.
    pub folds: Folds,
}

/// Whether a session's model is sent something else than came in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Folds {
    /// Nothing new is known of that.
    #[default]
    Unsaid,
    /// It is.
    Yes,
}

impl NewDecisions {
    /// Whether there is nothing to be kept.
    pub fn is_empty(&self) -> bool {
        self.rewrites.is_empty()
            && self.endings.is_empty()
            && self.notes.is_empty()
            && self.restarts.is_empty()
            && self.answers.is_empty()
            && self.heard.is_empty()
            && self.scripted.is_empty()
            && self.counted.is_empty()
            && self.folds == Folds::Unsaid
    }
}

/// A result that was counted in a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedCall {
    /// A digest of its call's id.
    pub call: [u8; 16],
    /// A digest of the result.
    pub content: [u8; 16],
    /// Where it is kept and what is shown of it, if it is kept elsewhere.
    pub offloaded: Option<(BlobId, String)>,
}

/// What is kept of a session.
#[derive(Debug, Clone, Default)]
pub struct KeptDecisions {
    /// Decisions stored so far.
    pub decisions: u64,
    /// Whether its model was ever sent something else than came in.
    pub has_folded: bool,
    /// What is sent in place of results, by the ids of their calls.
    pub rewrites: Vec<(String, Replacement)>,
    /// Where branches end that no call ends.
    pub endings: Vec<ForcedFold>,
    /// Words behind results.
    pub notes: Vec<Note>,
    /// Where threads were started anew.
    pub restarts: Vec<Restart>,
    /// What our own tools answered, by what tells the calls from others.
    pub answers: Vec<(BlockKey, String)>,
    /// Words that an open branch heard, by their places.
    pub heard: Vec<BlockKey>,
    /// Calls of our tools that scripts made, in their order, each with the id of the call that ran its script.
    pub scripted: Vec<(String, ScriptedCall)>,
}

/// A session with all its branches, and what is kept of it.
#[derive(Debug, Clone)]
pub struct Proxied {
    /// The session.
    pub session: Session,
    /// What is kept.
    pub kept: KeptDecisions,
}

/// How far a session is: whoever knows it as it stood at the same figures knows all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Events so far.
    pub version: u64,
    /// Decisions so far.
    pub decisions: u64,
}

pub(crate) use read::counted;

pub(crate) fn keep(transaction: &Transaction<'_>, key: &str, keep: &NewDecisions) -> Result<(), StoreError> {
    if keep.is_empty() {
        return Ok(());
    }
    transaction
        .prepare_cached(
            "INSERT INTO proxied (session_id, decisions, has_folded) VALUES (?1, 1, ?2)
             ON CONFLICT (session_id) DO UPDATE SET decisions = decisions + 1, has_folded = max(has_folded, ?2)",
        )?
        .execute(params![key, keep.folds == Folds::Yes])?;
    for (call, rewrite) in &keep.rewrites {
        keep_rewrite(transaction, key, call, rewrite)?;
    }
    for ending in &keep.endings {
        keep_ending(transaction, key, ending)?;
    }
    for note in &keep.notes {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO notes (session_id, after_call, text) VALUES (?1, ?2, ?3)")?
            .execute(params![key, note.after, note.text])?;
    }
    for restart in &keep.restarts {
        keep_restart(transaction, key, restart)?;
    }
    for (call, answer) in &keep.answers {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO answers (session_id, call, answer) VALUES (?1, ?2, ?3)")?
            .execute(params![key, call.0, Payload(answer.clone())])?;
    }
    for place in &keep.heard {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO heard (session_id, place) VALUES (?1, ?2)")?
            .execute(params![key, place.0])?;
    }
    for (run_by, call) in &keep.scripted {
        keep_scripted(transaction, key, run_by, call)?;
    }
    for counted in &keep.counted {
        keep_counted(transaction, key, counted)?;
    }
    Ok(())
}

/// What was decided for a content stays, unless a rescue starts its thread anew. A client that sends another
/// content has another decided for it.
fn keep_rewrite(transaction: &Transaction<'_>, key: &str, call: &str, rewrite: &Replacement) -> Result<(), StoreError> {
    let unreadable = |problem: String| StoreError::Unreadable { what: "rewrite", problem };
    let sent = std::str::from_utf8(&rewrite.sent).map_err(|error| unreadable(error.to_string()))?;
    transaction
        .prepare_cached(
            "INSERT INTO rewrites (session_id, call_id, content, sent, reason) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (session_id, call_id) DO UPDATE SET content = ?3, sent = ?4, reason = ?5
             WHERE content <> ?3 OR (?6 AND reason <> ?5)",
        )?
        .execute(params![
            key,
            call,
            rewrite.content.0,
            Payload(sent.to_owned()),
            to_json("reason", &rewrite.reason)?,
            rewrite.reason == Reason::Rescued
        ])?;
    Ok(())
}

fn keep_restart(transaction: &Transaction<'_>, key: &str, restart: &Restart) -> Result<(), StoreError> {
    let (after, before) = columns(&restart.place);
    transaction
        .prepare_cached(
            "INSERT INTO restarts (session_id, root, from_call, after_call, before_block)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![key, restart.root.as_ref().map(Thread::to_string), restart.from, after, before])?;
    Ok(())
}

/// The two columns that a place is kept in.
fn columns(place: &Anchor) -> (Option<&str>, Option<[u8; 16]>) {
    match place {
        Anchor::After { call } => (Some(call), None),
        Anchor::Before { block } => (None, Some(block.0)),
    }
}

fn keep_ending(transaction: &Transaction<'_>, key: &str, ending: &ForcedFold) -> Result<(), StoreError> {
    let (after, before) = columns(&ending.place);
    transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO endings (session_id, branch, generation, after_call, before_block, result)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![key, ending.branch.as_str(), ending.generation, after, before, ending.result])?;
    Ok(())
}

fn keep_scripted(
    transaction: &Transaction<'_>,
    key: &str,
    run_by: &str,
    call: &ScriptedCall,
) -> Result<(), StoreError> {
    transaction
        .prepare_cached(
            "INSERT INTO scripted (session_id, run_by, tool, arguments, answer) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![key, run_by, call.tool, Payload(call.arguments.clone()), Payload(call.answer.clone())])?;
    Ok(())
}

fn keep_counted(transaction: &Transaction<'_>, key: &str, counted: &CountedCall) -> Result<(), StoreError> {
    let (blob, shown) = counted.offloaded.as_ref().map(|(blob, shown)| (blob.as_str(), shown)).unzip();
    transaction
        .prepare_cached(
            "INSERT INTO counted (session_id, call, content, blob, shown) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (session_id, call) DO NOTHING",
        )?
        .execute(params![key, counted.call, counted.content, blob, shown])?;
    Ok(())
}

#[cfg(test)]
mod tests;
