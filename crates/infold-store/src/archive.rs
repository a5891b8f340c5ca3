//! Ended branches, kept beyond their session's live state: what each gave back, and everything it saw.

use infold_core::{Branch, BranchId, Event, Owner};
use rusqlite::{Transaction, params};
use serde::{Deserialize, Serialize};

use crate::codec::{column, from_json, unpack_text};
use crate::feed::{COLUMNS, recorded};
use crate::{Store, StoreError};

/// Which archived branches are wanted.
#[derive(Debug, Clone)]
pub struct ArchiveQuery {
    /// Whose.
    pub owner: Owner,
    /// Of which session; all if none is named.
    pub session: Option<String>,
    /// How many to pass over.
    pub offset: usize,
    /// At most how many.
    pub limit: usize,
}

/// A branch that ended.
#[derive(Debug, Clone)]
pub struct Archived {
    /// The session it belonged to.
    pub session: String,
    /// Which opening of the branch this was.
    pub generation: u32,
    /// When it ended.
    pub ended_at_ms: u64,
    /// The branch as it was then.
    pub branch: Branch,
}

/// One step of a branch's way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// When.
    pub at_ms: u64,
    /// What happened.
    pub event: Event,
}

/// A branch that ended, with everything that happened in it.
#[derive(Debug, Clone)]
pub struct Trajectory {
    /// The branch.
    pub archived: Archived,
    /// What happened in it, in order.
    pub steps: Vec<Step>,
}

const ROW: &str = "session, generation, ended_at, state";

fn archived(row: &rusqlite::Row<'_>) -> Result<Archived, StoreError> {
    Ok(Archived {
        session: row.get(0)?,
        generation: row.get(1)?,
        ended_at_ms: row.get(2)?,
        branch: column(row, 3, "branch")?,
    })
}

impl Store {
    /// Ended branches, newest first.
    pub async fn archive(&self, query: ArchiveQuery) -> Result<Vec<Archived>, StoreError> {
        self.read(move |transaction| {
            let sql = format!(
                "SELECT {ROW} FROM archive WHERE owner = ?1 AND (?2 IS NULL OR session = ?2)
                 ORDER BY ended_at DESC, branch LIMIT ?3 OFFSET ?4"
            );
            let mut statement = transaction.prepare_cached(&sql)?;
            let mut rows = statement.query(params![query.owner.as_str(), query.session, query.limit, query.offset])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(archived(row)?);
            }
            Ok(found)
        })
        .await
    }

    /// An ended branch with everything that happened in it; its latest generation if none is named.
    pub async fn trajectory(
        &self,
        owner: Owner,
        branch: BranchId,
        generation: Option<u32>,
    ) -> Result<Option<Trajectory>, StoreError> {
        self.read(move |transaction| {
            let sql = format!(
                "SELECT {ROW}, trajectory FROM archive WHERE branch = ?1 AND owner = ?2
                 AND (?3 IS NULL OR generation = ?3) ORDER BY generation DESC LIMIT 1"
            );
            let mut statement = transaction.prepare_cached(&sql)?;
            let mut rows = statement.query(params![branch.as_str(), owner.as_str(), generation])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let archived = archived(row)?;
            let packed: Option<Vec<u8>> = row.get(4)?;
            let mut steps: Vec<Step> = match packed {
                Some(packed) => from_json("trajectory", &unpack_text(&packed)?)?,
                None => live_steps(transaction, &branch)?,
            };
            if let Some(end) = steps.iter().position(|step| ends(&step.event, archived.generation)) {
                steps.truncate(end + 1);
            }
            Ok(Some(Trajectory { archived, steps }))
        })
        .await
    }
}

/// Whether an event is the end of one opening of its branch. What comes after belongs to a later one.
fn ends(event: &Event, of: u32) -> bool {
    matches!(event, Event::BranchEnded { generation, .. } if *generation == of)
}

pub(crate) fn live_steps(transaction: &Transaction<'_>, branch: &BranchId) -> Result<Vec<Step>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM events JOIN sessions ON sessions.id = events.session_id
         WHERE events.branch = ?1 ORDER BY events.id"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let mut rows = statement.query([branch.as_str()])?;
    let mut steps = Vec::new();
    while let Some(row) = rows.next()? {
        let recorded = recorded(row)?;
        steps.push(Step { at_ms: recorded.at_ms, event: recorded.event });
    }
    Ok(steps)
}
