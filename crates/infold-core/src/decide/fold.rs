//! Ending branches: by a return, because their time is over, because something cut them short, with their session.

use super::ReturnOutcome;
use super::draft::DecisionDraft;
use crate::{BranchId, EndReason, Event, Refusal, Scrubbed, Thread};

impl DecisionDraft<'_> {
    /// Folds every branch whose time is over, deepest first: a branch that is out of time itself is
    /// not counted as closed by its parent.
    pub(super) fn fold_overdue(&mut self) {
        if self.session.ended_at_ms.is_some() {
            return;
        }
        let now_ms = self.now_ms;
        let mut due: Vec<(u32, u64, BranchId)> = self
            .session
            .open()
            .filter(|branch| branch.deadline_ms <= now_ms && !self.session.is_waiting(branch))
            .map(|branch| (branch.depth, branch.ordinal, branch.id.clone()))
            .collect();
        due.sort();
        for (_, _, id) in due.into_iter().rev() {
            // Folding one may have used up its parent's budget, and so have ended another.
            if self.require_open(&id).is_ok() {
                self.end_cut_short(&id, EndReason::TimedOut);
            }
        }
    }

    pub(super) fn fold(
        &mut self,
        branch: Option<&BranchId>,
        message: &Scrubbed,
        outcome: ReturnOutcome,
    ) -> Result<(), Refusal> {
        self.begin()?;
        let id = match branch.or(self.session.active.branch()) {
            Some(id) => id.clone(),
            None => return Err(Refusal::NothingActive { session: self.session.id.clone() }),
        };
        if let Some(generation) = self.amendable(&id) {
            self.amend(&id, generation, message);
            return Ok(());
        }
        self.require_open(&id)?;
        let reason = match outcome {
            ReturnOutcome::Completed => EndReason::Returned,
            ReturnOutcome::Failed => EndReason::ReportedFailure,
        };
        self.end_below(&id);
        self.end(&id, reason, message.clone());
        Ok(())
    }

    /// The generation of a branch that was cut short, if its parent has not got the notice yet.
    fn amendable(&self, id: &BranchId) -> Option<u32> {
        let branch = self.session.branches.get(id)?;
        (!branch.is_open() && self.session.unreported.contains(id)).then_some(branch.generation)
    }

    /// Gives the parent the message of a branch that returned late. When and why the branch ended stays as it was.
    fn amend(&mut self, id: &BranchId, generation: u32, message: &Scrubbed) {
        let parent = self.session.branches.get(id).map_or(Thread::Main, |branch| branch.parent.clone());
        let result_tokens = self.rules.counter.count(message.as_str());
        self.push(Event::ResultAmended { branch: id.clone(), generation, result: message.clone(), result_tokens });
        self.check_budget(&parent);
    }

    /// Ends a branch that did not return by itself, unless it has ended meanwhile.
    pub(super) fn cut_short(&mut self, id: &BranchId, reason: EndReason) {
        if self.session.ended_at_ms.is_none() && self.require_open(id).is_ok() {
            self.end_cut_short(id, reason);
        }
    }

    pub(super) fn end_session(&mut self) -> Result<(), Refusal> {
        self.begin()?;
        let mut stragglers: Vec<(u32, u64, BranchId)> =
            self.session.open().map(|branch| (branch.depth, branch.ordinal, branch.id.clone())).collect();
        stragglers.sort();
        for (_, _, id) in stragglers.into_iter().rev() {
            self.end_cut_short(&id, EndReason::SessionEndTimeout);
        }
        self.push(Event::SessionEnded {});
        Ok(())
    }
}
