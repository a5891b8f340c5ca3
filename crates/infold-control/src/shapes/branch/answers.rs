//! JSON of the answers to opening a branch, returning from one and rolling back to one.

use infold_engine::{Folded, Opened, Restore};
use schemars::JsonSchema;
use serde::Serialize;

use super::{IsolationShape, Status};
use crate::moment::Moment;
use crate::shapes::context::{ContextHealth, ContextState, Notice, notices};
use crate::shapes::{branch_of, texts};

/// A branch that was opened.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BranchOpened {
    /// The id of the session that the branch belongs to.
    session_id: String,
    /// The branch's id: `br_` and a uuid.
    branch_id: String,
    /// The branch that opened it; null is the main thread.
    parent_branch_id: Option<String>,
    /// How deeply the branch is nested; a branch of the main thread has depth 1.
    depth: u32,
    /// The branch's budget, in tokens, after the maximum was applied.
    budget_allocated: u64,
    /// What the branch's thread begins with.
    isolation: IsolationShape,
    /// The memories that the branch is given, as one quoted text; null if there are none for it.
    injected_context: Option<String>,
    /// The time that the branch has from its start, in seconds.
    timeout_seconds: u64,
    /// When the branch was opened.
    created_at: Moment,
    /// When the branch is folded by force if it has not returned by then.
    expires_at: Moment,
    /// Sentences about wishes that were capped.
    notes: Vec<String>,
    /// The session's context after this request.
    context_state: ContextState,
    /// How full the main thread is.
    context_health: ContextHealth,
    /// Branches that were folded by force since the last answer, for their parents.
    notices: Vec<Notice>,
}

impl From<Opened> for BranchOpened {
    fn from(opened: Opened) -> Self {
        Self {
            session_id: opened.session_id.to_string(),
            branch_id: opened.branch_id.to_string(),
            parent_branch_id: branch_of(&opened.parent),
            depth: opened.depth,
            budget_allocated: opened.budget_tokens,
            isolation: opened.isolation.into(),
            injected_context: opened.injected_context,
            timeout_seconds: opened.timeout_s,
            created_at: Moment(opened.opened_at_ms),
            expires_at: Moment(opened.deadline_ms),
            notes: opened.notes,
            context_state: (&opened.state).into(),
            context_health: (&opened.health).into(),
            notices: notices(&opened.notices),
        }
    }
}

/// The figures of a branch that returned.
#[derive(Debug, Serialize, JsonSchema)]
struct ReturnSummary {
    /// Tokens that the branch used.
    tokens_folded: u64,
    /// Tokens that folding keeps out of its parent.
    tokens_saved: u64,
    /// How many tool calls were seen in the branch.
    operations_count: u64,
    /// Secrets taken out of its message.
    secrets_scrubbed: u32,
    /// Whether nothing but placeholders is left of its message.
    summary_redacted: bool,
    /// How many of its lessons were kept to be learnt from.
    lessons_kept: u64,
}

/// A branch that returned.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BranchReturned {
    /// Always true: a return that did not happen is an error.
    success: bool,
    /// The id of the session that the branch belongs to.
    session_id: String,
    /// The branch's id: `br_` and a uuid.
    branch_id: String,
    /// The branch that gets its message; null is the main thread.
    parent_branch_id: Option<String>,
    /// The state in which the branch ended.
    status: Status,
    /// When the branch ended.
    folded_at: Moment,
    /// The message that its parent gets, with secrets removed.
    message: String,
    /// Tokens that the branch used; the same as `summary.tokens_folded`.
    tokens_used: u64,
    /// The figures of the branch.
    summary: ReturnSummary,
    /// Branches below it that were folded with it, deepest first.
    folded_with_it: Vec<String>,
    /// The session's context after this request.
    context_state: ContextState,
    /// How full the main thread is.
    context_health: ContextHealth,
    /// Branches that were folded by force since the last answer, for their parents.
    notices: Vec<Notice>,
}

impl From<Folded> for BranchReturned {
    fn from(folded: Folded) -> Self {
        Self {
            success: true,
            session_id: folded.session_id.to_string(),
            branch_id: folded.branch_id.to_string(),
            parent_branch_id: branch_of(&folded.parent),
            status: folded.status.into(),
            folded_at: Moment(folded.folded_at_ms),
            message: folded.message,
            tokens_used: folded.tokens_used,
            summary: ReturnSummary {
                tokens_folded: folded.tokens_used,
                tokens_saved: folded.tokens_saved,
                operations_count: folded.operations,
                secrets_scrubbed: folded.secrets_scrubbed,
                summary_redacted: folded.summary_redacted,
                lessons_kept: folded.lessons_kept,
            },
            folded_with_it: texts(&folded.folded_with_it),
            context_state: (&folded.state).into(),
            context_health: (&folded.health).into(),
            notices: notices(&folded.notices),
        }
    }
}

/// What a rollback did, or would do.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RolledBack {
    /// The id of the session that was rolled back.
    session_id: String,
    /// The branch that is active again.
    rolled_back_to: String,
    /// How often that branch has been opened now, this time included.
    generation: u32,
    /// Whether it was done; if not, the rest says what it would lead to.
    restored: bool,
    /// Branches that no longer count, in the order they were opened.
    branches_discarded: Vec<String>,
    /// Tokens that were used in them.
    tokens_recovered: u64,
    /// The session's context after the rollback.
    context_state: ContextState,
    /// Branches that were folded by force since the last answer, for their parents.
    notices: Vec<Notice>,
}

impl RolledBack {
    pub(crate) fn new(rolled_back: &infold_engine::RolledBack, restore: Restore) -> Self {
        Self {
            session_id: rolled_back.session_id.to_string(),
            rolled_back_to: rolled_back.to.to_string(),
            generation: rolled_back.generation,
            restored: restore == Restore::Yes,
            branches_discarded: texts(&rolled_back.discarded),
            tokens_recovered: rolled_back.tokens_recovered,
            context_state: (&rolled_back.state).into(),
            notices: notices(&rolled_back.notices),
        }
    }
}
