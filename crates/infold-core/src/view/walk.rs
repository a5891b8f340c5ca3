//! Reading a transcript into the tree of threads: to which thread every block belongs, and what the engine has to do
//! about branches that somebody spoke over or that ended by force.
//!
//! A transcript is a sequence of rounds: what the model said, then the user's side (results, words). Blocks are read in
//! order, but what a round's calls did takes effect after its last result, so that no call loses its result.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use super::acts::{TreeAct, TreeActs};
use super::answers::{Act, HandedOver, ReturnAnswer};
use super::brief::BranchOutcome;
use super::items::{self, ThreadItem};
use super::tree::{MAIN, OpeningCall, ThreadTree};
use super::{
    Anchor, BlockKey, BlockKind, BranchState, ForcedFold, LastAnswer, PlanAction, RequestKind, StoredDecisions,
    ThreadSource, ViewRequest, place,
};
use crate::transcript::Voice;
use crate::{EndReason, IdKey, Thread};

pub(super) struct Walk<'r> {
    pub request: &'r ViewRequest<'r>,
    pub known: &'r StoredDecisions,
    pub tree: ThreadTree<'r>,
    pub acts: TreeActs,
    pub actions: Vec<PlanAction>,
    /// The calls that opened branches which were dissolved: later reasoning was made on other bytes.
    pub dissolved: Vec<usize>,
    /// Index of the first block behind the model's last words.
    pub last_turn: usize,
    /// Forced folds by where they apply: behind the result of a call, or in front of words with a place key.
    folds_after: HashMap<&'r str, Vec<&'r ForcedFold>>,
    folds_before: HashMap<BlockKey, Vec<&'r ForcedFold>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RoundPosition {
    Earlier,
    Last,
}

impl<'r> Walk<'r> {
    pub fn through(request: &'r ViewRequest<'r>, known: &'r StoredDecisions, key: &IdKey) -> Self {
        let mut walk = Self {
            request,
            known,
            tree: ThreadTree::new(request.blocks, request.beginning),
            acts: TreeActs::of(request.blocks, known, key),
            actions: Vec::new(),
            dissolved: Vec::new(),
            last_turn: 0,
            folds_after: HashMap::new(),
            folds_before: HashMap::new(),
        };
        if request.thread != ThreadSource::Transcript {
            walk.acts.ignore();
        }
        for fold in &known.endings {
            match &fold.place {
                Anchor::After { call } => walk.folds_after.entry(call).or_default().push(fold),
                Anchor::Before { block } => walk.folds_before.entry(*block).or_default().push(fold),
            }
        }
        walk.read_rounds();
        walk
    }

    /// The name of a thread of the tree. If the client names the thread of its conversation, there is no other.
    pub fn thread(&self, node: usize) -> Thread {
        match &self.request.thread {
            ThreadSource::Transcript => self.tree.nodes[node].thread(),
            ThreadSource::Named(thread) => thread.clone(),
        }
    }

    fn read_rounds(&mut self) {
        let blocks = self.request.blocks;
        let end_of = |from: usize, side| {
            blocks[from..].iter().position(|block| block.kind.side() != side).map_or(blocks.len(), |len| from + len)
        };
        let mut at = 0;
        while at < blocks.len() {
            let model_end = end_of(at, super::Side::Model);
            let user_end = end_of(model_end, super::Side::User);
            self.last_turn = model_end;
            self.read_round(at..model_end, model_end..user_end);
            at = user_end;
        }
    }

    fn read_round(&mut self, model: Range<usize>, user: Range<usize>) {
        let thread = self.tree.current();
        let position = if user.end == self.request.blocks.len() { RoundPosition::Last } else { RoundPosition::Earlier };
        let acts = self.acts.take(model.end, &user);
        let moved = self.moved_openings(&acts);
        if !model.is_empty() {
            self.tree.mark_answer(thread);
        }
        model.filter(|at| !moved.contains(at)).for_each(|at| self.tree.push(thread, at));

        let last_result = user.clone().rev().find(|&at| self.is_result(at));
        let aside = self.aside_start(last_result, &user, position);
        let results_end = last_result.filter(|_| !acts.is_empty()).map_or(user.start, |at| self.entry_end(at, aside));
        self.read_results(user.start..results_end, acts, &moved);
        self.read_entries(results_end..aside, position);
        self.read_aside(aside..user.end, last_result, position);
    }

    /// Where the words begin that are not part of the agent's loop. Only the last round of a side call or a compaction
    /// has some: all behind the entry of its last result, or behind the result itself if that entry is the last.
    fn aside_start(&self, last_result: Option<usize>, user: &Range<usize>, position: RoundPosition) -> usize {
        if self.request.kind == RequestKind::Turn || position == RoundPosition::Earlier {
            return user.end;
        }
        let Some(last_result) = last_result else { return user.start };
        let behind = self.entry_end(last_result, user.end);
        if behind < user.end { behind } else { last_result + 1 }
    }

    fn entry_end(&self, at: usize, end_max: usize) -> usize {
        let blocks = self.request.blocks;
        let len = blocks[at..end_max].iter().position(|block| block.entry != blocks[at].entry);
        len.map_or(end_max, |len| at + len)
    }

    fn is_result(&self, at: usize) -> bool {
        self.request.blocks[at].kind.result().is_some()
    }

    pub(super) fn is_person(&self, at: usize) -> bool {
        matches!(self.request.blocks[at].kind, BlockKind::User { voice: Voice::Person })
    }

    /// The thread of a block of the user's side: a result goes to the thread of its call.
    fn thread_for(&self, at: usize) -> usize {
        self.acts.call_of[at].map_or_else(|| self.tree.current(), |call| self.tree.home[call])
    }

    fn read_entries(&mut self, range: Range<usize>, position: RoundPosition) {
        let mut at = range.start;
        let mut words_end = at;
        while at < range.end {
            let end = self.entry_end(at, range.end);
            if at >= words_end {
                words_end = self.words_end(at, range.end).max(end);
                self.fold_for_words(at..words_end, position);
            }
            for at in at..end {
                self.tree.push(self.thread_for(at), at);
            }
            self.fold_after(at..end);
            at = end;
        }
    }

    /// Where the next entry begins that holds a result.
    fn words_end(&self, at: usize, end_max: usize) -> usize {
        let Some(result) = (at..end_max).find(|&at| self.is_result(at)) else {
            return end_max;
        };
        let blocks = self.request.blocks;
        let beside = blocks[at..result].iter().rev().take_while(|block| block.entry == blocks[result].entry).count();
        result - beside
    }

    /// Folds what entries of words alone interrupt. It looks at all of them at once: what a client says in front of a
    /// person's words goes to the same thread as these, in one entry with them or not.
    fn fold_for_words(&mut self, range: Range<usize>, position: RoundPosition) {
        if range.clone().any(|at| self.is_result(at)) {
            return;
        }
        self.fold_before(range.clone());
        if let Some(words) = range.clone().find(|&at| self.is_person(at)) {
            self.speak_over(words, position);
        }
    }

    /// Words beside the agent's loop are answered on the main thread. A compaction folds all open branches.
    fn read_aside(&mut self, range: Range<usize>, last_result: Option<usize>, position: RoundPosition) {
        self.fold_before(range.clone());
        let is_compaction = self.request.kind == RequestKind::Compaction && position == RoundPosition::Last;
        if is_compaction && !self.tree.path.is_empty() {
            let first = range.clone().find(|&at| self.is_person(at)).or(range.clone().next());
            let place = first.map(|at| place::before(self.request.blocks, at));
            if let Some(place) = place.or_else(|| place::after_result(self.request.blocks, last_result?)) {
                self.interrupt(&place);
            }
        }
        range.for_each(|at| self.tree.push(MAIN, at));
    }

    /// A person's words reach an open branch. They interrupt it, unless the last answer broke off: then what looks like
    /// a person may be the client, and the branch continues.
    fn speak_over(&mut self, words: usize, position: RoundPosition) {
        let place = place::key(self.request.blocks, words);
        match (position, self.request.kind) {
            _ if self.tree.path.is_empty() || self.known.continued.contains(&place) => {}
            (RoundPosition::Last, RequestKind::Side) => {}
            (RoundPosition::Last, RequestKind::Turn) if self.request.last_answer == LastAnswer::BrokeOff => {
                self.actions.push(PlanAction::Continue(place));
            }
            (RoundPosition::Last, RequestKind::Turn | RequestKind::Compaction) => {
                self.interrupt(&place::before(self.request.blocks, words));
            }
            // If these words had interrupted the branches, a fold would be stored here. None is, so nobody knows how
            // the branches ended.
            (RoundPosition::Earlier, _) => self.dissolved.extend(self.tree.dissolve()),
        }
    }

    fn fold_before(&mut self, range: Range<usize>) {
        if !self.folds_before.is_empty() {
            let folds = range.filter_map(|at| self.folds_before.get(&place::key(self.request.blocks, at))).flatten();
            let folds: Vec<&ForcedFold> = folds.copied().collect();
            self.apply_forced_folds(&folds);
        }
    }

    fn fold_after(&mut self, range: Range<usize>) {
        if !self.folds_after.is_empty() {
            let results = range.filter_map(|at| self.request.blocks[at].kind.result());
            let folds = results.filter_map(|result| self.folds_after.get(&*result.call)).flatten();
            let folds: Vec<&ForcedFold> = folds.copied().collect();
            self.apply_forced_folds(&folds);
        }
    }

    /// Ends branches where stored folds say so, outermost first: what is open below ends with them. A client that went
    /// back to where another generation of a branch ended gets what it got then.
    fn apply_forced_folds(&mut self, folds: &[&'r ForcedFold]) {
        let depth = |node: usize| self.tree.path.iter().position(|&open| open == node).unwrap_or(usize::MAX);
        let mut due: Vec<(usize, &ForcedFold)> =
            folds.iter().filter_map(|fold| Some((self.tree.find(&fold.branch)?, *fold))).collect();
        due.retain(|(node, _)| self.tree.is_open(*node));
        due.sort_by_key(|(node, fold)| (depth(*node), *node, !self.is_current(fold), Reverse(fold.generation)));
        for (node, fold) in due {
            if self.tree.is_open(node) {
                self.tree.end(node, self.forced_outcome(fold));
            }
        }
        self.tree.activate_next();
    }

    /// Whether a fold is of the generation that the store has of its branch.
    fn is_current(&self, fold: &ForcedFold) -> bool {
        self.known.branches.get(&fold.branch).is_none_or(|branch| branch.generation == fold.generation)
    }

    fn forced_outcome(&self, fold: &ForcedFold) -> BranchOutcome {
        let branch = self.known.branches.get(&fold.branch).filter(|branch| branch.generation == fold.generation);
        match branch.map(|branch| &branch.state) {
            Some(BranchState::Ended { reason, .. }) => BranchOutcome::cut(*reason, fold.result.clone()),
            Some(BranchState::Open { .. }) | None => BranchOutcome::cut_for_some_reason(fold.result.clone()),
        }
    }
}

/// What a round's calls of our own tools did.
impl Walk<'_> {
    /// Openings behind a call of the same message that left the thread: they belong to the thread that is current then.
    fn moved_openings(&self, acts: &[TreeAct]) -> Vec<usize> {
        let mut has_left = false;
        let mut moved = Vec::new();
        for TreeAct { call, act, .. } in acts {
            match act {
                Act::Open(_) if has_left => moved.push(*call),
                Act::Open(_) => {}
                Act::Return(returned) => {
                    let node = self.tree.find(&returned.branch);
                    let is_on_path = node.is_some_and(|node| self.tree.path.contains(&node));
                    has_left |= is_on_path && self.returned_outcome(returned).is_some();
                }
                Act::RollBack(back) => {
                    has_left |= self.tree.find(&back.to).is_some_and(|to| self.tree.can_roll_back(to));
                }
            }
        }
        moved
    }

    /// Reads a round's results, applies what its calls did, and decides which thread gets the words beside the results.
    fn read_results(&mut self, range: Range<usize>, acts: Vec<TreeAct>, moved: &[usize]) {
        let thread = self.tree.current();
        let entry_of = |at: usize| self.request.blocks[at].entry;
        let act_results: Vec<usize> = acts.iter().map(|act| act.result).collect();
        let act_entries: Vec<usize> = act_results.iter().map(|&at| entry_of(at)).collect();
        let mut beside = Vec::new();
        for at in range.clone() {
            match self.acts.call_of[at] {
                Some(call) if moved.contains(&call) => {}
                Some(call) => self.tree.push(self.tree.home[call], at),
                None if act_entries.contains(&entry_of(at)) => beside.push(at),
                None => self.tree.push(thread, at),
            }
        }
        let mut opened = Vec::new();
        let mut words_go_to = thread;
        for act in acts {
            words_go_to = self.apply_act(act, moved, thread, &mut opened).unwrap_or(words_go_to);
        }
        self.tree.activate_next();
        if self.tree.current() == thread {
            self.tree.confirm_answer(thread);
        }
        let has_opened = opened.iter().any(|&node| self.tree.is_open(node));
        if self.tree.is_over(thread) {
            self.quote_unseen(range.clone(), &act_results, thread, words_go_to);
        }
        for at in beside {
            let is_for_branch = has_opened && self.is_person(at);
            self.tree.push(if is_for_branch { self.tree.current() } else { words_go_to }, at);
        }
        if has_opened {
            let typed = act_results.iter().flat_map(|&at| items::typed(self.request.blocks, at)).collect();
            self.tree.append_unseen(self.tree.current(), typed);
        }
        for node in opened {
            self.tree.nodes[node].parent_len = self.tree.nodes[self.tree.nodes[node].parent].items.len();
        }
        self.fold_after(range);
    }

    /// Quotes to the parent what the calls beside a return gave: the branch was over before it saw that.
    fn quote_unseen(&mut self, range: Range<usize>, act_results: &[usize], thread: usize, parent: usize) {
        for at in range {
            let is_of_thread = self.acts.call_of[at].is_some_and(|call| self.tree.home[call] == thread);
            if is_of_thread && !act_results.contains(&at) {
                self.tree.quote(parent, at);
            }
        }
    }

    /// Changes the tree as a call did. Gives the thread that gets the words beside the call's result.
    fn apply_act(&mut self, done: TreeAct, moved: &[usize], thread: usize, opened: &mut Vec<usize>) -> Option<usize> {
        match done.act {
            Act::Open(opening) => {
                let is_moved = moved.contains(&done.call);
                let opener = if is_moved { self.tree.current() } else { thread };
                // A script that opened another branch there, or went back to there, is in that thread already.
                if is_moved && !self.tree.seen_by(opener).contains(&ThreadItem::Block(done.call)) {
                    self.tree.push(opener, done.call);
                    self.tree.push(opener, done.result);
                }
                // A call that is repeated with the same key is answered with the same branch.
                if self.tree.find(&opening.branch).is_none() {
                    let round = self.last_turn;
                    let opening = OpeningCall { call: done.call, result: done.result, round, opened: opening };
                    let node = self.tree.open(opener, opening);
                    self.tree.nodes[node].parent_len = self.tree.nodes[opener].items.len();
                    opened.push(node);
                }
                Some(opener)
            }
            Act::Return(returned) => {
                let node = self.tree.find(&returned.branch).filter(|&node| self.tree.is_open(node))?;
                let outcome = self.returned_outcome(&returned)?;
                self.tree.end(node, outcome);
                self.tree.activate_next();
                Some(self.tree.nodes[node].parent)
            }
            Act::RollBack(back) => {
                let to = self.tree.find(&back.to).filter(|&to| self.tree.can_roll_back(to))?;
                self.tree.roll_back(to, &back.discarded);
                // A branch that inherits the message which went back to it has seen this already.
                if !self.tree.seen_by(to).contains(&ThreadItem::Block(done.call)) {
                    self.tree.push(to, done.call);
                    self.tree.push(to, done.result);
                }
                Some(to)
            }
        }
    }

    /// What the parent gets for a branch that returned; `None` if the return did not fold it.
    fn returned_outcome(&self, returned: &ReturnAnswer) -> Option<BranchOutcome> {
        let stored = self.known.branches.get(&returned.branch).and_then(|branch| match &branch.state {
            BranchState::Ended { reason: EndReason::Returned, result } => Some((result, false)),
            BranchState::Ended { reason: EndReason::ReportedFailure, result } => Some((result, true)),
            BranchState::Ended { .. } | BranchState::Open { .. } => None,
        });
        let (message, is_failure) = match &returned.message {
            HandedOver::Whole(message) => (message, returned.is_failure),
            HandedOver::Cut(raw) => stored.unwrap_or((raw, returned.is_failure)),
            HandedOver::Gone => stored?,
        };
        Some(BranchOutcome::Returned { message: message.clone(), is_failure, script: returned.script })
    }
}
