//! A branch: a sub-task that works out of its parent's sight and hands back one message.

use serde::{Deserialize, Serialize};

use crate::findings::Findings;
use crate::{Allocation, BranchId, Claims, Scrubbed, Thread};

/// Where a branch is in its life. The last three are ends; a branch reaches exactly one of them in
/// each generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Recorded, not yet ready for work.
    Created,
    /// At work.
    Active,
    /// Returned, or folded because its parent or session ended.
    Completed,
    /// Cut short: out of budget or time, or interrupted.
    Timeout,
    /// Could not do what it was asked.
    Failed,
}

impl Status {
    /// The status as seed documents spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Timeout => "timeout",
            Self::Failed => "failed",
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
    /// It returned.
    Returned,
    /// It said that it failed.
    ReportedFailure,
    /// Its budget is used up.
    BudgetExhausted,
    /// Its time is used up.
    TimedOut,
    /// The branch above it returned.
    ParentReturning,
    /// Its session ended.
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
    /// The reason in words.
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

    /// Whether the branch was ended from outside, so that its parent has to be told.
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

    /// Whether something can be learnt from how the branch went. One that was interrupted tells only that somebody
    /// spoke.
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
    /// As settings and tools spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Isolated => "isolated",
            Self::Inherit => "inherit",
        }
    }

    /// Reads what a setting or a call says.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Isolated, Self::Inherit].into_iter().find(|isolation| isolation.as_str() == text)
    }

    /// Whether it is the usual, which needs no saying.
    pub fn is_isolated(&self) -> bool {
        *self == Self::Isolated
    }
}

/// When a branch's time begins to run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// When it is opened.
    #[default]
    AtOnce,
    /// When those have ended that were opened beside it before and wait for their turn likewise. In a
    /// transcript, branches of one parent run one after another.
    InTurn,
}

impl Start {
    /// Whether it is the usual, which needs no saying.
    pub fn is_at_once(&self) -> bool {
        *self == Self::AtOnce
    }
}

/// How a branch ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Why.
    pub reason: EndReason,
    /// When.
    pub at_ms: u64,
    /// What its parent gets.
    pub result: Scrubbed,
    /// By how much the parent's thread grew.
    pub result_tokens: u64,
}

/// A branch as it stands now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Its id.
    pub id: BranchId,
    /// The thread that opened it.
    pub parent: Thread,
    /// How deep it lies; the session itself is 0.
    pub depth: u32,
    /// The how-manieth opening of its session this was, from 1.
    pub ordinal: u64,
    /// How often it has been opened: 1, and one more for each rollback to it.
    pub generation: u32,
    /// What it is for, in a line.
    pub description: Scrubbed,
    /// What it was asked to do.
    pub prompt: Option<Scrubbed>,
    /// What was remembered for it when it opened, told with its opening message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<Scrubbed>,
    /// Who opened it. A branch never has more rights than this.
    #[serde(default)]
    pub claims: Claims,
    /// Where it is in its life.
    pub status: Status,
    /// What its thread begins with.
    #[serde(default, skip_serializing_if = "Isolation::is_isolated")]
    pub isolation: Isolation,
    /// When its time begins to run.
    #[serde(default, skip_serializing_if = "Start::is_at_once")]
    pub start: Start,
    /// Tokens it may use.
    pub budget_tokens: u64,
    /// What its budget was taken from.
    pub allocation: Allocation,
    /// Tokens of its brief and of everything first seen in its thread; never more than its budget.
    pub used_tokens: u64,
    /// Tokens lent to branches below it, where budgets are pooled.
    #[serde(default)]
    pub lent_tokens: u64,
    /// Tokens that did not fit any more: of a result that was therefore not shown to it, or of an answer that it did
    /// not live to go on from.
    #[serde(default)]
    pub overrun_tokens: u64,
    /// Calls seen in its thread.
    pub operations: u64,
    /// Whether the warning at 80 % has been given.
    pub warned: bool,
    /// When it opened.
    pub opened_at_ms: u64,
    /// How long it may take.
    pub timeout_ms: u64,
    /// When its time is over.
    pub deadline_ms: u64,
    /// How it ended, once it has.
    pub end: Option<End>,
    /// Whether a rollback went back to before it.
    #[serde(default)]
    pub discarded: bool,
    /// What it has seen so far, for a result should it be cut short.
    #[serde(default)]
    pub findings: Findings,
}

impl Branch {
    /// Share of the budget, in percent, from which a warning is given.
    pub const WARN_PERCENT: u64 = 80;

    /// Whether it has not ended yet.
    pub fn is_open(&self) -> bool {
        self.status.is_open()
    }

    /// Tokens that count against the budget, as shown to people: never above the budget, because
    /// what does not fit is not shown to the branch.
    pub fn budget_used_tokens(&self) -> u64 {
        (self.used_tokens + self.lent_tokens + self.overrun_tokens).min(self.budget_tokens)
    }

    /// Tokens that are left.
    pub fn budget_left_tokens(&self) -> u64 {
        self.budget_tokens.saturating_sub(self.used_tokens + self.lent_tokens)
    }

    /// Lets something into its thread. What is over the budget is counted apart: the branch folds before it could
    /// go on from it.
    pub(crate) fn take_in(&mut self, tokens: u64) {
        let fitting_tokens = tokens.min(self.budget_left_tokens());
        self.used_tokens += fitting_tokens;
        self.overrun_tokens += tokens - fitting_tokens;
    }

    /// Takes something out of its thread again, first of what did not fit.
    pub(crate) fn take_out(&mut self, tokens: u64) {
        let over_tokens = tokens.min(self.overrun_tokens);
        self.overrun_tokens -= over_tokens;
        self.used_tokens = self.used_tokens.saturating_sub(tokens - over_tokens);
    }

    /// Whether nothing is left.
    pub fn is_exhausted(&self) -> bool {
        self.budget_left_tokens() == 0
    }
}
