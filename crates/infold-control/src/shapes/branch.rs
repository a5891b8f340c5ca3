//! JSON of a branch's current state, at a glance and in full, and (in `answers`) of what opening, returning and
//! rolling back answer.

mod answers;

use infold_core::{Branch, Scrubbed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::branch_of;
use crate::moment::Moment;

pub(crate) use answers::{BranchOpened, BranchReturned, RolledBack};

/// The state of a branch.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// Recorded, not yet ready for work.
    Created,
    /// Open, and it may do work.
    Active,
    /// Returned, or folded because its parent or session ended.
    Completed,
    /// Out of budget or time.
    Timeout,
    /// Could not do what it was asked.
    Failed,
}

impl From<infold_core::Status> for Status {
    fn from(status: infold_core::Status) -> Self {
        match status {
            infold_core::Status::Created => Self::Created,
            infold_core::Status::Active => Self::Active,
            infold_core::Status::Completed => Self::Completed,
            infold_core::Status::Timeout => Self::Timeout,
            infold_core::Status::Failed => Self::Failed,
        }
    }
}

/// What a branch's thread begins with, behind the proxy.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Isolation")]
pub(crate) enum IsolationShape {
    /// Only the branch's brief.
    Isolated,
    /// The parent's conversation, then the brief.
    Inherit,
}

impl From<IsolationShape> for infold_core::Isolation {
    fn from(isolation: IsolationShape) -> Self {
        match isolation {
            IsolationShape::Isolated => Self::Isolated,
            IsolationShape::Inherit => Self::Inherit,
        }
    }
}

impl From<infold_core::Isolation> for IsolationShape {
    fn from(isolation: infold_core::Isolation) -> Self {
        match isolation {
            infold_core::Isolation::Isolated => Self::Isolated,
            infold_core::Isolation::Inherit => Self::Inherit,
        }
    }
}

/// A branch at a glance.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BranchSummary {
    /// The branch's id: `br_` and a uuid.
    branch_id: String,
    /// The id of the session that the branch belongs to.
    session_id: String,
    /// The branch that opened it; null is the main thread.
    parent_branch_id: Option<String>,
    /// How deeply the branch is nested; a branch of the main thread has depth 1.
    depth: u32,
    /// How often it has been opened: 1, and one more for each rollback to it.
    generation: u32,
    /// The state it is in.
    status: Status,
    /// Why it ended; null while it is open.
    reason: Option<&'static str>,
    /// Whether a rollback went back to a point before the branch, so that it no longer counts.
    discarded: bool,
    /// What the branch is for, in a line.
    description: String,
    /// Tokens of its brief and of everything first seen in it.
    tokens: u64,
    /// Tokens that count against its budget.
    budget_used: u64,
    /// The branch's whole budget, in tokens.
    budget_total: u64,
    /// How many tool calls were seen in the branch.
    operations_count: u64,
    /// When the branch was opened.
    created_at: Moment,
    /// When the branch is folded by force if it has not returned by then.
    expires_at: Moment,
    /// When it ended; null while it is open.
    completed_at: Option<Moment>,
}

impl BranchSummary {
    pub(crate) fn new(session_id: &str, branch: &Branch) -> Self {
        let end = branch.end.as_ref();
        Self {
            branch_id: branch.id.to_string(),
            session_id: session_id.to_owned(),
            parent_branch_id: branch_of(&branch.parent),
            depth: branch.depth,
            generation: branch.generation,
            status: branch.status.into(),
            reason: end.map(|end| end.reason.as_str()),
            discarded: branch.discarded,
            description: branch.description.as_str().to_owned(),
            tokens: branch.used_tokens,
            budget_used: branch.budget_used_tokens(),
            budget_total: branch.budget_tokens,
            operations_count: branch.operations,
            created_at: Moment(branch.opened_at_ms),
            expires_at: Moment(branch.deadline_ms),
            completed_at: end.map(|end| Moment(end.at_ms)),
        }
    }
}

/// How often a tool was called.
#[derive(Debug, Serialize, JsonSchema)]
struct ToolUse {
    /// The tool's name, as the client calls it.
    tool_name: String,
    /// How many calls of it were seen in the branch.
    calls: u64,
}

/// A branch with everything that its record holds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BranchDetail {
    #[serde(flatten)]
    summary: BranchSummary,
    /// What it was asked to do.
    prompt: Option<String>,
    /// The memories that the branch was given when it was opened.
    injected_memories: Vec<String>,
    /// Tokens of its budget that are left.
    budget_remaining: u64,
    /// What the branch's thread begins with.
    isolation: IsolationShape,
    /// The time that the branch has from its start, in seconds.
    timeout_seconds: u64,
    /// The message that its parent got; null while the branch is open.
    message: Option<String>,
    /// Tokens by which the message made its parent's thread longer; null while the branch is open.
    message_tokens: Option<u64>,
    /// Tools called in it, in the order of their first call, as far as its record keeps them.
    tools: Vec<ToolUse>,
    /// Files named in calls, in the order of their first mention, as far as its record keeps them.
    files: Vec<String>,
}

impl BranchDetail {
    pub(crate) fn new(session_id: &str, branch: &Branch) -> Self {
        let texts = |texts: &[Scrubbed]| texts.iter().map(|text| text.as_str().to_owned()).collect();
        let end = branch.end.as_ref();
        let tools = branch.findings.tools.iter();
        Self {
            summary: BranchSummary::new(session_id, branch),
            prompt: branch.prompt.as_ref().map(|prompt| prompt.as_str().to_owned()),
            injected_memories: branch.memories.iter().map(ToString::to_string).collect(),
            budget_remaining: branch.budget_tokens - branch.budget_used_tokens(),
            isolation: branch.isolation.into(),
            timeout_seconds: branch.timeout_ms / 1_000,
            message: end.map(|end| end.result.as_str().to_owned()),
            message_tokens: end.map(|end| end.result_tokens),
            tools: tools.map(|seen| ToolUse { tool_name: seen.tool.as_str().to_owned(), calls: seen.calls }).collect(),
            files: texts(&branch.findings.files),
        }
    }
}

/// Some of a session's branches, in the order they were opened, and how many there are of each kind.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BranchList<B = BranchSummary> {
    /// The branches on this page.
    pub(crate) branches: Vec<B>,
    /// How many branches the session has.
    pub(crate) total_branches: usize,
    /// How many of them are open.
    pub(crate) active_branches: usize,
    /// How many of them have ended and were not discarded.
    pub(crate) folded_branches: usize,
    /// How many of them a rollback discarded.
    pub(crate) discarded_branches: usize,
    /// How many branches were passed over.
    pub(crate) offset: usize,
    /// Most branches in this answer.
    pub(crate) limit: usize,
    /// Where to go on; null if there are no more.
    pub(crate) next_offset: Option<usize>,
}
