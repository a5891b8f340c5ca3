//! A branch: a sub-task with a thread of its own. Its parent does not see its work and gets back one message.
//!
//! These are values only: `session.rs` changes them, `decide` says when.

use serde::{Deserialize, Serialize};

use crate::findings::Findings;
use crate::memory::{MemoryId, WorkPlace};
use crate::{Allocation, BranchId, Claims, Scrubbed, Thread};

/// Where a branch is in its life. The last three are ends; a branch reaches exactly one of them in
/// each generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Recorded, not yet ready for work; it is activated by the next event.
    Created,
    /// Open: its thread may grow, or it waits for its turn among its siblings.
    Active,
    /// Returned, or folded because its parent or session ended.
    Completed,
    /// Cut short because it ran out of budget or time.
    Timeout,
    /// It said so itself, or it can no longer return: interrupted, rolled back, its opening lost, its session ended.
    Failed,
}

impl Status {
    /// The word for it in answers, tables and the JSON API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Timeout => "timeout",
            Self::Failed => "failed",
        }
    }

    /// The same in the words of the `context_*` tools and of watched documents, where a completed branch is called folded.
    pub fn in_context(self) -> &'static str {
        match self {
            Self::Completed => "folded",
            Self::Created | Self::Active | Self::Timeout | Self::Failed => self.as_str(),
        }
    }

    /// Whether the branch has not ended yet.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Created | Self::Active)
    }
}

/// Why a branch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// Its agent called the tool that returns.
    Returned,
    /// Its agent returned and said that it could not do what it was asked.
    ReportedFailure,
    /// Its budget is used up, or the next result does not fit into what is left.
    BudgetExhausted,
    /// Its deadline has passed.
    TimedOut,
    /// The branch above it returned.
    ParentReturning,
    /// Its session ended while it was open.
    SessionEnded,
    /// It had not folded when the time for ending its session was over.
    SessionEndTimeout,
    /// A rollback went back to before it.
    RolledBack,
    /// Somebody spoke to its session, or the client compacted, while it was open.
    Interrupted,
    /// Its client dropped the call that opened it.
    OpeningLost,
}

impl EndReason {
    /// Whether the branch's agent ended it itself, by returning.
    pub fn is_return(self) -> bool {
        match self {
            Self::Returned | Self::ReportedFailure => true,
            Self::BudgetExhausted
            | Self::TimedOut
            | Self::ParentReturning
            | Self::SessionEnded
            | Self::SessionEndTimeout
            | Self::RolledBack
            | Self::Interrupted
            | Self::OpeningLost => false,
        }
    }

    /// The words that a parent reads in a partial result, and people in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Returned => "returned",
            Self::ReportedFailure => "reported failure",
            Self::BudgetExhausted => "budget exhausted",
            Self::TimedOut => "timed out",
            Self::ParentReturning => "parent returning",
            Self::SessionEnded => "session ended",
            Self::SessionEndTimeout => "not folded within the time for ending the session",
            Self::RolledBack => "discarded by a rollback",
            Self::Interrupted => "interrupted",
            Self::OpeningLost => "its opening is no longer in the transcript",
        }
    }

    /// The status that a branch has after ending for this reason.
    pub fn status(self) -> Status {
        match self {
            Self::Returned | Self::ParentReturning | Self::SessionEnded => Status::Completed,
            Self::BudgetExhausted | Self::TimedOut => Status::Timeout,
            Self::ReportedFailure
            | Self::SessionEndTimeout
            | Self::RolledBack
            | Self::Interrupted
            | Self::OpeningLost => Status::Failed,
        }
    }

    /// Whether the branch was ended from outside, so that a notice has to tell its parent.
    pub fn is_forced(self) -> bool {
        match self {
            Self::BudgetExhausted | Self::TimedOut | Self::Interrupted => true,
            Self::Returned
            | Self::ReportedFailure
            | Self::ParentReturning
            | Self::SessionEnded
            | Self::SessionEndTimeout
            | Self::RolledBack
            | Self::OpeningLost => false,
        }
    }

    /// Whether something can be learnt from how the branch went, so that the store marks its end as one to
    /// learn from. An interrupted one shows only that somebody spoke.
    pub fn can_teach(self) -> bool {
        match self {
            Self::Interrupted => false,
            Self::Returned
            | Self::ReportedFailure
            | Self::BudgetExhausted
            | Self::TimedOut
            | Self::ParentReturning
            | Self::SessionEnded
            | Self::SessionEndTimeout
            | Self::RolledBack
            | Self::OpeningLost => true,
        }
    }
}

/// What a branch's thread begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Its brief, and nothing of its parent's conversation.
    #[default]
    Isolated,
    /// Its parent's conversation, which keeps the provider's cache warm.
    Inherit,
}

impl Isolation {
    /// The word for it in settings and in arguments of tools.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Isolated => "isolated",
            Self::Inherit => "inherit",
        }
    }

    /// Reads a word from a setting or a call; `None` if it is neither of the two.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Isolated, Self::Inherit].into_iter().find(|isolation| isolation.as_str() == text)
    }

    /// Whether it is the default, which is left out of what is stored.
    pub fn is_isolated(&self) -> bool {
        *self == Self::Isolated
    }
}

/// When a branch's time begins to run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// When the branch is opened.
    #[default]
    AtOnce,
    /// When its earlier siblings that also run in turn have ended. In a transcript, branches of one parent run one
    /// after another.
    InTurn,
}

impl Start {
    /// Whether it is the default, which is left out of what is stored.
    pub fn is_at_once(&self) -> bool {
        *self == Self::AtOnce
    }
}

/// How a branch ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Why it ended; the status follows from this.
    pub reason: EndReason,
    /// The time of the event that ended it, in milliseconds since 1970.
    pub at_ms: u64,
    /// The message that its parent gets: its own, or a partial result if it was cut short.
    pub result: Scrubbed,
    /// Tokens by which the parent's thread grew; 0 if the parent never sees the result.
    pub result_tokens: u64,
}

/// A branch as the log leaves it now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Made by the engine; unique in the database.
    pub id: BranchId,
    /// The thread that opened it.
    pub parent: Thread,
    /// How deep it is nested: 1 under the main thread, one more under each branch.
    pub depth: u32,
    /// Its number among all openings of its session, counted from 1.
    pub ordinal: u64,
    /// How often it has been opened: 1, and one more for each rollback to it.
    pub generation: u32,
    /// What it is for, in a line.
    pub description: Scrubbed,
    /// What it was asked to do, in full; `None` where the description says it all.
    pub prompt: Option<Scrubbed>,
    /// The memories that it was given when it opened. Their text is in its opening alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<MemoryId>,
    /// Where its work is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_place: Option<WorkPlace>,
    /// Who opened it. A branch never has more rights than this.
    #[serde(default)]
    pub claims: Claims,
    /// Whether it is open, and if not, how it ended.
    pub status: Status,
    /// What its thread begins with.
    #[serde(default, skip_serializing_if = "Isolation::is_isolated")]
    pub isolation: Isolation,
    /// When its time begins to run.
    #[serde(default, skip_serializing_if = "Start::is_at_once")]
    pub start: Start,
    /// Tokens that its thread and the branches it lends to may use.
    pub budget_tokens: u64,
    /// What its budget was taken from.
    pub allocation: Allocation,
    /// Tokens of its brief and of everything first seen in its thread; never more than its budget.
    pub used_tokens: u64,
    /// Tokens lent to branches below it, where budgets are pooled.
    #[serde(default)]
    pub lent_tokens: u64,
    /// Tokens that did not fit any more: of a result that was therefore not shown to it, or of an answer after which
    /// it was folded.
    #[serde(default)]
    pub overrun_tokens: u64,
    /// Calls with their results that were counted in its thread.
    pub operations: u64,
    /// Whether the warning at 80 % has been given.
    pub warned: bool,
    /// The time of its first opening, in milliseconds since 1970; a rollback does not change it.
    pub opened_at_ms: u64,
    /// How long it may take from its start, or from a rollback to it.
    pub timeout_ms: u64,
    /// From this time on it is folded as timed out, unless it still waits for its turn.
    pub deadline_ms: u64,
    /// `None` while it is open, and again after a rollback to it.
    pub end: Option<End>,
    /// Whether a rollback went back to before it.
    #[serde(default)]
    pub discarded: bool,
    /// What it has seen so far, from which a partial result is made if it is cut short.
    #[serde(default)]
    pub findings: Findings,
}

impl Branch {
    /// Share of the budget, in percent, from which a warning is given.
    pub const WARN_PERCENT: u64 = 80;

    /// Whether the branch has not ended, or was opened again since.
    pub fn is_open(&self) -> bool {
        self.status.is_open()
    }

    /// Tokens that count against the budget, as shown to people: never above the budget, because
    /// what does not fit is not shown to the branch.
    pub fn budget_used_tokens(&self) -> u64 {
        (self.used_tokens + self.lent_tokens + self.overrun_tokens).min(self.budget_tokens)
    }

    /// Tokens that it may still use or lend.
    pub fn budget_left_tokens(&self) -> u64 {
        self.budget_tokens.saturating_sub(self.used_tokens + self.lent_tokens)
    }

    /// Counts something new in its thread. What is over the budget is counted apart, because the branch folds before
    /// it could use that.
    pub(crate) fn grow(&mut self, tokens: u64) {
        let fitting_tokens = tokens.min(self.budget_left_tokens());
        self.used_tokens += fitting_tokens;
        self.overrun_tokens += tokens - fitting_tokens;
    }

    /// Takes tokens out of its thread again, first from those that did not fit.
    pub(crate) fn take_out(&mut self, tokens: u64) {
        let over_tokens = tokens.min(self.overrun_tokens);
        self.overrun_tokens -= over_tokens;
        self.used_tokens = self.used_tokens.saturating_sub(tokens - over_tokens);
    }

    /// Whether its budget is used up or lent.
    pub fn is_exhausted(&self) -> bool {
        self.budget_left_tokens() == 0
    }
}
