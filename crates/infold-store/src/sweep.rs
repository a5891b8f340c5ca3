//! Deletes what is over: sessions that nobody has used for a while, and archived branches past their time.
//!
//! A session's ended branches go to the archive before its own rows are deleted. The newest event id is stored before
//! that as well, because ids must not begin again. A session with ends that wait to be learnt from stays, but not longer
//! than archived branches do.

use infold_core::{Event, Scrubbed, SessionId};
use rusqlite::{Transaction, params};

use crate::codec::{pack, to_json};
use crate::load::session_key;
use crate::replay::{Ended, ends};
use crate::{SessionKey, Store, StoreError};

/// What is over by now, as times in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub struct Sweep {
    /// Sessions that were last used before this time lapse.
    pub active_before_ms: u64,
    /// Archived branches that ended before this time are deleted. Sessions that hold rescued results, or decisions
    /// about model requests, lapse by this time and not earlier: somebody's transcript refers to them.
    pub ended_before_ms: u64,
    /// How many sessions may lapse in one sweep, so that writers do not wait long.
    pub sessions_max: usize,
}

/// What a sweep deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Sessions whose own rows were deleted.
    pub sessions: usize,
    /// Archived branches that were deleted.
    pub archived: usize,
}

impl Store {
    /// Deletes what is over. A session with open branches stays until they are folded.
    pub async fn sweep(&self, sweep: Sweep) -> Result<Swept, StoreError> {
        self.inner.writer.run(move |transaction| run(transaction, sweep)).await
    }
}

fn run(transaction: &Transaction<'_>, sweep: Sweep) -> Result<Swept, StoreError> {
    let lapsed: Vec<(String, String)> = transaction
        .prepare_cached(
            "SELECT owner, name FROM sessions
             WHERE active_at < CASE WHEN substr(name, 1, length(?3)) = ?3
                 OR EXISTS (SELECT 1 FROM proxied WHERE session_id = sessions.id) THEN ?4 ELSE ?1 END
             AND NOT EXISTS (SELECT 1 FROM branches WHERE session_id = sessions.id AND open = 1)
             AND (active_at < ?4 OR NOT EXISTS (SELECT 1 FROM events WHERE session_id = sessions.id
                 AND status IS NOT NULL AND id > (SELECT learnt FROM instance))) LIMIT ?2",
        )?
        .query_map(
            params![sweep.active_before_ms, sweep.sessions_max, SessionId::RESCUED, sweep.ended_before_ms],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?
        .collect::<Result<_, _>>()?;
    let sessions = lapsed.len();
    if !lapsed.is_empty() {
        transaction.execute("UPDATE instance SET floor = (SELECT id - 1 FROM next_event)", [])?;
    }
    for (owner, name) in lapsed {
        let key = session_key((owner, name))?;
        archive(transaction, &key)?;
        transaction.prepare_cached("DELETE FROM memory_lessons WHERE session = ?1")?.execute([key.as_text()])?;
        transaction.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([key.as_text()])?;
    }
    if sessions > 0 {
        transaction.execute(
            "DELETE FROM blob_contents WHERE NOT EXISTS (SELECT 1 FROM tool_result_blobs WHERE content = hash)",
            [],
        )?;
    }
    transaction
        .prepare_cached(
            "DELETE FROM memory_shown WHERE at < ?1 AND NOT EXISTS (SELECT 1 FROM branches WHERE id = branch)",
        )?
        .execute([sweep.ended_before_ms])?;
    let archived =
        transaction.prepare_cached("DELETE FROM archive WHERE ended_at < ?1")?.execute([sweep.ended_before_ms])?;
    Ok(Swept { sessions, archived })
}

fn archive(transaction: &Transaction<'_>, key: &SessionKey) -> Result<(), StoreError> {
    for mut end in ends(transaction, key)? {
        forget_quotes(&mut end);
        let summary = end.branch.end.as_ref().map_or("", |end| end.result.as_str());
        transaction
            .prepare_cached(
                "INSERT INTO archive (branch, generation, owner, session, ended_at, summary, state, trajectory)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                end.branch.id.as_str(),
                end.generation,
                key.owner.as_str(),
                key.id.as_str(),
                end.at_ms,
                summary,
                to_json("branch", &end.branch)?,
                pack(to_json("trajectory", &end.steps)?.as_bytes())?
            ])?;
    }
    Ok(())
}

/// Takes the text of memories out of a branch's opening, because they may be forgotten later. Which they were stays.
fn forget_quotes(end: &mut Ended) {
    for step in &mut end.steps {
        if let Event::BranchOpened(opening) = &mut step.event
            && let Some(given) = &mut opening.injected
        {
            given.text = Scrubbed::default();
        }
    }
}
