//! A decision in the making: each event is applied to a copy of the session as soon as it is decided, so that the next
//! step sees what the ones before it did.
//!
//! What must hold: a branch never has more in it than its budget, and ends after those below it.

use super::{Command, Decision, Rules};
use crate::findings::partial_result;
use crate::{BlobId, Branch, BranchId, EndReason, Event, Origin, Refusal, Scrubbed, Session, Thread};

pub(super) struct DecisionDraft<'a> {
    pub(super) session: Session,
    pub(super) rules: Rules<'a>,
    pub(super) now_ms: u64,
    events: Vec<Event>,
}

/// Says what commands lead to, one after the other: all of them, or none if one of them is refused.
pub fn decide(session: &Session, commands: &[Command], rules: Rules<'_>, now_ms: u64) -> Result<Decision, Refusal> {
    let mut draft = DecisionDraft::new(session, rules, now_ms);
    for command in commands {
        match command {
            Command::FoldOverdue => draft.fold_overdue(),
            Command::Fork { origin, prompt } => draft.fork(origin, prompt.as_ref())?,
            Command::Start => draft.begin()?,
            Command::Open(open) => draft.open(open)?,
            Command::Adopt(open) => draft.adopt(open)?,
            Command::Observe { thread, operation } => draft.observe(thread.as_ref(), operation)?,
            Command::ObserveShown { thread, operation } => draft.observe_shown(thread, operation)?,
            Command::NoteWords { branch, words } => draft.note_words(branch, words),
            Command::Meter { thread, usage } => draft.meter(thread, usage)?,
            Command::Fold { branch, message, outcome } => draft.fold(branch.as_ref(), message, *outcome)?,
            Command::CutShort { branch, reason } => draft.cut_short(branch, *reason),
            Command::EndSession => draft.end_session()?,
            Command::RollBack { to } => draft.roll_back(to)?,
            Command::Reopen { branch } => draft.reopen(branch)?,
            Command::MarkReported { to } => draft.mark_reported(draft.session.unreported_to(to)),
            Command::MarkEndReported { branch } => draft.mark_reported(draft.session.unreported_of(branch)),
        }
    }
    Ok(draft.finish(session))
}

impl<'a> DecisionDraft<'a> {
    pub(super) fn new(session: &Session, rules: Rules<'a>, now_ms: u64) -> Self {
        Self { session: session.clone(), rules, now_ms, events: Vec::new() }
    }

    /// Decides an event. Applying it keeps the figures and the tree: whose turn it is, when a branch's time is over.
    pub(super) fn push(&mut self, event: Event) {
        self.session.apply(&event, self.now_ms);
        self.events.push(event);
    }

    pub(super) fn finish(self, before: &Session) -> Decision {
        let changed = self
            .session
            .branches
            .values()
            .filter(|branch| before.branches.get(&branch.id) != Some(branch))
            .map(|branch| branch.id.clone())
            .collect();
        Decision { events: self.events, after: self.session, changed }
    }

    /// Refuses if the session is over, and starts it if it is new. Every command that must not be ignored begins so.
    pub(super) fn begin(&mut self) -> Result<(), Refusal> {
        if self.session.ended_at_ms.is_some() {
            return Err(Refusal::SessionOver { session: self.session.id.clone() });
        }
        if self.session.version == 0 {
            self.push(Event::SessionStarted { project: self.session.project.clone() });
        }
        Ok(())
    }

    /// Begins a session as a fork; refused if it has any events.
    pub(super) fn fork(&mut self, origin: &Origin, prompt: Option<&Scrubbed>) -> Result<(), Refusal> {
        if self.session.version > 0 {
            return Err(Refusal::SessionExists { session: self.session.id.clone() });
        }
        self.begin()?;
        self.push(Event::SessionForked { origin: Box::new(origin.clone()), prompt: prompt.cloned() });
        Ok(())
    }

    pub(super) fn find_branch(&self, branch: &BranchId) -> Result<&Branch, Refusal> {
        let known = self.session.branches.get(branch);
        known.ok_or_else(|| Refusal::BranchNotFound { branch: branch.to_string() })
    }

    /// The branch, if it exists and has not ended.
    pub(super) fn require_open(&self, branch: &BranchId) -> Result<&Branch, Refusal> {
        let branch = self.find_branch(branch)?;
        if branch.is_open() {
            return Ok(branch);
        }
        Err(Refusal::NotActive {
            branch: branch.id.clone(),
            status: branch.status,
            result: branch.end.as_ref().map(|end| end.result.as_str().to_owned()),
        })
    }

    /// Warns a branch at 80 % of its budget and folds it at 100 %. Called whenever a thread has grown.
    pub(super) fn check_budget(&mut self, thread: &Thread) {
        let Some(branch) = thread.branch().and_then(|id| self.session.branches.get(id)) else { return };
        if !branch.is_open() {
            return;
        }
        let (id, used_tokens, budget_tokens) = (branch.id.clone(), branch.budget_used_tokens(), branch.budget_tokens);
        let exhausted = branch.is_exhausted();
        if !branch.warned && used_tokens * 100 >= budget_tokens * Branch::WARN_PERCENT {
            self.push(Event::BudgetWarning { branch: id.clone(), used_tokens, budget_tokens });
        }
        if exhausted {
            self.exhaust(&id, 0, None);
        }
    }

    pub(super) fn exhaust(&mut self, id: &BranchId, overrun_tokens: u64, blob: Option<BlobId>) {
        let Some(branch) = self.session.branches.get(id) else { return };
        let (used_tokens, budget_tokens) = (branch.used_tokens, branch.budget_tokens);
        self.push(Event::BudgetExhausted { branch: id.clone(), used_tokens, overrun_tokens, blob, budget_tokens });
        self.end_cut_short(id, EndReason::BudgetExhausted);
    }

    /// Ends a branch that did not return by itself, and everything below it.
    pub(super) fn end_cut_short(&mut self, id: &BranchId, reason: EndReason) {
        self.end_below(id);
        let Some(branch) = self.session.branches.get(id) else { return };
        let result = partial_result(branch, reason);
        self.end(id, reason, result);
    }

    /// Ends the open branches below one, deepest first, so that no ended branch ever has an open one
    /// below it.
    pub(super) fn end_below(&mut self, id: &BranchId) {
        for below in self.session.open_below(id) {
            let Some(branch) = self.session.branches.get(&below) else { continue };
            let result = partial_result(branch, EndReason::ParentReturning);
            self.end(&below, EndReason::ParentReturning, result);
        }
    }

    /// Ends one branch. Its parent's thread grows by the result, unless the parent is ending too or
    /// will never see it.
    pub(super) fn end(&mut self, id: &BranchId, reason: EndReason, result: Scrubbed) {
        let Some(branch) = self.session.branches.get(id) else { return };
        let (generation, parent) = (branch.generation, branch.parent.clone());
        let result_tokens = match reason {
            EndReason::Returned
            | EndReason::ReportedFailure
            | EndReason::BudgetExhausted
            | EndReason::TimedOut
            | EndReason::Interrupted => self.rules.counter.count(result.as_str()),
            EndReason::ParentReturning
            | EndReason::SessionEnded
            | EndReason::SessionEndTimeout
            | EndReason::RolledBack
            | EndReason::OpeningLost => 0,
        };
        self.push(Event::BranchEnded { branch: id.clone(), generation, reason, result, result_tokens });
        if result_tokens > 0 {
            self.check_budget(&parent);
        }
    }

    /// Records who has learnt of which ends. Nothing happens to a session that is over: its log has ended.
    pub(super) fn mark_reported(&mut self, branches: Vec<BranchId>) {
        if !branches.is_empty() && self.session.ended_at_ms.is_none() {
            self.push(Event::EndsReported { branches });
        }
    }
}
