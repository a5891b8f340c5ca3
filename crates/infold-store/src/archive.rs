//! Ended branches: what each returned, and everything that it saw. Branches of a session that has lapsed are in the
//! archive's own table; those of a live session are read from its rows, and look the same.

use infold_core::{Branch, BranchId, Owner};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::codec::{column, from_json, unpack_text};
use crate::load::session_key;
use crate::replay::{ReplayStep, ends, latest_end};
use crate::{Store, StoreError};

/// Selects ended branches for a list.
#[derive(Debug, Clone)]
pub struct ArchiveQuery {
    /// Only branches of this owner's sessions.
    pub owner: Owner,
    /// Only branches of the session with this name; `None` means all sessions.
    pub session: Option<String>,
    /// How many of the newest branches to skip.
    pub offset: usize,
    /// How many branches to return at most.
    pub limit: usize,
}

/// A branch that ended, as it was at that moment.
#[derive(Debug, Clone)]
pub struct Archived {
    /// The name of the session that the branch belonged to.
    pub session: String,
    /// Which opening of the branch this was: a rollback opens a branch again.
    pub generation: u32,
    /// When the branch ended, in milliseconds since 1970.
    pub ended_at_ms: u64,
    /// The branch's state at its end.
    pub branch: Branch,
}

/// A branch that ended, with everything that happened in it.
#[derive(Debug, Clone)]
pub struct Trajectory {
    /// Which branch ended, and when.
    pub archived: Archived,
    /// Every event of the branch up to its end, oldest first.
    pub steps: Vec<ReplayStep>,
}

/// Ended branches of live sessions and of lapsed ones, in one form.
const ALL: &str = "
    SELECT sessions.name AS session, branches.state ->> '$.generation' AS generation,
           branches.state ->> '$.end.at_ms' AS ended_at, branches.state AS state, branches.id AS branch
    FROM branches JOIN sessions ON sessions.id = branches.session_id
    WHERE sessions.owner = ?1 AND branches.open = 0 AND (?2 IS NULL OR sessions.name = ?2)
    UNION ALL
    SELECT session, generation, ended_at, state, branch FROM archive
    WHERE owner = ?1 AND (?2 IS NULL OR session = ?2)";

impl Store {
    /// Lists ended branches, newest first.
    pub async fn archive(&self, query: ArchiveQuery) -> Result<Vec<Archived>, StoreError> {
        self.read(move |transaction| {
            let sql = format!("SELECT * FROM ({ALL}) ORDER BY ended_at DESC, branch LIMIT ?3 OFFSET ?4");
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

    /// Reads an ended branch with everything that happened in it: its latest generation if none is named.
    pub async fn trajectory(
        &self,
        owner: Owner,
        branch: BranchId,
        generation: Option<u32>,
    ) -> Result<Option<Trajectory>, StoreError> {
        self.read(move |transaction| match live(transaction, &owner, &branch, generation)? {
            Some(trajectory) => Ok(Some(trajectory)),
            None => lapsed(transaction, &owner, &branch, generation),
        })
        .await
    }
}

fn archived(row: &rusqlite::Row<'_>) -> Result<Archived, StoreError> {
    Ok(Archived {
        session: row.get(0)?,
        generation: row.get(1)?,
        ended_at_ms: row.get(2)?,
        branch: column(row, 3, "branch")?,
    })
}

fn live(
    transaction: &Transaction<'_>,
    owner: &Owner,
    branch: &BranchId,
    generation: Option<u32>,
) -> Result<Option<Trajectory>, StoreError> {
    let session: Option<(String, String)> = transaction
        .prepare_cached(
            "SELECT sessions.owner, sessions.name FROM branches JOIN sessions ON sessions.id = session_id
             WHERE branches.id = ?1 AND sessions.owner = ?2",
        )?
        .query_row(params![branch.as_str(), owner.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some(session) = session else { return Ok(None) };
    let key = session_key(session)?;
    let wanted = |of: u32| generation.is_none_or(|generation| generation == of);
    let latest = match latest_end(transaction, &key, branch)?.filter(|end| wanted(end.generation)) {
        Some(end) => Some(end),
        None => ends(transaction, &key)?.into_iter().rfind(|end| end.branch.id == *branch && wanted(end.generation)),
    };
    Ok(latest.map(|end| Trajectory {
        archived: Archived {
            session: key.id.to_string(),
            generation: end.generation,
            ended_at_ms: end.at_ms,
            branch: end.branch,
        },
        steps: end.steps,
    }))
}

fn lapsed(
    transaction: &Transaction<'_>,
    owner: &Owner,
    branch: &BranchId,
    generation: Option<u32>,
) -> Result<Option<Trajectory>, StoreError> {
    let mut statement = transaction.prepare_cached(
        "SELECT session, generation, ended_at, state, trajectory FROM archive WHERE branch = ?1 AND owner = ?2
         AND (?3 IS NULL OR generation = ?3) ORDER BY generation DESC LIMIT 1",
    )?;
    let mut rows = statement.query(params![branch.as_str(), owner.as_str(), generation])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let packed: Vec<u8> = row.get(4)?;
    let steps = from_json("trajectory", &unpack_text(&packed)?)?;
    Ok(Some(Trajectory { archived: archived(row)?, steps }))
}
