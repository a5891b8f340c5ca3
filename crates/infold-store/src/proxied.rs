//! What was decided about the model requests of a session. It is stored so that every later request repeats the same
//! bytes. What a decision means is the core's; when it is made is the engine's.

mod prefixes;
mod read;

use infold_core::view::{Anchor, BlockKey, ForcedFold, Note, Replacement, Restart, ScriptedCall};
use infold_core::{BlobId, Session, Thread};
use rusqlite::{Transaction, params};

use crate::StoreError;
use crate::codec::{Payload, to_json};

/// Decisions about the model requests of a session, to be stored in one append.
#[derive(Debug, Clone, Default)]
pub struct NewDecisions {
    /// What is sent in place of results, by the ids of their calls.
    pub rewrites: Vec<(String, Replacement)>,
    /// Places where branches end without a call that ends them.
    pub endings: Vec<ForcedFold>,
    /// Words of infold's that follow results.
    pub notes: Vec<Note>,
    /// Places where threads were restarted: earlier reasoning is not sent any more.
    pub restarts: Vec<Restart>,
    /// What infold's own tools answered, by digests of the calls: clients may clear the results.
    pub answers: Vec<(BlockKey, String)>,
    /// Places of words that did not interrupt an open branch, because the answer before them broke off.
    pub continued: Vec<BlockKey>,
    /// Calls of infold's tools that scripts made, in order, each with the id of the call that ran the script.
    pub scripted: Vec<(String, ScriptedCall)>,
    /// Results that were counted in a thread.
    pub counted: Vec<CountedCall>,
    /// Threads whose agents ask for space.
    pub to_lighten: Vec<Thread>,
    /// Threads whose agents have got it, or could not get it.
    pub lightened: Vec<Thread>,
    /// Whether the session's model is sent anything but what its client sent.
    pub edits: Edits,
}

/// Whether a session's model is sent anything but what its client sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Edits {
    /// Nothing new is known: what is stored stays.
    #[default]
    Unsaid,
    /// It is. Once stored, this is never taken back.
    Yes,
}

impl NewDecisions {
    /// Whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.rewrites.is_empty()
            && self.endings.is_empty()
            && self.notes.is_empty()
            && self.restarts.is_empty()
            && self.answers.is_empty()
            && self.continued.is_empty()
            && self.scripted.is_empty()
            && self.counted.is_empty()
            && self.to_lighten.is_empty()
            && self.lightened.is_empty()
            && self.edits == Edits::Unsaid
    }
}

/// A result that was counted in a thread, so that it is not counted a second time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedCall {
    /// A digest of the id of the call that gave the result.
    pub call: [u8; 16],
    /// A digest of the result's content.
    pub content: [u8; 16],
    /// The blob, and the reference that is shown for it, if the result was offloaded.
    pub offloaded: Option<(BlobId, String)>,
}

/// The decisions that are stored for a session.
#[derive(Debug, Clone, Default)]
pub struct DecisionRows {
    /// How many appends have stored decisions for the session so far.
    pub appends: u64,
    /// Whether the session's model was ever sent anything but what its client sent.
    pub has_edited: bool,
    /// What is sent in place of results, by the ids of their calls.
    pub rewrites: Vec<(String, Replacement)>,
    /// Places where branches end without a call that ends them.
    pub endings: Vec<ForcedFold>,
    /// Words of infold's that follow results.
    pub notes: Vec<Note>,
    /// Places where threads were restarted: earlier reasoning is not sent any more.
    pub restarts: Vec<Restart>,
    /// What infold's own tools answered, by digests of the calls: clients may clear the results.
    pub answers: Vec<(BlockKey, String)>,
    /// Places of words that did not interrupt an open branch, because the answer before them broke off.
    pub continued: Vec<BlockKey>,
    /// Calls of infold's tools that scripts made, in order, each with the id of the call that ran the script.
    pub scripted: Vec<(String, ScriptedCall)>,
    /// Threads whose agents have asked for space and have not got it yet.
    pub to_lighten: Vec<Thread>,
}

/// A session with all its branches, and the decisions about its model requests.
#[derive(Debug, Clone)]
pub struct Proxied {
    /// The session, with its ended branches too.
    pub session: Session,
    /// Every decision that is stored for the session.
    pub decisions: DecisionRows,
}

/// How far a session has got. A copy of a session with the same revision is up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revision {
    /// How many events the session's log has.
    pub version: u64,
    /// How many appends have stored decisions for the session.
    pub appends: u64,
}

pub(crate) use read::counted;

pub(crate) fn save_decisions(transaction: &Transaction<'_>, key: &str, new: &NewDecisions) -> Result<(), StoreError> {
    if new.is_empty() {
        return Ok(());
    }
    transaction
        .prepare_cached(
            "INSERT INTO proxied (session_id, decisions, has_folded) VALUES (?1, 1, ?2)
             ON CONFLICT (session_id) DO UPDATE SET decisions = decisions + 1, has_folded = max(has_folded, ?2)",
        )?
        .execute(params![key, new.edits == Edits::Yes])?;
    for (call, rewrite) in &new.rewrites {
        save_rewrite(transaction, key, call, rewrite)?;
    }
    for ending in &new.endings {
        save_ending(transaction, key, ending)?;
    }
    for note in &new.notes {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO notes (session_id, after_call, text) VALUES (?1, ?2, ?3)")?
            .execute(params![key, note.after, note.text])?;
    }
    for restart in &new.restarts {
        save_restart(transaction, key, restart)?;
    }
    for (call, answer) in &new.answers {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO answers (session_id, call, answer) VALUES (?1, ?2, ?3)")?
            .execute(params![key, call.0, Payload(answer.clone())])?;
    }
    for place in &new.continued {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO heard (session_id, place) VALUES (?1, ?2)")?
            .execute(params![key, place.0])?;
    }
    for (run_by, call) in &new.scripted {
        save_scripted(transaction, key, run_by, call)?;
    }
    for counted in &new.counted {
        save_counted(transaction, key, counted)?;
    }
    for thread in &new.to_lighten {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO to_lighten (session_id, thread) VALUES (?1, ?2)")?
            .execute(params![key, thread.to_string()])?;
    }
    for thread in &new.lightened {
        transaction
            .prepare_cached("DELETE FROM to_lighten WHERE session_id = ?1 AND thread = ?2")?
            .execute(params![key, thread.to_string()])?;
    }
    Ok(())
}

/// Stores what is sent in place of a result. What was decided for a content stays, unless its thread is restarted.
/// If the client sends another content for the same call, what was decided for that replaces it.
fn save_rewrite(transaction: &Transaction<'_>, key: &str, call: &str, rewrite: &Replacement) -> Result<(), StoreError> {
    let unreadable = |problem: String| StoreError::Unreadable { what: "rewrite", problem };
    let sent = std::str::from_utf8(rewrite.sent.bytes()).map_err(|error| unreadable(error.to_string()))?;
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
            rewrite.reason.restarts_thread()
        ])?;
    Ok(())
}

fn save_restart(transaction: &Transaction<'_>, key: &str, restart: &Restart) -> Result<(), StoreError> {
    let (after, before) = columns(&restart.place);
    transaction
        .prepare_cached(
            "INSERT INTO restarts (session_id, root, from_call, after_call, before_block)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![key, restart.root.as_ref().map(Thread::to_string), restart.from, after, before])?;
    Ok(())
}

/// The two columns that an anchor is stored in. One of them is always empty.
fn columns(place: &Anchor) -> (Option<&str>, Option<[u8; 16]>) {
    match place {
        Anchor::After { call } => (Some(call), None),
        Anchor::Before { block } => (None, Some(block.0)),
    }
}

fn save_ending(transaction: &Transaction<'_>, key: &str, ending: &ForcedFold) -> Result<(), StoreError> {
    let (after, before) = columns(&ending.place);
    transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO endings (session_id, branch, generation, after_call, before_block, result)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![key, ending.branch.as_str(), ending.generation, after, before, ending.result])?;
    Ok(())
}

fn save_scripted(
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

/// A call that was run again is known by its last result.
fn save_counted(transaction: &Transaction<'_>, key: &str, counted: &CountedCall) -> Result<(), StoreError> {
    let (blob, shown) = counted.offloaded.as_ref().map(|(blob, shown)| (blob.as_str(), shown)).unzip();
    transaction
        .prepare_cached(
            "INSERT INTO counted (session_id, call, content, blob, shown) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (session_id, call) DO UPDATE SET content = ?3, blob = ?4, shown = ?5",
        )?
        .execute(params![key, counted.call, counted.content, blob, shown])?;
    Ok(())
}

#[cfg(test)]
mod tests;
