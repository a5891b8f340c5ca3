//! JSON of what was done to memories: imported, changed, undone, forgotten.

use infold_core::Scrubbed;
use infold_core::memory::MemoryId;
use infold_engine::{ChangeRow, ForgetReport, LapsingText};
use schemars::JsonSchema;
use serde::Serialize;

use crate::moment::Moment;

/// What was forgotten, or would be.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoriesForgotten {
    /// The memories.
    memories: Vec<ForgottenMemory>,
    /// How many others lost what spoke for them.
    weakened: u64,
    /// How many archived branches went.
    archived: u64,
    /// How many branches' lessons went before they were learnt.
    pending: u64,
    /// Live sessions that hold text of it, and until when: what a session has recorded is not changed.
    held: Vec<HeldSession>,
}

/// A memory that was forgotten.
#[derive(Debug, Serialize, JsonSchema)]
struct ForgottenMemory {
    /// Its name.
    memory_id: String,
    /// The lesson in a line.
    title: String,
}

/// A live session that holds text of memories that were forgotten.
#[derive(Debug, Serialize, JsonSchema)]
struct HeldSession {
    /// The session.
    session_id: String,
    /// The branch whose opening quotes it; null where the session has the work that it was learnt from.
    branch_id: Option<String>,
    /// When the session lapses if nobody uses it before.
    lapses_at: Moment,
}

impl From<&ForgetReport> for MemoriesForgotten {
    fn from(report: &ForgetReport) -> Self {
        let held = |held: &LapsingText| HeldSession {
            session_id: held.text.session.to_string(),
            branch_id: held.text.branch.as_ref().map(ToString::to_string),
            lapses_at: Moment(held.lapses_at_ms),
        };
        let forgotten = &report.forgotten;
        let memory = |(id, title): &(MemoryId, Scrubbed)| ForgottenMemory {
            memory_id: id.to_string(),
            title: title.as_str().to_owned(),
        };
        Self {
            memories: forgotten.memories.iter().map(memory).collect(),
            weakened: forgotten.weakened,
            archived: forgotten.archived,
            pending: forgotten.pending,
            held: report.held.iter().map(held).collect(),
        }
    }
}

/// How an import went.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ImportDone {
    /// How many memories the file has.
    pub(crate) lines: usize,
    /// How many of them are new.
    pub(crate) made: u64,
    /// The number by which all of it can be undone; null if nothing was kept.
    pub(crate) change: Option<i64>,
}

/// Changes of memories.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryChanges {
    /// The changes, the newest first.
    pub(crate) changes: Vec<MemoryChangeShape>,
}

/// A change of memories.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryChange")]
pub(crate) struct MemoryChangeShape {
    /// Its number, by which it is undone.
    change: i64,
    /// The word for it.
    what: String,
    /// How many memories it changed.
    memories: u64,
    /// One of them.
    memory_id: String,
    /// Whether it was undone.
    undone: bool,
    /// When it was made.
    at: Moment,
}

impl From<&ChangeRow> for MemoryChangeShape {
    fn from(row: &ChangeRow) -> Self {
        Self {
            change: row.number,
            what: row.what.clone(),
            memories: row.count,
            memory_id: row.memory.clone(),
            undone: row.is_undone,
            at: Moment(row.at_ms),
        }
    }
}

/// A change that was undone.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangeUndone {
    /// The change.
    pub(crate) change: i64,
    /// The word for it.
    pub(crate) what: String,
    /// The memories that are now as they were before it.
    pub(crate) memories: Vec<String>,
}
