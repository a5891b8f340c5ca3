//! Going back to a branch: it is open again as it was at its last turn, and branches that were opened since no longer
//! count. Nothing is erased: both are events of the log.

use super::draft::DecisionDraft;
use crate::{Branch, BranchId, EndReason, Event, Refusal, Thread};

impl DecisionDraft<'_> {
    pub(super) fn roll_back(&mut self, to: &BranchId) -> Result<(), Refusal> {
        self.begin()?;
        let target = self.find_branch(to)?;
        if target.discarded {
            return Err(Refusal::BranchNotFound { branch: to.to_string() });
        }
        let since = target.ordinal;
        let mut later: Vec<(u64, u32, BranchId)> = self
            .session
            .branches
            .values()
            .filter(|branch| branch.ordinal > since && !branch.discarded)
            .map(|branch| (branch.ordinal, branch.depth, branch.id.clone()))
            .collect();
        later.sort();
        self.end_discarded(&later);

        let reopened = self.ended_on_the_way_to(to);
        let open = (self.session.open().count() + reopened.len()) as u64;
        let open_max = self.rules.limits.open_per_session_max;
        if open > open_max {
            return Err(Refusal::TooManyInSession { open, open_max });
        }
        let discarded = later.into_iter().map(|(_, _, id)| id).collect();
        self.push(Event::RolledBack { to: to.clone(), reopened: reopened.clone(), discarded });
        // A branch that had used all of its budget could do nothing but end again.
        let has_nothing_left = |id: &BranchId| self.session.branches.get(id).is_some_and(Branch::is_exhausted);
        if reopened.iter().any(has_nothing_left) { Err(Refusal::BudgetGone) } else { Ok(()) }
    }

    /// Opens a branch again and discards nothing, because the client's transcript already says what came later. A
    /// branch that a rollback discarded counts again, because the client has gone back to before the rollback. A
    /// branch without budget is opened too, because the client goes on in it: it ends again when it next grows.
    pub(super) fn reopen(&mut self, branch: &BranchId) -> Result<(), Refusal> {
        self.begin()?;
        self.find_branch(branch)?;
        let reopened = self.ended_on_the_way_to(branch);
        if !reopened.is_empty() {
            self.push(Event::RolledBack { to: branch.clone(), reopened, discarded: Vec::new() });
        }
        Ok(())
    }

    /// Ended branches from the main thread down to one, outermost first.
    fn ended_on_the_way_to(&self, branch: &BranchId) -> Vec<BranchId> {
        let path = self.session.path(&Thread::Branch(branch.clone()));
        let is_open = |id: &BranchId| self.session.branches.get(id).is_some_and(Branch::is_open);
        path.iter().filter_map(Thread::branch).filter(|id| !is_open(id)).cloned().collect()
    }

    fn end_discarded(&mut self, later: &[(u64, u32, BranchId)]) {
        let mut open: Vec<(u32, u64, BranchId)> = later
            .iter()
            .filter(|(_, _, id)| self.session.branches.get(id).is_some_and(Branch::is_open))
            .map(|(ordinal, depth, id)| (*depth, *ordinal, id.clone()))
            .collect();
        open.sort();
        for (_, _, id) in open.into_iter().rev() {
            self.end_cut_short(&id, EndReason::RolledBack);
        }
    }
}
