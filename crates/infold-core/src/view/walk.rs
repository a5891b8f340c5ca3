//! Reading a transcript: which thread every block stands in, and what has to be done about branches that
//! somebody spoke over or that ended by force.
//!
//! A transcript is a sequence of rounds: what a model said, and what it was told then. Blocks act in their
//! order, but what calls did takes effect behind the last of a round's results, so that calls and results
//! are never parted.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use super::acts::{TreeAct, TreeActs};
use super::answers::{Act, HandedOver, ReturnAnswer};
use super::brief::BranchOutcome;
use super::spoken::{self, ThreadItem};
use super::tree::{MAIN, OpeningCall, ThreadTree};
use super::{
    Anchor, BlockKey, BlockKind, BranchState, ForcedFold, LastAnswer, PlanAction, RequestKind, StoredDecisions,
    ViewRequest, place,
};
use crate::transcript::Voice;
use crate::{EndReason, IdKey};

/// A transcript that is being read.
pub(super) struct Walk<'r> {
    pub request: &'r ViewRequest<'r>,
    pub known: &'r StoredDecisions,
    pub tree: ThreadTree<'r>,
    pub acts: TreeActs,
    pub actions: Vec<PlanAction>,
    /// Calls whose branches were dissolved: reasoning behind them was made on something else.
    pub dissolved: Vec<usize>,
    /// Where the last turn begins: behind the last thing that the model said.
    pub last_turn: usize,
    after: HashMap<&'r str, Vec<&'r ForcedFold>>,
    before: HashMap<BlockKey, Vec<&'r ForcedFold>>,
}

/// Whether a round is the last one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RoundPosition {
    Earlier,
    Last,
}

impl<'r> Walk<'r> {
    /// Reads the whole of a transcript.
    pub fn through(request: &'r ViewRequest<'r>, known: &'r StoredDecisions, key: &IdKey) -> Self {
        let mut walk = Self {
            request,
            known,
            tree: ThreadTree::new(request.blocks, request.beginning),
            acts: TreeActs::of(request.blocks, known, key),
            actions: Vec::new(),
            dissolved: Vec::new(),
            last_turn: 0,
            after: HashMap::new(),
            before: HashMap::new(),
        };
        for ending in &known.endings {
            match &ending.place {
                Anchor::After { call } => walk.after.entry(call).or_default().push(ending),
                Anchor::Before { block } => walk.before.entry(*block).or_default().push(ending),
            }
        }
        walk.rounds();
        walk
    }

    fn rounds(&mut self) {
        let blocks = self.request.blocks;
        let end_of = |from: usize, side| {
            blocks[from..].iter().position(|block| block.kind.side() != side).map_or(blocks.len(), |len| from + len)
        };
        let mut at = 0;
        while at < blocks.len() {
            let model_end = end_of(at, super::Side::Model);
            let user_end = end_of(model_end, super::Side::User);
            self.last_turn = model_end;
            self.round(at..model_end, model_end..user_end);
            at = user_end;
        }
    }

    fn round(&mut self, model: Range<usize>, user: Range<usize>) {
        let thread = self.tree.current();
        let turn = if user.end == self.request.blocks.len() { RoundPosition::Last } else { RoundPosition::Earlier };
        let done = self.acts.take(model.end, &user);
        let moved = self.moved(&done);
        if !model.is_empty() {
            self.tree.begin_run(thread);
        }
        model.filter(|at| !moved.contains(at)).for_each(|at| self.tree.push(thread, at));

        let last_result = user.clone().rev().find(|&at| self.is_result(at));
        let aside = self.aside_from(last_result, &user, turn);
        let answered = last_result.filter(|_| !done.is_empty()).map_or(user.start, |at| self.entry_end(at, aside));
        self.answers(user.start..answered, done, &moved);
        self.entries(answered..aside, turn);
        self.aside(aside..user.end, last_result, turn);
    }

    /// Where words begin that are not part of the agent's own loop: in a side call, or the client's own compaction,
    /// what stands behind the entry of the last result, or beside it if that entry is the last.
    fn aside_from(&self, last_result: Option<usize>, user: &Range<usize>, turn: RoundPosition) -> usize {
        if self.request.kind == RequestKind::Turn || turn == RoundPosition::Earlier {
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
        matches!(self.request.blocks[at].kind, BlockKind::Result(_))
    }

    pub(super) fn is_said(&self, at: usize) -> bool {
        matches!(self.request.blocks[at].kind, BlockKind::User { voice: Voice::Person })
    }

    /// The thread that a block of the user's side belongs into: a result goes where its call is.
    fn seat(&self, at: usize) -> usize {
        self.acts.call_of[at].map_or_else(|| self.tree.current(), |call| self.tree.home[call])
    }

    fn entries(&mut self, range: Range<usize>, turn: RoundPosition) {
        let mut at = range.start;
        let mut words_end = at;
        while at < range.end {
            let end = self.entry_end(at, range.end);
            if at >= words_end {
                words_end = self.words_end(at, range.end).max(end);
                self.words(at..words_end, turn);
            }
            for at in at..end {
                self.tree.push(self.seat(at), at);
            }
            self.end_after(at..end);
            at = end;
        }
    }

    /// Where the entries end that hold no result.
    fn words_end(&self, at: usize, end_max: usize) -> usize {
        let Some(result) = (at..end_max).find(|&at| self.is_result(at)) else {
            return end_max;
        };
        let blocks = self.request.blocks;
        let beside = blocks[at..result].iter().rev().take_while(|block| block.entry == blocks[result].entry).count();
        result - beside
    }

    /// Words in entries of their own, one after the other. What a client says in front of a person's words goes
    /// to the thread that hears the person, in one entry with them or not.
    fn words(&mut self, range: Range<usize>, turn: RoundPosition) {
        if range.clone().any(|at| self.is_result(at)) {
            return;
        }
        self.end_before(range.clone());
        if let Some(said) = range.clone().find(|&at| self.is_said(at)) {
            self.spoken_over(said, turn);
        }
    }

    /// Words beside the agent's loop are answered on the main thread. A compaction ends what is open.
    fn aside(&mut self, range: Range<usize>, last_result: Option<usize>, turn: RoundPosition) {
        self.end_before(range.clone());
        let is_compaction = self.request.kind == RequestKind::Compaction && turn == RoundPosition::Last;
        if is_compaction && !self.tree.path.is_empty() {
            let first = range.clone().find(|&at| self.is_said(at)).or(range.clone().next());
            let place = first.map(|at| place::before(self.request.blocks, at));
            if let Some(place) = place.or_else(|| self.after_result(last_result?)) {
                self.interrupt(&place);
            }
        }
        range.for_each(|at| self.tree.push(MAIN, at));
    }

    pub(super) fn after_result(&self, at: usize) -> Option<Anchor> {
        let result = self.request.blocks[at].kind.result()?;
        Some(Anchor::After { call: result.call.clone().into_owned() })
    }

    /// Somebody spoke while a branch was open. Behind an answer that broke off it may be anyone, and the branch hears it.
    fn spoken_over(&mut self, said: usize, turn: RoundPosition) {
        let place = place::key(self.request.blocks, said);
        match (turn, self.request.kind) {
            _ if self.tree.path.is_empty() || self.known.heard.contains(&place) => {}
            (RoundPosition::Last, RequestKind::Side) => {}
            (RoundPosition::Last, RequestKind::Turn) if self.request.last_answer == LastAnswer::BrokeOff => {
                self.actions.push(PlanAction::Hear { place });
            }
            (RoundPosition::Last, RequestKind::Turn | RequestKind::Compaction) => {
                self.interrupt(&place::before(self.request.blocks, said));
            }
            (RoundPosition::Earlier, _) => self.dissolved.extend(self.tree.dissolve()),
        }
    }

    fn end_before(&mut self, range: Range<usize>) {
        if !self.before.is_empty() {
            let endings = range.filter_map(|at| self.before.get(&place::key(self.request.blocks, at))).flatten();
            let endings: Vec<&ForcedFold> = endings.copied().collect();
            self.end_all(&endings);
        }
    }

    fn end_after(&mut self, range: Range<usize>) {
        if !self.after.is_empty() {
            let calls = range.filter_map(|at| match &self.request.blocks[at].kind {
                BlockKind::Result(result) => Some(&*result.call),
                _ => None,
            });
            let endings: Vec<&ForcedFold> = calls.filter_map(|call| self.after.get(call)).flatten().copied().collect();
            self.end_all(&endings);
        }
    }

    /// Ends branches by force where that was recorded.
    fn end_all(&mut self, endings: &[&'r ForcedFold]) {
        // Outermost first: what lies below goes with it.
        let depth = |node: usize| self.tree.path.iter().position(|&open| open == node).unwrap_or(usize::MAX);
        let mut ended: Vec<(usize, bool, usize, &ForcedFold)> = endings
            .iter()
            .filter_map(|ending| {
                let node = self.tree.find(&ending.branch)?;
                // A client that has gone back to where another generation ended gets what it got then.
                self.tree.is_open(node).then(|| (depth(node), !self.is_of_now(ending), node, *ending))
            })
            .collect();
        ended.sort_by_key(|(depth, is_other, node, ending)| (*depth, *node, *is_other, Reverse(ending.generation)));
        for (_, _, node, ending) in ended {
            if self.tree.is_open(node) {
                self.tree.end(node, self.cut_short(ending));
            }
        }
        self.tree.settle();
    }

    fn is_of_now(&self, ending: &ForcedFold) -> bool {
        self.known.branches.get(&ending.branch).is_none_or(|branch| branch.generation == ending.generation)
    }

    fn cut_short(&self, ending: &ForcedFold) -> BranchOutcome {
        let branch = self.known.branches.get(&ending.branch).filter(|branch| branch.generation == ending.generation);
        match branch.map(|branch| &branch.state) {
            Some(BranchState::Ended { reason, .. }) => BranchOutcome::cut(*reason, ending.result.clone()),
            Some(BranchState::Open { .. }) | None => BranchOutcome::cut_for_some_reason(ending.result.clone()),
        }
    }
}

/// What calls did.
impl Walk<'_> {
    /// Openings behind a call that left the thread: they act in the thread that works then, and move there.
    fn moved(&self, done: &[TreeAct]) -> Vec<usize> {
        let mut has_left = false;
        let mut moved = Vec::new();
        for TreeAct { call, act, .. } in done {
            match act {
                Act::Open(_) if has_left => moved.push(*call),
                Act::Open(_) => {}
                Act::Return(returned) => {
                    let node = self.tree.find(&returned.branch);
                    has_left |=
                        node.is_some_and(|node| self.tree.path.contains(&node)) && self.handed(returned).is_some();
                }
                Act::RollBack(back) => {
                    has_left |= self.tree.find(&back.to).is_some_and(|to| self.tree.can_roll_back(to));
                }
            }
        }
        moved
    }

    /// A round's results, what its calls did, and where the words beside the results go.
    fn answers(&mut self, range: Range<usize>, done: Vec<TreeAct>, moved: &[usize]) {
        let thread = self.tree.current();
        let entry_of = |at: usize| self.request.blocks[at].entry;
        let answered: Vec<usize> = done.iter().map(|done| done.result).collect();
        let acting: Vec<usize> = answered.iter().map(|&at| entry_of(at)).collect();
        let mut beside = Vec::new();
        for at in range.clone() {
            match self.acts.call_of[at] {
                Some(call) if moved.contains(&call) => {}
                Some(call) => self.tree.push(self.tree.home[call], at),
                None if acting.contains(&entry_of(at)) => beside.push(at),
                None => self.tree.push(thread, at),
            }
        }
        let mut opened = Vec::new();
        let mut heard_in = thread;
        for done in done {
            heard_in = self.act(done, moved, thread, &mut opened).unwrap_or(heard_in);
        }
        self.tree.settle();
        if self.tree.current() == thread {
            self.tree.goes_on(thread);
        }
        let has_opened = opened.iter().any(|&node| self.tree.is_open(node));
        if self.tree.is_over(thread) {
            self.quote_answers(range.clone(), &answered, thread, heard_in);
        }
        for at in beside {
            let is_for_branch = has_opened && self.is_said(at);
            self.tree.push(if is_for_branch { self.tree.current() } else { heard_in }, at);
        }
        if has_opened {
            let typed = answered.iter().flat_map(|&at| spoken::typed(self.request.blocks, at)).collect();
            self.tree.tell_new(self.tree.current(), typed);
        }
        for node in opened {
            self.tree.nodes[node].cut = self.tree.nodes[self.tree.nodes[node].parent].items.len();
        }
        self.end_after(range);
    }

    /// Calls beside the one that ended a branch: the branch is over before it has seen what they gave, so its parent
    /// gets that.
    fn quote_answers(&mut self, range: Range<usize>, answered: &[usize], thread: usize, parent: usize) {
        for at in range {
            let is_of_thread = self.acts.call_of[at].is_some_and(|call| self.tree.home[call] == thread);
            if is_of_thread && !answered.contains(&at) {
                self.tree.quote(parent, at);
            }
        }
    }

    /// Does what a call did. Gives the thread that hears what was said beside its result.
    fn act(&mut self, done: TreeAct, moved: &[usize], thread: usize, opened: &mut Vec<usize>) -> Option<usize> {
        match done.act {
            Act::Open(opening) => {
                let is_moved = moved.contains(&done.call);
                let opener = if is_moved { self.tree.current() } else { thread };
                // A script that went back, or opened another there, stands there already.
                if is_moved && !self.tree.told(opener).contains(&ThreadItem::Block(done.call)) {
                    self.tree.push(opener, done.call);
                    self.tree.push(opener, done.result);
                }
                // The same call, repeated with the same key, is answered with the same branch.
                if self.tree.find(&opening.branch).is_none() {
                    let round = self.last_turn;
                    let opening = OpeningCall { call: done.call, result: done.result, round, opened: opening };
                    let node = self.tree.open(opener, opening);
                    self.tree.nodes[node].cut = self.tree.nodes[opener].items.len();
                    opened.push(node);
                }
                Some(opener)
            }
            Act::Return(returned) => {
                let node = self.tree.find(&returned.branch).filter(|&node| self.tree.is_open(node))?;
                let outcome = self.handed(&returned)?;
                self.tree.end(node, outcome);
                self.tree.settle();
                Some(self.tree.nodes[node].parent)
            }
            Act::RollBack(back) => {
                let to = self.tree.find(&back.to).filter(|&to| self.tree.can_roll_back(to))?;
                self.tree.roll_back(to, &back.discarded);
                // One that inherits from the message which went back to it has seen this already.
                if !self.tree.told(to).contains(&ThreadItem::Block(done.call)) {
                    self.tree.push(to, done.call);
                    self.tree.push(to, done.result);
                }
                Some(to)
            }
        }
    }

    /// What a return hands to the parent; nothing if it did not fold.
    fn handed(&self, returned: &ReturnAnswer) -> Option<BranchOutcome> {
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
