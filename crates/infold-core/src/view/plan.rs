//! Plans: which pieces of a conversation a request sends to the model, and why each differs from what the client sent.
//!
//! [`plan`] reads the transcript ([`Walk`]), picks the thread that is answered, and writes its view ([`ViewWriter`]).
//! It changes nothing: what has to be done or stored first is named as a [`PlanAction`], and the engine plans again.
//!
//! Where the transcript and the store disagree about a branch, the transcript wins. The tree is changed at once to what
//! it will be when the actions are done, so that a plan that nobody acts on (a count of tokens) shows the same view.

use super::answers::OpeningArguments;
use super::assemble::{ViewWriter, is_result, replacement};
use super::brief::BranchOutcome;
use super::reasoning::Bounds;
use super::tree::{BranchStage, MAIN};
use super::walk::Walk;
use super::{
    Anchor, BranchState, Edit, FoundOpening, PlanAction, RequestKind, Restart, StoredDecisions, ThreadSource,
    ViewPiece, ViewPlan, ViewRequest, acts, place, runs_scripts,
};
use crate::{BranchId, EndReason, IdKey, Scrubber, ToolEffect};

/// Decides what is sent for a request.
pub fn plan(request: &ViewRequest<'_>, known: &StoredDecisions, key: &IdKey, scrubber: &Scrubber) -> ViewPlan {
    let mut walk = Walk::through(request, known, key);
    walk.reconcile();
    // From which block on each thread may be sent its reasoning: a restart makes all that came before it useless.
    let bounds = Bounds::of(&walk);
    let end = place::end(request.blocks, walk.last_turn);
    if let (RequestKind::Turn | RequestKind::Compaction, Some(place)) = (request.kind, &end) {
        let repeated = bounds.left_behind.iter().map(|restart| Restart { place: place.clone(), ..(*restart).clone() });
        walk.actions.extend(repeated.map(PlanAction::Restart));
    }
    let node = match request.kind {
        RequestKind::Side => MAIN,
        RequestKind::Turn | RequestKind::Compaction => walk.tree.current(),
    };

    // Threads that begin with the same thread's view have one root; a restart of one is a restart of all.
    let root = walk.thread(bounds.root(node));
    let mut writer = ViewWriter::new(&walk, scrubber, bounds);
    writer.write_thread(node);
    writer.account_for_absent(node);
    let ViewWriter { pieces, edits, .. } = writer;

    let unseen = unseen_results(&walk);
    let open = walk.tree.open_outermost_first();
    ViewPlan {
        thread: walk.thread(node),
        restart_here: end.map(|place| Restart { root: Some(root), from: None, place }),
        reads_results: can_read_results(request, known, &pieces),
        edits: edits.into_iter().map(|(reason, blocks)| Edit { reason, blocks }).collect(),
        unseen_in: unseen.iter().map(|&at| walk.thread(walk.tree.first_seen_in(at))).collect(),
        unseen,
        open: open.into_iter().filter_map(|at| walk.tree.nodes[at].branch().cloned()).collect(),
        actions: walk.actions,
        pieces,
    }
}

/// Results of the last turn that nothing was decided about. Some may not be in this view: when their thread goes on,
/// they are no longer new.
fn unseen_results(walk: &Walk<'_>) -> Vec<usize> {
    let blocks = walk.request.blocks;
    let is_unseen = |at: &usize| is_result(&blocks[*at]) && replacement(walk, *at).is_none();
    (walk.last_turn..blocks.len()).filter(is_unseen).collect()
}

/// Whether the model can call `read_result`: the client lists it, a result in this view loaded it, or the model's
/// scripts have called our tools before, and so can call all of them.
fn can_read_results(request: &ViewRequest<'_>, known: &StoredDecisions, pieces: &[ViewPiece]) -> bool {
    let is_reader = |tool: &str| ToolEffect::of(tool) == Some(ToolEffect::Read);
    let loads_reader = |piece: &ViewPiece| match piece {
        ViewPiece::Keep(at) | ViewPiece::Content { block: at, .. } => {
            let result = request.blocks[*at].kind.result();
            result.is_some_and(|result| result.loads.iter().any(|tool| is_reader(tool)))
        }
        ViewPiece::Text { .. } | ViewPiece::Words { .. } | ViewPiece::Quote { .. } | ViewPiece::Say { .. } => false,
    };
    let scripts_read = || !known.scripted.is_empty() && request.tools.iter().any(|tool| runs_scripts(tool));
    request.tools.iter().any(|tool| is_reader(tool)) || pieces.iter().any(loads_reader) || scripts_read()
}

impl Walk<'_> {
    /// Folds all open branches at a place, because a person spoke or the client compacts.
    pub fn interrupt(&mut self, place: &Anchor) {
        self.tree.open_outermost_first().into_iter().for_each(|node| self.adopt_unknown(node));
        // Deepest first: no branch ends before those below it.
        for node in self.tree.open_deepest_first() {
            let Some(branch) = self.tree.nodes[node].branch().cloned() else {
                continue;
            };
            let outcome = self.interrupt_branch(branch, place);
            self.tree.end(node, outcome);
        }
    }

    /// Asks the engine to fold a branch. Gives what its parent is shown for it.
    fn interrupt_branch(&mut self, branch: BranchId, place: &Anchor) -> BranchOutcome {
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
            self.actions.push(PlanAction::Reopen(branch.clone()));
        }
        self.actions.push(PlanAction::Interrupt { branch, place });
        BranchOutcome::cut(EndReason::Interrupted, partial)
    }

    /// Compares the branches that are open at the end of the transcript with those that the engine has as open.
    pub fn reconcile(&mut self) {
        if self.request.kind == RequestKind::Side || self.request.thread != ThreadSource::Transcript {
            return;
        }
        let mut depth = 0;
        while let Some(&node) = self.tree.path.get(depth) {
            if !self.end_if_forced(node) {
                depth += 1;
            }
        }
        // Branches that wait for their turn are not on the path, and may have run out of time meanwhile.
        for node in self.tree.open_deepest_first() {
            if matches!(self.tree.nodes[node].state, BranchStage::Waiting) {
                self.end_if_forced(node);
            }
        }
        if self.request.kind == RequestKind::Turn {
            let is_open = |state: &BranchState| matches!(state, BranchState::Open { .. });
            let open = self.known.branches.iter().filter(|(_, branch)| is_open(&branch.state));
            let lost = open.map(|(id, _)| id).filter(|id| self.tree.find(id).is_none());
            self.actions.extend(lost.map(|branch| PlanAction::Lose(branch.clone())));
        }
        if !self.acts.new.is_empty() {
            self.actions.push(PlanAction::Remember(std::mem::take(&mut self.acts.new)));
        }
    }

    /// Ends an open branch if the engine has folded it by force since, and says whether it did. If the branch ended in
    /// another way, the client went back: the engine has to open it again.
    fn end_if_forced(&mut self, node: usize) -> bool {
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
            self.actions.push(PlanAction::Reopen(branch));
            return false;
        };
        self.actions.push(PlanAction::End { branch, place });
        self.tree.end(node, BranchOutcome::cut(*reason, result.clone()));
        self.tree.activate_next();
        true
    }

    /// Whether it is stored where the current generation of a branch was folded by force. The walk did not come past
    /// that place, so the client went back to before it.
    fn is_recorded(&self, branch: &BranchId) -> bool {
        let generation = self.known.branches.get(branch).map(|known| known.generation);
        self.known.endings.iter().any(|end| end.branch == *branch && Some(end.generation) == generation)
    }

    /// Asks the engine to store a branch that only the transcript knows.
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
            injected_context: opened.injected_context.clone(),
        };
        let parent = self.tree.nodes[self.tree.nodes[node].parent].thread();
        self.actions.push(PlanAction::Adopt { branch: branch.clone(), parent, opening });
    }
}

/// Whether a branch that ended for this reason was folded by force. The transcript shows all other ends.
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
