//! Why a command was refused. Each variant is something that the caller can put right, and its text says how. What
//! goes wrong on infold's own side is a failure, which the engine reports.

use crate::{BranchId, SessionId, Status, Thread};

/// Why a command was refused. The texts are what callers read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An argument breaks its rule.
    #[error("{field} {problem}")]
    Invalid {
        /// The argument's name, as the caller spells it.
        field: &'static str,
        /// What is wrong with the argument and what would be right.
        problem: String,
    },
    /// No such session for this caller. Somebody else's gives the same answer.
    #[error("Session not found: {session}")]
    SessionNotFound {
        /// The session's name as the caller gave it.
        session: String,
    },
    /// Several sessions begin with what the caller typed.
    #[error("Session id {prefix} is ambiguous, it could be {}: give more of it", any_of(matches))]
    SessionAmbiguous {
        /// The beginning of an id, as the caller typed it.
        prefix: String,
        /// Sessions of the caller's whose ids begin with it.
        matches: Vec<SessionId>,
    },
    /// The session has ended or lapsed.
    #[error("Session {session} is over: start another by using a new session_id")]
    SessionOver {
        /// The session that the command was for.
        session: SessionId,
    },
    /// Somebody else has gone on in the session of an agent.
    #[error("Session {session} is being worked on by another infold: let that one finish, or fork the session")]
    SessionBusy {
        /// The session that has moved on.
        session: SessionId,
    },
    /// A new session was to have a name that one has already.
    #[error("Session {session} exists already: name another, or name none and get a new one")]
    SessionExists {
        /// The name that is taken.
        session: SessionId,
    },
    /// Somebody asked for the context that a fork began with, and this session is no fork.
    #[error("Session {session} did not begin as a fork: name one that did")]
    NotForked {
        /// The session that was asked about.
        session: SessionId,
    },
    /// No such branch for this caller. Somebody else's gives the same answer.
    #[error("Branch not found: {branch}")]
    BranchNotFound {
        /// The branch's id as the caller gave it.
        branch: String,
    },
    /// The call names no branch, and none is open.
    #[error("No active branch in session {session}: open one first, or name a branch_id")]
    NothingActive {
        /// The session that has no open branch.
        session: SessionId,
    },
    /// The branch has ended already.
    #[error("Cannot fold branch: branch is not active")]
    NotActive {
        /// The branch that was to be folded.
        branch: BranchId,
        /// The status that it ended with.
        status: Status,
        /// The message that its parent got when it ended.
        result: Option<String>,
    },
    /// A call of somebody's tool comes from a branch that has ended.
    #[error("Branch {branch} has ended, so this call was not made. Go on in {parent} with its result")]
    BranchOver {
        /// The branch that the call comes from.
        branch: BranchId,
        /// The thread that got the branch's result.
        parent: Thread,
        /// The status that the branch ended with.
        status: Status,
        /// The message that the parent got.
        result: String,
    },
    /// The parent that was named has ended already.
    #[error("Parent branch {branch} is not active: open under \"main\" or an active branch")]
    ParentNotActive {
        /// The branch that was named as parent.
        branch: BranchId,
        /// The status that it ended with.
        status: Status,
    },
    /// The branch would be nested too deep.
    #[error("Branch would be {depth} deep, the limit is {depth_max}: fold one first")]
    TooDeep {
        /// How deep the new branch would be nested.
        depth: u32,
        /// How deep a branch may be nested.
        depth_max: u32,
    },
    /// The session has as many open branches as it may.
    #[error("Session has {open} open branches, the limit is {open_max}: fold one first")]
    TooManyInSession {
        /// Branches of the session that are open.
        open: u64,
        /// Branches of one session that may be open.
        open_max: u64,
    },
    /// The database has as many open branches as it may.
    #[error("This instance has {open_max} open branches, which is its limit: try again when some have folded")]
    TooManyInInstance {
        /// Branches that may be open in the whole database.
        open_max: u64,
    },
    /// The caller has as many open branches as leaves room for others.
    #[error("You have {open} open branches, which is your share of this instance now: fold one first")]
    TooManyOfPrincipal {
        /// Branches of the caller that are open.
        open: u64,
    },
    /// Branches are being opened too quickly.
    #[error("More than {per_minute_max} branches a minute in this session: try again in {} s", retry_after_ms.div_ceil(1000))]
    TooFast {
        /// Branches that one session may open in a minute.
        per_minute_max: u64,
        /// How long to wait until the next opening is allowed.
        retry_after_ms: u64,
    },
    /// The brief alone would use the budget up.
    #[error(
        "The description and prompt alone take {brief_tokens} of {budget_tokens} tokens: raise the budget or shorten them"
    )]
    BriefTooLarge {
        /// Tokens of description and prompt.
        brief_tokens: u64,
        /// The budget that the branch would get.
        budget_tokens: u64,
    },
    /// Whoever lends the budget has none left.
    #[error("No budget is left to work with: fold branches, or open a new branch or session")]
    BudgetGone,
    /// The context is full, and the limit is a hard one.
    #[error("Context limit exceeded: {current_tokens}/{limit_tokens} tokens")]
    ContextLimit {
        /// Tokens of the main thread and all open branches.
        current_tokens: u64,
        /// The context limit from settings.
        limit_tokens: u64,
    },
    /// The caller used this idempotency key before, for another request.
    #[error("idempotency_key was used for a different call: use a new key for each new call")]
    KeyReused,
    /// No such stored result for this caller and thread.
    #[error("Result not found: {ref_id}")]
    ResultNotFound {
        /// The handle as the caller gave it.
        ref_id: String,
    },
    /// No such memory for this caller. Somebody else's gives the same answer.
    #[error("Memory not found: {memory}")]
    MemoryNotFound {
        /// The memory's name as the caller gave it.
        memory: String,
    },
    /// The caller has as many memories as may be.
    #[error("There are {memories_max} memories, which is the limit: forget some first")]
    TooManyMemories {
        /// Memories that one principal may have.
        memories_max: u64,
    },
    /// No such change of memories, or none that could be undone.
    #[error("No change {change} of memories: `infold memory undo --list` lists those there are")]
    ChangeNotFound {
        /// The change's number as the caller gave it; `to undo` if the caller gave none.
        change: String,
    },
    /// The change was undone before.
    #[error("Change {change} is undone already: undo the undoing if you want it back")]
    ChangeUndone {
        /// The change's number.
        change: i64,
    },
    /// The caller took the request back before it was done.
    #[error("Cancelled by the caller: what was done so far stays done")]
    Cancelled,
}

/// Ids with `or` between the last two.
fn any_of(ids: &[SessionId]) -> String {
    let (last, front) = match ids.split_last() {
        Some((last, front)) => (last.as_str(), front),
        None => return String::new(),
    };
    let front: Vec<&str> = front.iter().map(SessionId::as_str).collect();
    if front.is_empty() { last.to_owned() } else { format!("{} or {last}", front.join(", ")) }
}

impl Refusal {
    /// A stable code that programs can match on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "invalid_input",
            Self::SessionNotFound { .. } => "session_not_found",
            Self::SessionAmbiguous { .. } => "session_ambiguous",
            Self::SessionOver { .. } => "session_over",
            Self::SessionBusy { .. } => "session_busy",
            Self::SessionExists { .. } => "session_exists",
            Self::NotForked { .. } => "not_a_fork",
            Self::BranchNotFound { .. } => "branch_not_found",
            Self::NothingActive { .. } => "no_active_branch",
            Self::NotActive { .. } => "branch_not_active",
            Self::BranchOver { .. } => "branch_folded",
            Self::ParentNotActive { .. } => "parent_not_active",
            Self::TooDeep { .. } => "max_depth_exceeded",
            Self::TooManyInSession { .. } => "session_limit_exceeded",
            Self::TooManyInInstance { .. } => "instance_limit_exceeded",
            Self::TooManyOfPrincipal { .. } => "principal_limit_exceeded",
            Self::TooFast { .. } => "rate_limit_exceeded",
            Self::BriefTooLarge { .. } => "brief_too_large",
            Self::BudgetGone => "budget_exhausted",
            Self::ContextLimit { .. } => "context_limit_exceeded",
            Self::KeyReused => "idempotency_key_reused",
            Self::ResultNotFound { .. } => "result_not_found",
            Self::MemoryNotFound { .. } => "memory_not_found",
            Self::TooManyMemories { .. } => "memory_limit_exceeded",
            Self::ChangeNotFound { .. } => "change_not_found",
            Self::ChangeUndone { .. } => "change_undone",
            Self::Cancelled => "cancelled",
        }
    }

    /// The HTTP status that says the same.
    pub fn http_status(&self) -> u16 {
        match self {
            Self::Invalid { .. }
            | Self::SessionAmbiguous { .. }
            | Self::TooDeep { .. }
            | Self::BriefTooLarge { .. } => 400,
            Self::SessionNotFound { .. }
            | Self::BranchNotFound { .. }
            | Self::NotForked { .. }
            | Self::NothingActive { .. }
            | Self::ResultNotFound { .. }
            | Self::MemoryNotFound { .. }
            | Self::ChangeNotFound { .. } => 404,
            Self::SessionOver { .. }
            | Self::SessionBusy { .. }
            | Self::SessionExists { .. }
            | Self::NotActive { .. }
            | Self::BranchOver { .. }
            | Self::ParentNotActive { .. }
            | Self::BudgetGone
            | Self::ContextLimit { .. }
            | Self::KeyReused
            | Self::TooManyMemories { .. }
            | Self::ChangeUndone { .. }
            | Self::Cancelled => 409,
            Self::TooManyInSession { .. }
            | Self::TooManyInInstance { .. }
            | Self::TooManyOfPrincipal { .. }
            | Self::TooFast { .. } => 429,
        }
    }
}
