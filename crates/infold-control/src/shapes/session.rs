//! Sessions, at a glance and as they stand.

use infold_core::{Session, Thread};
use infold_engine::SessionView;
use schemars::JsonSchema;
use serde::Serialize;

use super::branch::BranchList;
use super::context::{ContextHealth, ContextState, Notice, notices};
use super::{branch_of, texts};
use crate::moment::Moment;

/// Whether a session goes on.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SessionStatus {
    /// It goes on.
    Active,
    /// It is over.
    Ended,
}

/// A session at a glance.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionSummary {
    /// Its name.
    session_id: String,
    /// Whether it goes on.
    status: SessionStatus,
    /// The hash of the project it belongs to; null if it was not named by one.
    project_hash: Option<String>,
    /// The session it was forked from; null if it is no fork, or nobody said.
    parent_session_id: Option<String>,
    /// When it was first used.
    created_at: Moment,
    /// When it was last used.
    last_active_at: Moment,
    /// When it ended; null while it goes on.
    ended_at: Option<Moment>,
    /// The branch that works now; null is the main thread.
    active_branch_id: Option<String>,
    /// Branches opened so far.
    total_branches: u64,
    /// Those that are open.
    active_branches: u64,
    /// Tokens of the main thread and all open branches.
    total_tokens: u64,
    /// Tokens of the main thread.
    main_thread_tokens: u64,
    /// Tokens of branches that have folded.
    folded_tokens: u64,
    /// Tokens that folding has kept out of the context.
    tokens_saved: u64,
}

impl SessionSummary {
    /// A session with so many open branches, which have so many tokens.
    pub(crate) fn new(session: &Session, open: u64, open_tokens: u64) -> Self {
        Self {
            session_id: session.id.to_string(),
            status: if session.ended_at_ms.is_some() { SessionStatus::Ended } else { SessionStatus::Active },
            project_hash: session.project.as_ref().map(|project| project.as_str().to_owned()),
            parent_session_id: session.forked_from().map(ToString::to_string),
            created_at: Moment(session.started_at_ms),
            last_active_at: Moment(session.active_at_ms),
            ended_at: session.ended_at_ms.map(Moment),
            active_branch_id: branch_of(&session.active),
            total_branches: session.opened,
            active_branches: open,
            total_tokens: session.main_tokens + open_tokens,
            main_thread_tokens: session.main_tokens,
            folded_tokens: session.folded_tokens,
            tokens_saved: session.saved_tokens(),
        }
    }
}

/// Some of the caller's sessions, newest activity first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionList {
    /// The sessions.
    pub(crate) sessions: Vec<SessionSummary>,
    /// How many sessions were passed over.
    pub(crate) offset: usize,
    /// Most sessions in this answer.
    pub(crate) limit: usize,
    /// Where to go on; null if there are no more.
    pub(crate) next_offset: Option<usize>,
}

/// A session as it stands, with its first branches.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionDetail {
    /// Its name.
    session_id: String,
    /// Whether it goes on.
    status: SessionStatus,
    /// The hash of the project it belongs to; null if it was not named by one.
    project_hash: Option<String>,
    /// The session it was forked from; null if it is no fork, or nobody said.
    parent_session_id: Option<String>,
    /// Where the context that it was forked with is kept; null if it is no fork.
    fork_ref_id: Option<String>,
    /// When it was first used.
    created_at: Moment,
    /// When it was last used.
    last_active_at: Moment,
    /// When it ended; null while it goes on.
    ended_at: Option<Moment>,
    /// The branch that works now; null is the main thread.
    active_branch_id: Option<String>,
    /// The threads from `main` down to the one that works now.
    branch_path: Vec<String>,
    /// Tokens that folding has kept out of the context.
    tokens_saved: u64,
    /// The window that usage is measured against, in tokens.
    context_limit: u64,
    /// The context now.
    context_state: ContextState,
    /// How full the main thread is.
    context_health: ContextHealth,
    #[serde(flatten)]
    branches: BranchList,
}

impl SessionDetail {
    pub(crate) fn new(view: &SessionView, branches: BranchList) -> Self {
        let session = &view.session;
        let summary = SessionSummary::new(session, 0, 0);
        Self {
            session_id: summary.session_id,
            status: summary.status,
            project_hash: summary.project_hash,
            parent_session_id: summary.parent_session_id,
            fork_ref_id: session.origin.as_ref().map(|origin| origin.blob.to_string()),
            created_at: summary.created_at,
            last_active_at: summary.last_active_at,
            ended_at: summary.ended_at,
            active_branch_id: summary.active_branch_id,
            branch_path: session.path(&session.active).iter().map(Thread::to_string).collect(),
            tokens_saved: summary.tokens_saved,
            context_limit: view.context_limit_tokens,
            context_state: (&view.state).into(),
            context_health: (&view.health).into(),
            branches,
        }
    }
}

/// A session that ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionEnded {
    /// The session.
    session_id: String,
    /// When it ended.
    ended_at: Moment,
    /// Branches that were folded for it, in that order.
    branches_folded: Vec<String>,
    /// Branches that had not folded when the time was over.
    branches_failed: Vec<String>,
    /// The context at the end.
    context_state: ContextState,
    /// Branches cut short since the last answer.
    notices: Vec<Notice>,
}

impl From<infold_engine::SessionEnded> for SessionEnded {
    fn from(ended: infold_engine::SessionEnded) -> Self {
        Self {
            session_id: ended.session_id.to_string(),
            ended_at: Moment(ended.ended_at_ms),
            branches_folded: texts(&ended.folded),
            branches_failed: texts(&ended.failed),
            context_state: (&ended.state).into(),
            notices: notices(&ended.notices),
        }
    }
}
