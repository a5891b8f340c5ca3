//! Where the transcript and the engine disagree about a branch: what has to be done about it.
//!
//! The transcript wins. While nothing is done yet, branches are shown as they will be afterwards, so that a
//! plan that nobody acts on (a count of tokens) shows the same.

use super::answers::OpeningArguments;
use super::brief::BranchOutcome;
use super::tree::BranchStage;
use super::walk::Walk;
use super::{Anchor, BranchState, FoundOpening, PlanAction, RequestKind, acts, place};
use crate::{BranchId, EndReason};

impl Walk<'_> {
    /// Folds all open branches here, because somebody spoke over them.
    pub fn interrupt(&mut self, place: &Anchor) {
        self.tree.open_from_outermost().into_iter().for_each(|node| self.adopt_unknown(node));
        // Deepest first: no branch ends before those below it.
        for node in self.tree.open_nodes() {
            let Some(branch) = self.tree.nodes[node].branch().cloned() else {
                continue;
            };
            let outcome = self.interrupted(branch, place);
            self.tree.end(node, outcome);
        }
    }

    fn interrupted(&mut self, branch: BranchId, place: &Anchor) -> BranchOutcome {
        let place = place.clone();
        let (partial, is_over) = match self.known.branches.get(&branch).map(|known| &known.state) {
            None => (String::new(), false),
            Some(BranchState::Open { partial }) => (partial.clone(), false),
            Some(BranchState::Ended { reason, result }) if is_by_force(*reason) && !self.is_recorded(&branch) => {
                self.actions.push(PlanAction::End { branch, place });
                return BranchOutcome::cut(*reason, result.clone());
            }
            Some(BranchState::Ended { result, .. }) => (result.clone(), true),
        };
        if is_over {
            self.actions.push(PlanAction::Reopen { branch: branch.clone() });
        }
        self.actions.push(PlanAction::Interrupt { branch, place });
        BranchOutcome::cut(EndReason::Interrupted, partial)
    }

    /// Compares what is open at the end of the transcript with what the engine has.
    pub fn reconcile(&mut self) {
        if self.request.kind == RequestKind::Side {
            return;
        }
        let mut depth = 0;
        while let Some(&node) = self.tree.path.get(depth) {
            if !self.ends_now(node) {
                depth += 1;
            }
        }
        // Those that wait stand behind the ones that work, and may have run out of time meanwhile.
        for node in self.tree.open_nodes() {
            if matches!(self.tree.nodes[node].state, BranchStage::Waiting) {
                self.ends_now(node);
            }
        }
        if self.request.kind == RequestKind::Turn {
            let is_open = |state: &BranchState| matches!(state, BranchState::Open { .. });
            let open = self.known.branches.iter().filter(|(_, branch)| is_open(&branch.state));
            let lost = open.map(|(id, _)| id).filter(|id| self.tree.find(id).is_none());
            self.actions.extend(lost.map(|branch| PlanAction::Lose { branch: branch.clone() }));
        }
        if !self.acts.new.is_empty() {
            self.actions.push(PlanAction::Remember { answers: std::mem::take(&mut self.acts.new) });
        }
    }

    /// Says what has to be done about an open branch, and ends it if the engine has ended it by force.
    fn ends_now(&mut self, node: usize) -> bool {
        self.adopt_unknown(node);
        let Some(branch) = self.tree.nodes[node].branch().cloned() else {
            return false;
        };
        let Some(known) = self.known.branches.get(&branch) else {
            return false;
        };
        let BranchState::Ended { reason, result } = &known.state else {
            return false;
        };
        let is_new = is_by_force(*reason) && !self.is_recorded(&branch);
        let place = place::end(self.request.blocks, self.last_turn).filter(|_| is_new);
        let Some(place) = place else {
            self.actions.push(PlanAction::Reopen { branch });
            return false;
        };
        self.actions.push(PlanAction::End { branch, place });
        self.tree.end(node, BranchOutcome::cut(*reason, result.clone()));
        self.tree.settle();
        true
    }

    /// Whether it is recorded where a branch has ended. If that is at another place, the client has gone back to
    /// before it.
    fn is_recorded(&self, branch: &BranchId) -> bool {
        let generation = self.known.branches.get(branch).map(|known| known.generation);
        self.known.endings.iter().any(|end| end.branch == *branch && Some(end.generation) == generation)
    }

    fn adopt_unknown(&mut self, node: usize) {
        let Some(opening) = &self.tree.nodes[node].opening else {
            return;
        };
        let branch = &opening.opened.branch;
        if self.known.branches.contains_key(branch) {
            return;
        }
        let opened = &opening.opened;
        let call = acts::call_block(self.request.blocks, opening.call);
        let arguments = OpeningArguments::read(call.and_then(|call| opened.arguments(call)));
        let opening = FoundOpening {
            description: arguments.description,
            prompt: arguments.prompt,
            budget_tokens: opened.budget_tokens,
            timeout_s: opened.timeout_s,
            isolation: opened.isolation,
        };
        let parent = self.tree.nodes[self.tree.nodes[node].parent].thread();
        self.actions.push(PlanAction::Adopt { branch: branch.clone(), parent, opening });
    }
}

/// Whether a branch that ended so was cut short where it stood. All other ends can be seen in the transcript.
fn is_by_force(reason: EndReason) -> bool {
    match reason {
        EndReason::BudgetExhausted
        | EndReason::TimedOut
        | EndReason::SessionEnded
        | EndReason::SessionEndTimeout
        | EndReason::Interrupted => true,
        EndReason::Returned
        | EndReason::ReportedFailure
        | EndReason::ParentReturning
        | EndReason::RolledBack
        | EndReason::OpeningLost => false,
    }
}
