//! A decision in the making: events are applied to a copy as they are thought of, so that each next
//! step sees what the ones before it did.

use super::{Decision, Rules};
use crate::findings::{last_words, partial_result};
use crate::record::Usage;
use crate::{BlobId, Branch, BranchId, EndReason, Event, Operation, Origin, Refusal, Scrubbed, Session, Thread};

pub(super) struct DecisionDraft<'a> {
    pub(super) session: Session,
    pub(super) rules: Rules<'a>,
    pub(super) now_ms: u64,
    events: Vec<Event>,
}

impl<'a> DecisionDraft<'a> {
    pub(super) fn new(session: &Session, rules: Rules<'a>, now_ms: u64) -> Self {
        Self { session: session.clone(), rules, now_ms, events: Vec::new() }
    }

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

    /// Every command but settling needs a session that is not over, and starts it if it is new.
    pub(super) fn begin(&mut self) -> Result<(), Refusal> {
        if self.session.ended_at_ms.is_some() {
            return Err(Refusal::SessionOver { session: self.session.id.clone() });
        }
        if self.session.version == 0 {
            self.push(Event::SessionStarted { project: self.session.project.clone() });
        }
        Ok(())
    }

    /// Begins a session as a fork.
    pub(super) fn fork(&mut self, origin: &Origin, prompt: Option<&Scrubbed>) -> Result<(), Refusal> {
        if self.session.version > 0 {
            return Err(Refusal::SessionExists { session: self.session.id.clone() });
        }
        self.begin()?;
        self.push(Event::SessionForked { origin: Box::new(origin.clone()), prompt: prompt.cloned() });
        Ok(())
    }

    pub(super) fn known(&self, branch: &BranchId) -> Result<&Branch, Refusal> {
        let known = self.session.branches.get(branch);
        known.ok_or_else(|| Refusal::BranchNotFound { branch: branch.to_string() })
    }

    /// The branch, if it has not ended.
    pub(super) fn open_one(&self, branch: &BranchId) -> Result<&Branch, Refusal> {
        let branch = self.known(branch)?;
        if branch.is_open() {
            return Ok(branch);
        }
        Err(Refusal::NotActive {
            branch: branch.id.clone(),
            status: branch.status,
            result: branch.end.as_ref().map(|end| end.result.as_str().to_owned()),
        })
    }

    /// Counts a call and its result in a thread. An item that does not fit a branch's budget is not
    /// let in: the branch folds instead, so that none ever exceeds its budget.
    pub(super) fn observe(&mut self, thread: Option<&Thread>, operation: &Operation) -> Result<(), Refusal> {
        self.begin()?;
        let thread = thread.cloned().unwrap_or_else(|| self.session.active.clone());
        if let Some(id) = thread.branch().cloned() {
            let branch = self.open_one(&id)?;
            if operation.tokens > branch.budget_left_tokens() {
                self.exhaust(&id, operation.tokens, operation.blob.clone());
                return Ok(());
            }
        }
        self.push(Event::OperationSeen { thread: thread.clone(), operation: Box::new(operation.clone()) });
        self.check_budget(&thread);
        Ok(())
    }

    /// Takes note of an agent's last words. Where it said nothing, what it said before stands.
    pub(super) fn hear(&mut self, id: &BranchId, said: &Scrubbed) {
        let words = last_words(said);
        let is_news = self.open_one(id).is_ok_and(|branch| branch.findings.last_words != words);
        if is_news && !words.is_empty() && self.session.ended_at_ms.is_none() {
            self.push(Event::Said { branch: id.clone(), words });
        }
    }

    /// Counts an answer in its thread. What a model has said cannot be withheld any more; if it was too much, the
    /// branch folds, and what was over its budget is told apart.
    pub(super) fn meter(&mut self, thread: &Thread, usage: &Usage) -> Result<(), Refusal> {
        let is_over = thread.branch().is_some_and(|id| self.open_one(id).is_err());
        if self.session.ended_at_ms.is_some() || is_over {
            return Ok(());
        }
        self.begin()?;
        self.push(Event::Answered {
            thread: thread.clone(),
            prompt_tokens: usage.prompt_tokens(),
            cache_read_tokens: usage.cache_read_tokens,
            output_tokens: usage.output_tokens,
        });
        self.check_budget(thread);
        Ok(())
    }

    /// Warns at 80 % and folds at 100 %, after a thread has grown.
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

    fn exhaust(&mut self, id: &BranchId, overrun_tokens: u64, blob: Option<BlobId>) {
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

    pub(super) fn tell(&mut self, branches: Vec<BranchId>) {
        if !branches.is_empty() {
            self.push(Event::ParentsTold { branches });
        }
    }
}
