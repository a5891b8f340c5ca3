//! Ending branches: by a return, by time, with their session.

use super::Outcome;
use super::draft::Draft;
use crate::{BranchId, EndReason, Event, Refusal, Scrubbed};

impl Draft<'_> {
    /// Folds every branch whose time is over, deepest first: a branch that is out of time itself is
    /// not counted as closed by its parent.
    pub(super) fn settle(&mut self) {
        if self.session.ended_at_ms.is_some() {
            return;
        }
        let now_ms = self.now_ms;
        let mut due: Vec<(u32, u64, BranchId)> = self
            .session
            .open()
            .filter(|branch| branch.deadline_ms <= now_ms)
            .map(|branch| (branch.depth, branch.ordinal, branch.id.clone()))
            .collect();
        due.sort();
        for (_, _, id) in due.into_iter().rev() {
            // Folding one may have used up its parent's budget, and so have ended another.
            if self.open_one(&id).is_ok() {
                self.end_cut_short(&id, EndReason::TimedOut);
            }
        }
    }

    pub(super) fn fold(
        &mut self,
        branch: Option<&BranchId>,
        message: &Scrubbed,
        outcome: Outcome,
    ) -> Result<(), Refusal> {
        self.begin()?;
        let id = match branch.or(self.session.active.branch()) {
            Some(id) => id.clone(),
            None => return Err(Refusal::NothingActive { session: self.session.id.clone() }),
        };
        self.open_one(&id)?;
        let reason = match outcome {
            Outcome::Completed => EndReason::Returned,
            Outcome::Failed => EndReason::ReportedFailure,
        };
        self.end_below(&id);
        self.end(&id, reason, message.clone());
        Ok(())
    }

    /// Ends a branch with its session. One that has ended meanwhile is left as it is.
    pub(super) fn fold_for_session_end(&mut self, id: &BranchId) {
        if self.session.ended_at_ms.is_none() && self.open_one(id).is_ok() {
            self.end_cut_short(id, EndReason::SessionEnded);
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
