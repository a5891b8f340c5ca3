//! Letting go of what is over: sessions that nobody has used for a day, archives past their time.
//!
//! A session's trajectories are packed into the archive before its live state goes.

use infold_core::BranchId;
use rusqlite::{Transaction, params};

use crate::archive::live_steps;
use crate::codec::{pack, to_json};
use crate::{Store, StoreError};

/// What is over by now.
#[derive(Debug, Clone, Copy)]
pub struct Sweep {
    /// Sessions last used before this lapse.
    pub active_before_ms: u64,
    /// Archived branches that ended before this go.
    pub ended_before_ms: u64,
    /// At most so many sessions in one go, so that writers do not wait long.
    pub sessions_max: usize,
}

/// What went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Sessions whose live state lapsed.
    pub sessions: usize,
    /// Archived branches that went.
    pub archived: usize,
}

impl Store {
    /// Lets go of what is over. A session with open branches stays: they are folded first.
    pub async fn sweep(&self, sweep: Sweep) -> Result<Swept, StoreError> {
        self.inner.writer.run(move |transaction| run(transaction, sweep)).await
    }
}

fn run(transaction: &Transaction<'_>, sweep: Sweep) -> Result<Swept, StoreError> {
    let lapsed: Vec<String> = transaction
        .prepare_cached(
            "SELECT id FROM sessions WHERE active_at < ?1
             AND NOT EXISTS (SELECT 1 FROM branches WHERE session_id = sessions.id AND open = 1) LIMIT ?2",
        )?
        .query_map(params![sweep.active_before_ms, sweep.sessions_max], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for session in &lapsed {
        pack_trajectories(transaction, session)?;
        transaction.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([session])?;
    }
    if !lapsed.is_empty() {
        transaction.execute(
            "DELETE FROM blob_contents WHERE NOT EXISTS (SELECT 1 FROM tool_result_blobs WHERE content = hash)",
            [],
        )?;
    }
    let archived =
        transaction.prepare_cached("DELETE FROM archive WHERE ended_at < ?1")?.execute([sweep.ended_before_ms])?;
    Ok(Swept { sessions: lapsed.len(), archived })
}

fn pack_trajectories(transaction: &Transaction<'_>, session: &str) -> Result<(), StoreError> {
    let branches: Vec<String> = transaction
        .prepare_cached("SELECT id FROM branches WHERE session_id = ?1")?
        .query_map([session], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for branch in branches {
        let steps = live_steps(transaction, &BranchId::from_stored(branch.clone()))?;
        let packed = pack(to_json("trajectory", &steps)?.as_bytes())?;
        transaction
            .prepare_cached("UPDATE archive SET trajectory = ?2 WHERE branch = ?1")?
            .execute(params![branch, packed])?;
    }
    Ok(())
}
