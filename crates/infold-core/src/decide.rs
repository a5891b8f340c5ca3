//! What a command does to a session, as a function from values to values.
//!
//! [`decide`] takes a session as it is and says which events follow from a command, or why the command is refused; it
//! changes nothing. Recording the events is the caller's task. The store refuses that if the session has moved on, and
//! then the caller decides again. So of several commands that race for one branch exactly one ends it.

mod draft;
mod fold;
mod observe;
mod open;
mod rollback;

use crate::memory::{OpeningMemories, WorkPlace};
use crate::record::Usage;
use crate::{
    BranchId, Claims, Counter, EndReason, Event, Isolation, Limits, Operation, Origin, Scrubbed, Session, Start, Thread,
};

pub use draft::decide;

/// What a decision depends on beside the session and the commands.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The bounds from settings.
    pub limits: &'a Limits,
    /// Counts the tokens of briefs and results.
    pub counter: &'a Counter,
}

/// A branch that somebody wants to open.
#[derive(Debug, Clone)]
pub struct Open {
    /// The id that it will have; the caller makes it, because ids need random bytes.
    pub id: BranchId,
    /// The thread that it goes under; `None` is the active one.
    pub parent: Option<Thread>,
    /// What the branch is for, in a line.
    pub description: Scrubbed,
    /// What it is asked to do, in full; `None` where the description says it all.
    pub prompt: Option<Scrubbed>,
    /// The budget that the caller asks for; `None` is the usual one.
    pub budget_tokens: Option<u64>,
    /// The time that the caller asks for; `None` is the usual one.
    pub timeout_s: Option<u64>,
    /// The claims of whoever opens it.
    pub claims: Claims,
    /// What its thread begins with.
    pub isolation: Isolation,
    /// When its time begins to run.
    pub start: Start,
    /// Memories for it.
    pub memories: OpeningMemories,
    /// Where its work is done, if that is known.
    pub work_place: Option<WorkPlace>,
    /// The time of the opening that was `openings_per_minute_max` openings ago, if there were that many. If that is
    /// less than a minute ago, this opening comes too soon.
    pub rate_mark_ms: Option<u64>,
}

/// What a branch's agent says about its task when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReturnOutcome {
    /// It did what it was asked.
    Completed,
    /// It could not do what it was asked.
    Failed,
}

/// Something that somebody wants to happen to a session.
#[derive(Debug, Clone)]
pub enum Command {
    /// Fold the branches whose time is over. Every change begins with this, so that no overdue branch is seen as open.
    FoldOverdue,
    /// Begin a session as a fork. It must not have begun already.
    Fork {
        /// The session that it is forked from, and the context that it gets.
        origin: Box<Origin>,
        /// What the child is asked to do; `None` if that comes later.
        prompt: Option<Scrubbed>,
    },
    /// Start the session, if it has no events yet.
    Start,
    /// Open a branch, within the limits.
    Open(Box<Open>),
    /// Open a branch that was opened before and of which no record is left, as when the database was lost. It was
    /// allowed then, so limits are not applied now.
    Adopt(Box<Open>),
    /// Count a call and its result in a thread.
    Observe {
        /// The thread that they are counted in; `None` is the active one.
        thread: Option<Thread>,
        /// What was called, with what, and what would be shown of the result.
        operation: Box<Operation>,
    },
    /// Count a call whose result was shown before this was decided. Nothing happens if the thread's branch or the session
    /// has ended.
    ObserveShown {
        /// The thread that it is counted in.
        thread: Thread,
        /// What was called, with what, and what was shown of the result.
        operation: Box<Operation>,
    },
    /// Remember the last words of a branch's agent, for a partial result. Nothing happens if the branch has ended.
    NoteWords {
        /// The branch whose agent spoke.
        branch: BranchId,
        /// All that it said in one answer; the end of it is remembered.
        words: Scrubbed,
    },
    /// Count a model's answer in a thread. Nothing happens if the thread's branch or the session has ended.
    Meter {
        /// The thread that asked the model.
        thread: Thread,
        /// The tokens that the provider reported.
        usage: Usage,
    },
    /// End a branch and hand its message to its parent. A branch that was cut short, and whose parent has not got the
    /// notice yet, may still hand over its message.
    Fold {
        /// The branch to end; `None` is the active one.
        branch: Option<BranchId>,
        /// The message for its parent.
        message: Scrubbed,
        /// Whether it did what it was asked.
        outcome: ReturnOutcome,
    },
    /// End a branch that did not return by itself; its parent gets what it has found so far. Nothing happens if it has
    /// ended already.
    CutShort {
        /// The branch to end, and all below it.
        branch: BranchId,
        /// The reason that its parent reads.
        reason: EndReason,
    },
    /// End the session. Branches that are still open end as failed.
    EndSession,
    /// Go back to a branch, and discard what was opened since. The session in memory must hold every such branch.
    RollBack {
        /// The branch that is to be open again.
        to: BranchId,
    },
    /// Open a branch and those above it again, and discard nothing. Nothing happens to those that are open.
    Reopen {
        /// The branch that its client goes on in.
        branch: BranchId,
    },
    /// Record that a thread gets, with this answer, the notices about its branches that were cut short. No other
    /// thread gets them: what a branch has found is for its parent, not for its siblings.
    MarkReported {
        /// The thread that gets the notices.
        to: Thread,
    },
    /// Record that a branch's parent has learnt of its end, if the branch was cut short.
    MarkEndReported {
        /// The branch that was cut short.
        branch: BranchId,
    },
}

/// What commands lead to: events to record, and the session after them.
#[derive(Debug, Clone)]
pub struct Decision {
    /// The events, in the order in which they are to be recorded.
    pub events: Vec<Event>,
    /// The session with these events applied.
    pub after: Session,
    /// Branches that are new or different after the events.
    pub changed: Vec<BranchId>,
}

impl Decision {
    /// Whether an observed result fitted and was let into its thread.
    pub fn item_was_let_in(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::OperationSeen { .. }))
    }
}

#[cfg(test)]
pub(crate) mod tests;
