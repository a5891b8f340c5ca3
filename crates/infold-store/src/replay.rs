//! Replays a session's log to find its ended branches: each as it was when it ended, with everything that had happened
//! in it until then.

use std::collections::BTreeMap;

use infold_core::{Branch, BranchId, Event, Session};
use rusqlite::{Transaction, params};
use serde::{Deserialize, Serialize};

use crate::codec::from_json;
use crate::feed::{COLUMNS, recorded};
use crate::{SessionKey, StoreError};

/// One event in the history of an ended branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayStep {
    /// When the event was recorded, in milliseconds since 1970.
    pub at_ms: u64,
    /// What happened to the branch.
    pub event: Event,
}

/// A branch as it was when it ended.
pub(crate) struct Ended {
    pub(crate) generation: u32,
    pub(crate) at_ms: u64,
    pub(crate) branch: Branch,
    pub(crate) steps: Vec<ReplayStep>,
}

/// Reads the latest end of a branch without replaying its session, which may have thousands of others. `None` if something
/// has happened to the branch since: then only a replay knows what it was at its end.
pub(crate) fn latest_end(
    transaction: &Transaction<'_>,
    key: &SessionKey,
    branch: &BranchId,
) -> Result<Option<Ended>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM events JOIN sessions ON sessions.id = events.session_id
         WHERE events.session_id = ?1 AND events.branch = ?2 ORDER BY events.version"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let mut rows = statement.query(params![key.as_text(), branch.as_str()])?;
    let mut steps = Vec::new();
    let mut ended_at = None;
    while let Some(row) = rows.next()? {
        let recorded = recorded(row)?;
        ended_at = match recorded.event {
            Event::BranchEnded { generation, .. } => Some((generation, recorded.at_ms)),
            Event::ResultAmended { .. } => ended_at,
            _ => None,
        };
        steps.push(ReplayStep { at_ms: recorded.at_ms, event: recorded.event });
    }
    let Some((generation, at_ms)) = ended_at else { return Ok(None) };
    let mut statement = transaction.prepare_cached("SELECT state FROM branches WHERE id = ?1")?;
    let branch: Branch = from_json("branch", &statement.query_row([branch.as_str()], |row| row.get::<_, String>(0))?)?;
    Ok(Some(Ended { generation, at_ms, branch, steps }))
}

/// Lists every end of a branch that a session's log records, oldest first.
pub(crate) fn ends(transaction: &Transaction<'_>, key: &SessionKey) -> Result<Vec<Ended>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM events JOIN sessions ON sessions.id = events.session_id
         WHERE events.session_id = ?1 ORDER BY events.version"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let mut rows = statement.query([key.as_text()])?;
    let mut session = Session::new(key.owner.clone(), key.id.clone(), 0);
    let mut steps: BTreeMap<BranchId, Vec<ReplayStep>> = BTreeMap::new();
    let mut found: Vec<Ended> = Vec::new();
    while let Some(row) = rows.next()? {
        let recorded = recorded(row)?;
        let (event, at_ms) = (&recorded.event, recorded.at_ms);
        session.apply(event, at_ms);
        let Some(branch) = event.branch() else { continue };
        let steps = steps.entry(branch.clone()).or_default();
        steps.push(ReplayStep { at_ms, event: event.clone() });
        match event {
            Event::BranchEnded { branch, generation, .. } => {
                let Some(ended) = session.branches.get(branch) else { continue };
                found.push(Ended { generation: *generation, at_ms, branch: ended.clone(), steps: steps.clone() });
            }
            Event::ResultAmended { branch, generation, .. } => {
                let is_its = |end: &&mut Ended| end.branch.id == *branch && end.generation == *generation;
                let (Some(end), Some(ended)) = (found.iter_mut().rfind(is_its), session.branches.get(branch)) else {
                    continue;
                };
                (end.branch, end.steps) = (ended.clone(), steps.clone());
            }
            _ => {}
        }
    }
    Ok(found)
}
