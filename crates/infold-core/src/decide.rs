//! What a command leads to.
//!
//! [`decide`] takes a session as it stands and says which events follow, or why the command is
//! refused; it changes nothing. Recording the events is the caller's, and is refused by the store if
//! the session has moved on, in which case the caller decides again. So of several commands that race
//! for one branch exactly one ends it.

mod draft;
mod fold;
mod open;
mod rollback;

use crate::record::Usage;
use crate::{
    BranchId, Claims, Counter, EndReason, Event, Isolation, Limits, Operation, Origin, Refusal, Scrubbed, Session,
    Start, Thread,
};
use draft::DecisionDraft;

/// What decisions are made by.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The bounds.
    pub limits: &'a Limits,
    /// Counts what is put together here.
    pub counter: &'a Counter,
}

/// A branch that somebody wants to open.
#[derive(Debug, Clone)]
pub struct Open {
    /// The id it will have.
    pub id: BranchId,
    /// The thread it goes under; the active one if none is named.
    pub parent: Option<Thread>,
    /// What it is for.
    pub description: Scrubbed,
    /// What it is asked to do.
    pub prompt: Option<Scrubbed>,
    /// The budget that is wished for.
    pub budget_tokens: Option<u64>,
    /// The time that is wished for.
    pub timeout_s: Option<u64>,
    /// Who opens it.
    pub claims: Claims,
    /// What its thread begins with.
    pub isolation: Isolation,
    /// When its time begins to run.
    pub start: Start,
    /// When the opening took place that lies `openings_per_minute_max` openings back, if there is one.
    pub rate_mark_ms: Option<u64>,
}

/// What a branch says of itself when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReturnOutcome {
    /// It did what it was asked.
    Completed,
    /// It could not.
    Failed,
}

/// What somebody wants.
#[derive(Debug, Clone)]
pub enum Command {
    /// Fold the branches whose time is over.
    Settle,
    /// Begin a session as a fork. It must not have begun already.
    Fork {
        /// Where it comes from.
        origin: Box<Origin>,
        /// What it is asked to do.
        prompt: Option<Scrubbed>,
    },
    /// Start the session, if that has not been done.
    Start,
    /// Open a branch.
    Open(Box<Open>),
    /// Open a branch that was opened before and of which nothing is recorded any more. It was allowed then,
    /// so limits do not stand against it now.
    Adopt(Box<Open>),
    /// Count a call and its result in a thread.
    Observe {
        /// The thread; the active one if none is named.
        thread: Option<Thread>,
        /// The call and its result.
        operation: Box<Operation>,
    },
    /// Take note of what the agent of a branch has said. A branch that is over has nothing more to say.
    Hear {
        /// The branch.
        branch: BranchId,
        /// What was said.
        words: Scrubbed,
    },
    /// Count what a model answered in a thread. A branch that is over has nothing more to be counted.
    Meter {
        /// The thread.
        thread: Thread,
        /// What the provider reported.
        usage: Usage,
    },
    /// End a branch and hand its message to its parent. One that was cut short, and whose parent has not
    /// been told yet, hands over its message all the same.
    Fold {
        /// The branch; the active one if none is named.
        branch: Option<BranchId>,
        /// What its parent gets.
        message: Scrubbed,
        /// What it says of itself.
        outcome: ReturnOutcome,
    },
    /// End a branch that did not return by itself, with what it has found so far. One that has ended stays
    /// as it is.
    CutShort {
        /// The branch.
        branch: BranchId,
        /// Why.
        reason: EndReason,
    },
    /// End the session. Branches that are still open have failed.
    EndSession,
    /// Go back to a branch. The session must hold every branch opened since.
    RollBack {
        /// The branch.
        to: BranchId,
    },
    /// Open a branch again, and those above it, and discard nothing. One that is open stays as it is.
    Reopen {
        /// The branch.
        branch: BranchId,
    },
    /// Take note that a thread has been told of its branches that were cut short. Nobody else is: what
    /// a branch has found is its parent's to know, and not its siblings'.
    Tell {
        /// The thread.
        to: Thread,
    },
    /// Take note that a branch's parent has been told of its end, if it was cut short.
    TellOf {
        /// The branch.
        branch: BranchId,
    },
}

/// What a command leads to.
#[derive(Debug, Clone)]
pub struct Decision {
    /// What happens, in order.
    pub events: Vec<Event>,
    /// The session afterwards.
    pub after: Session,
    /// The branches that are not as they were.
    pub changed: Vec<BranchId>,
}

impl Decision {
    /// Whether an observed item was let into its thread.
    pub fn item_was_let_in(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::OperationSeen { .. }))
    }
}

/// Says what commands lead to, one after the other: all of them, or none if one is refused.
pub fn decide(session: &Session, commands: &[Command], rules: Rules<'_>, now_ms: u64) -> Result<Decision, Refusal> {
    let mut draft = DecisionDraft::new(session, rules, now_ms);
    for command in commands {
        match command {
            Command::Settle => draft.settle(),
            Command::Fork { origin, prompt } => draft.fork(origin, prompt.as_ref())?,
            Command::Start => draft.begin()?,
            Command::Open(open) => draft.open(open)?,
            Command::Adopt(open) => draft.adopt(open)?,
            Command::Observe { thread, operation } => draft.observe(thread.as_ref(), operation)?,
            Command::Hear { branch, words } => draft.hear(branch, words),
            Command::Meter { thread, usage } => draft.meter(thread, usage)?,
            Command::Fold { branch, message, outcome } => draft.fold(branch.as_ref(), message, *outcome)?,
            Command::CutShort { branch, reason } => draft.cut_short(branch, *reason),
            Command::EndSession => draft.end_session()?,
            Command::RollBack { to } => draft.roll_back(to)?,
            Command::Reopen { branch } => draft.reopen(branch)?,
            Command::Tell { to } => draft.tell(draft.session.untold_to(to)),
            Command::TellOf { branch } => draft.tell(draft.session.untold_of(branch)),
        }
    }
    Ok(draft.finish(session))
}

#[cfg(test)]
pub(crate) mod tests;
