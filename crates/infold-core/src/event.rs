//! What happened to a session, one entry of its log at a time. Events are appended and never changed; what a
//! session is now follows from them (`session.rs`).
//!
//! Events are stored as JSON: the names of variants and fields are part of the format.

use serde::{Deserialize, Serialize};

use crate::fork::{ProcessingStats, Profile};
use crate::memory::{InjectedContext, WorkPlace};
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
    /// The arguments as JSON, or as plain text where the tool takes that.
    pub arguments: Scrubbed,
    /// What the caller was shown of the result.
    pub result: Scrubbed,
    /// The handle of the whole result, if it was offloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<BlobId>,
    /// Tokens of arguments and shown result, by infold's own count.
    pub tokens: u64,
}

/// A branch as it was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The id that the branch has from now on.
    pub branch: BranchId,
    /// The thread that opened it.
    pub parent: Thread,
    /// How deep it is nested: 1 under the main thread.
    pub depth: u32,
    /// What the branch is for, in a line.
    pub description: Scrubbed,
    /// What it was asked to do, in full; `None` where the description says it all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Scrubbed>,
    /// The memories that it was given, added to its opening message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injected: Option<InjectedContext>,
    /// Where its work is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_place: Option<WorkPlace>,
    /// What its thread begins with.
    #[serde(default, skip_serializing_if = "Isolation::is_isolated")]
    pub isolation: Isolation,
    /// When its time begins to run.
    #[serde(default, skip_serializing_if = "Start::is_at_once")]
    pub start: Start,
    /// Tokens of description, prompt and memories.
    pub brief_tokens: u64,
    /// Tokens that it may use, after limits were applied.
    pub budget_tokens: u64,
    /// What the budget was taken from.
    pub allocation: Allocation,
    /// How long it may take, after limits were applied.
    pub timeout_ms: u64,
    /// The claims of whoever opened it; the branch never has more rights than these.
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
    /// The words for the child about where its context comes from and how it was shortened.
    pub preamble: Scrubbed,
    /// The handle under which the child's context is stored.
    pub blob: BlobId,
    /// Length of that context in characters.
    pub chars: u64,
    /// Length of that context in tokens, by infold's own count.
    pub tokens: u64,
    /// What was left out or shortened to make it fit.
    pub stats: ProcessingStats,
}

/// One entry of a session's log.
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
        /// The session that it was forked from, and the context that it got.
        origin: Box<Origin>,
        /// What the child is asked to do; `None` if that comes later.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<Scrubbed>,
    },
    /// A branch was opened; it is at work from the activation that follows.
    BranchOpened(Box<Opening>),
    /// A branch is ready for work.
    BranchActivated {
        /// The branch that is active from now on.
        branch: BranchId,
    },
    /// A call and its result were seen.
    OperationSeen {
        /// The thread that both are counted in.
        thread: Thread,
        /// What was called, with what, and what was shown of the result.
        operation: Box<Operation>,
    },
    /// The agent of a branch has said something.
    Said {
        /// The branch that it works in.
        branch: BranchId,
        /// The end of what it said, kept for a partial result.
        words: Scrubbed,
    },
    /// A model has answered a request of a thread.
    Answered {
        /// The thread whose prompt was sent.
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
        /// The branch that is warned, once in its life.
        branch: BranchId,
        /// Tokens that it has used or lent so far.
        used_tokens: u64,
        /// Tokens that it may use.
        budget_tokens: u64,
    },
    /// A branch has no budget left.
    BudgetExhausted {
        /// The branch, which ends because of this.
        branch: BranchId,
        /// Tokens that its thread holds.
        used_tokens: u64,
        /// Tokens of the item that did not fit and was not shown.
        overrun_tokens: u64,
        /// The handle of that item, if it was offloaded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blob: Option<BlobId>,
        /// Tokens that it was allowed.
        budget_tokens: u64,
    },
    /// A branch ended, for whatever reason; it does so once in each generation.
    BranchEnded {
        /// The branch that is not open any more.
        branch: BranchId,
        /// Which opening of the branch ended: 1, or more after rollbacks to it.
        generation: u32,
        /// Why it ended; its status follows from this.
        reason: EndReason,
        /// The message that its parent gets.
        result: Scrubbed,
        /// Tokens by which the parent's thread grows.
        result_tokens: u64,
    },
    /// A branch that had been cut short returned after all, before its parent had got the notice. When and why it
    /// ended stays as it was; only the message for its parent is replaced.
    ResultAmended {
        /// The branch that returned late.
        branch: BranchId,
        /// Which opening of the branch returned.
        generation: u32,
        /// The message that its parent gets in place of the partial result.
        result: Scrubbed,
        /// Tokens of that message, which replace those of the partial result.
        result_tokens: u64,
    },
    /// The session went back to a branch.
    RolledBack {
        /// The branch that is active from now on.
        to: BranchId,
        /// Ended branches that are open again, outermost first: the branch itself and those above it.
        reopened: Vec<BranchId>,
        /// Branches that no longer count, in the order they were opened.
        discarded: Vec<BranchId>,
    },
    /// Notices about branches that were cut short have reached their parents.
    #[serde(rename = "parents_told")]
    EndsReported {
        /// The branches that were cut short, not their parents.
        branches: Vec<BranchId>,
    },
    /// The session is over and takes no more work.
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
            Self::EndsReported { .. } => "session.parents_told",
            Self::SessionEnded {} => "session.ended",
        }
    }

    /// The branch that the event is listed under; `None` if it concerns the main thread or the whole session.
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
            | Self::EndsReported { .. }
            | Self::SessionEnded {} => None,
        }
    }
}
