//! Going back to an earlier point of a session of the agent's.
//!
//! Files go back first, all or none; then branches that were opened since are closed, and the log gets one more record.
//! Whatever breaks off in between, doing it again does the rest.

use std::collections::HashMap;
use std::path::Path;

use infold_agent::points::{RewindPoint, branches_behind, points};
use infold_agent::record::SessionRecord;
use infold_agent::session::{NumberedRecord, changes_behind, live};
use infold_agent::tools::undo_all;
use infold_core::{BranchId, Principal, Refusal, SessionId};
use infold_engine::{Engine, Error, SessionRef};

use super::place::fence_around;
use super::started::records;
use crate::failure::Refused;
use crate::parts::command_error;
use crate::settings::AgentPart;

/// What becomes of files when a session goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesThen {
    /// Those that the agent wrote since are put back as they were.
    PutBack,
    /// They stay as they are.
    Stay,
}

/// A session's log, read.
pub struct ReadLog {
    /// The session.
    pub session: SessionId,
    /// All of its records.
    pub log: Vec<NumberedRecord>,
    /// When each record was appended.
    pub times: HashMap<u64, u64>,
}

/// What going back did.
pub struct WentBack {
    /// The record.
    pub to: u64,
    /// Files that were put back.
    pub files: Vec<String>,
    /// Branches that were closed.
    pub branches: Vec<BranchId>,
}

/// Takes a session back to one of its points.
pub async fn go_back(
    engine: &Engine,
    read: &ReadLog,
    to: u64,
    files: FilesThen,
    agent: &AgentPart,
) -> anyhow::Result<WentBack> {
    let session = &read.session;
    if !read.points().iter().any(|point| point.record == to) {
        return Err(Refused::new(format!("record {to} is no point that the session can go back to"))
            .hint(format!("`infold rewind {session}` lists them"))
            .code("no_such_point")
            .into());
    }
    let files = match files {
        FilesThen::Stay => Vec::new(),
        FilesThen::PutBack => put_files_back(read, to, agent)?,
    };
    let branches = close_branches(engine, read, to).await?;
    let record = serde_json::to_value(SessionRecord::Rewound { to })?;
    let decided_on = read.log.last().map_or(0, |(seq, _)| *seq);
    engine.append_agent_log(&Principal::local(), session, decided_on, &[record]).await.map_err(command_error)?;
    Ok(WentBack { to, files, branches })
}

impl ReadLog {
    /// The log of a session, by its id or the first characters of it.
    pub async fn of(engine: &Engine, named: &str) -> anyhow::Result<Self> {
        let who = Principal::local();
        let session = engine.resolve_session(&who, named).await.map_err(command_error)?;
        let rows = engine.agent_log(&who, &session, 0).await.map_err(command_error)?;
        let times = rows.iter().map(|row| (row.seq, row.at_ms)).collect();
        let log = records(rows)?;
        if log.is_empty() {
            return Err(Refused::new(format!("session {session} is not one of infold's agent"))
                .hint("`infold sessions --agent` lists those that are")
                .into());
        }
        Ok(Self { session, log, times })
    }

    /// The points that the session can go back to.
    pub fn points(&self) -> Vec<RewindPoint> {
        points(&live(self.log.clone()))
    }

    /// The folder that the session works in.
    fn folder(&self) -> anyhow::Result<&Path> {
        let began = self.log.iter().find_map(|(_, record)| match record {
            SessionRecord::Began(beginning) => Some(Path::new(&beginning.folder)),
            _ => None,
        });
        began.ok_or_else(|| Refused::new("the session does not say in which folder it works").into())
    }
}

/// Puts files back that the agent wrote behind a point.
fn put_files_back(read: &ReadLog, to: u64, agent: &AgentPart) -> anyhow::Result<Vec<String>> {
    let changes = changes_behind(read.log.clone(), to);
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let (fence, file_bytes_max) = fence_around(read.folder()?, agent)?;
    undo_all(&changes, &fence, file_bytes_max).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Refused::new(format!("nothing was changed: {}", problems.join("\n")))
            .hint("put these files back yourself, or go back with --keep-files")
            .code("file_changed_since")
            .into()
    })
}

/// Closes branches that were opened behind a point and are still open.
async fn close_branches(engine: &Engine, read: &ReadLog, to: u64) -> anyhow::Result<Vec<BranchId>> {
    let behind = branches_behind(&live(read.log.clone()), to);
    let session = SessionRef::Id(read.session.clone());
    match engine.abandon_branches(&Principal::local(), &session, &behind).await {
        Ok(closed) => Ok(closed),
        // What is long over has no open branches.
        Err(Error::Refused(Refusal::SessionNotFound { .. })) => Ok(Vec::new()),
        Err(error) => Err(command_error(error)),
    }
}
