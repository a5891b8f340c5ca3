//! What happened to a session, one entry at a time. Events are appended and never changed; what a
//! session is now follows from them.

use serde::{Deserialize, Serialize};

use crate::fork::{ProcessingStats, Profile};
use crate::{
    Allocation, BlobId, BranchId, Claims, EndReason, Isolation, ProjectHash, Scrubbed, SessionId, Start, Thread,
};

/// A call and its result that passed through infold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The tool that was called.
    pub tool: Scrubbed,
    /// The client's id for the call, if it sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<Scrubbed>,
    /// What it was called with.
    pub arguments: Scrubbed,
    /// What the caller was shown of the result.
    pub result: Scrubbed,
    /// Where the whole result is, if it was offloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<BlobId>,
    /// Tokens of both, counted by us.
    pub tokens: u64,
}

/// A branch as it was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// Its id.
    pub branch: BranchId,
    /// The thread that opened it.
    pub parent: Thread,
    /// How deep it lies.
    pub depth: u32,
    /// What it is for.
    pub description: Scrubbed,
    /// What it was asked to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Scrubbed>,
    /// What was remembered for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<Scrubbed>,
    /// What its thread begins with.
    #[serde(default, skip_serializing_if = "Isolation::is_isolated")]
    pub isolation: Isolation,
    /// When its time begins to run.
    #[serde(default, skip_serializing_if = "Start::is_at_once")]
    pub start: Start,
    /// Tokens of description, prompt and memories.
    pub brief_tokens: u64,
    /// Tokens it may use.
    pub budget_tokens: u64,
    /// What the budget was taken from.
    pub allocation: Allocation,
    /// How long it may take.
    pub timeout_ms: u64,
    /// Who opened it.
    #[serde(default)]
    pub claims: Claims,
}

/// Where a forked session comes from, and what it began with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The session it was forked from: one of the caller's own, or the name that another program has
    /// for it. None if nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// How the parent's transcript was made to fit.
    pub profile: Profile,
    /// What the child is told of that.
    pub preamble: Scrubbed,
    /// Where the child's context is kept.
    pub blob: BlobId,
    /// Characters of the context.
    pub chars: u64,
    /// Tokens of the context.
    pub tokens: u64,
    /// What was done to make it fit.
    pub stats: ProcessingStats,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The session was used for the first time.
    SessionStarted {
        /// The project it belongs to, if it was named by one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<ProjectHash>,
    },
    /// The session began as a fork.
    SessionForked {
        /// Where it comes from.
        origin: Box<Origin>,
        /// What it is asked to do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<Scrubbed>,
    },
    /// A branch was recorded.
    BranchOpened(Box<Opening>),
    /// A branch is ready for work.
    BranchActivated {
        /// The branch.
        branch: BranchId,
    },
    /// A call and its result were seen.
    OperationSeen {
        /// The thread they were seen in.
        thread: Thread,
        /// The call and its result.
        operation: Box<Operation>,
    },
    /// The agent of a branch has said something.
    Said {
        /// The branch.
        branch: BranchId,
        /// The end of it.
        words: Scrubbed,
    },
    /// A model has answered a request of a thread.
    Answered {
        /// The thread.
        thread: Thread,
        /// Tokens of the prompt, as the provider counted them.
        prompt_tokens: u64,
        /// Of those, tokens that came from the provider's cache.
        cache_read_tokens: u64,
        /// Tokens of the answer, by which the thread grows.
        output_tokens: u64,
    },
    /// A branch has used 80 % of its budget.
    BudgetWarning {
        /// The branch.
        branch: BranchId,
        /// What it has used.
        used_tokens: u64,
        /// What it may use.
        budget_tokens: u64,
    },
    /// A branch has no budget left.
    BudgetExhausted {
        /// The branch.
        branch: BranchId,
        /// What it had used.
        used_tokens: u64,
        /// Tokens of the item that did not fit and was not shown.
        overrun_tokens: u64,
        /// Where that item is kept, if it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blob: Option<BlobId>,
        /// What it may use.
        budget_tokens: u64,
    },
    /// A branch ended.
    BranchEnded {
        /// The branch.
        branch: BranchId,
        /// Which opening of it.
        generation: u32,
        /// Why.
        reason: EndReason,
        /// What its parent gets.
        result: Scrubbed,
        /// By how much the parent's thread grows.
        result_tokens: u64,
    },
    /// A branch that had been cut short returned after all, before its parent was told. It ended once, and
    /// as it did; only what its parent gets is another.
    ResultAmended {
        /// The branch.
        branch: BranchId,
        /// Which opening of it.
        generation: u32,
        /// What its parent gets.
        result: Scrubbed,
        /// By how much the parent's thread grows.
        result_tokens: u64,
    },
    /// The session went back to a branch.
    RolledBack {
        /// The branch.
        to: BranchId,
        /// Ended branches that are open again, outermost first.
        reopened: Vec<BranchId>,
        /// Branches that no longer count, in the order they were opened.
        discarded: Vec<BranchId>,
    },
    /// The parents of branches that were cut short have been told so.
    ParentsTold {
        /// The branches.
        branches: Vec<BranchId>,
    },
    /// The session is over.
    SessionEnded {},
}

impl Event {
    /// The event's name, as in state keys and in the feed.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SessionStarted { .. } => "session.started",
            Self::SessionForked { .. } => "session.forked",
            Self::BranchOpened(_) => "branch.created",
            Self::BranchActivated { .. } => "branch.activated",
            Self::OperationSeen { .. } => "operation.completed",
            Self::Said { .. } => "branch.said",
            Self::Answered { .. } => "request.completed",
            Self::BudgetWarning { .. } => "budget.warning",
            Self::BudgetExhausted { .. } => "budget.exhausted",
            Self::BranchEnded { .. } => "branch.folded",
            Self::ResultAmended { .. } => "branch.amended",
            Self::RolledBack { .. } => "session.rolled_back",
            Self::ParentsTold { .. } => "session.parents_told",
            Self::SessionEnded {} => "session.ended",
        }
    }

    /// The branch whose trajectory the event belongs to.
    pub fn branch(&self) -> Option<&BranchId> {
        match self {
            Self::BranchOpened(opening) => Some(&opening.branch),
            Self::BranchActivated { branch }
            | Self::Said { branch, .. }
            | Self::BudgetWarning { branch, .. }
            | Self::BudgetExhausted { branch, .. }
            | Self::BranchEnded { branch, .. }
            | Self::ResultAmended { branch, .. } => Some(branch),
            Self::OperationSeen { thread, .. } | Self::Answered { thread, .. } => thread.branch(),
            Self::RolledBack { to, .. } => Some(to),
            Self::SessionStarted { .. }
            | Self::SessionForked { .. }
            | Self::ParentsTold { .. }
            | Self::SessionEnded {} => None,
        }
    }
}
