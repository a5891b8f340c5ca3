//! Replays a session's log to find its ended branches: each as it was when it ended, with everything that had happened
//! in it until then.

use infold_core::{Branch, BranchId, Event, Session};
use rusqlite::Transaction;
use serde::{Deserialize, Serialize};

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

fn steps_of(steps: &[ReplayStep], branch: &BranchId) -> Vec<ReplayStep> {
    steps.iter().filter(|step| step.event.branch() == Some(branch)).cloned().collect()
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
    let (mut steps, mut found): (Vec<ReplayStep>, Vec<Ended>) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let recorded = recorded(row)?;
        session.apply(&recorded.event, recorded.at_ms);
        steps.push(ReplayStep { at_ms: recorded.at_ms, event: recorded.event });
        let Some(ReplayStep { event, at_ms }) = steps.last() else { continue };
        match event {
            Event::BranchEnded { branch, generation, .. } => {
                let Some(ended) = session.branches.get(branch) else { continue };
                found.push(Ended {
                    generation: *generation,
                    at_ms: *at_ms,
                    branch: ended.clone(),
                    steps: steps_of(&steps, branch),
                });
            }
            Event::ResultAmended { branch, generation, .. } => {
                let is_its = |end: &&mut Ended| end.branch.id == *branch && end.generation == *generation;
                let (Some(end), Some(ended)) = (found.iter_mut().rfind(is_its), session.branches.get(branch)) else {
                    continue;
                };
                (end.branch, end.steps) = (ended.clone(), steps_of(&steps, branch));
            }
            _ => {}
        }
    }
    Ok(found)
}
