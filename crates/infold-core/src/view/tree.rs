//! The tree of a session's threads, as far as a transcript shows it.
//!
//! A thread is a list of items: blocks of the transcript, in order, and words from branches below it that are over.
//! Threads grow at their end only; a rollback cuts them back first. What must hold: a thread that is over has no open
//! thread below it; of the branches that one message opened, one works and the others wait for their turn; what people
//! and clients said in a thread that is over or discarded is repeated in one that goes on.

use std::collections::{HashMap, HashSet, VecDeque};

use super::answers::OpeningAnswer;
use super::brief::BranchOutcome;
use super::items::{self, ClientPreface, ThreadItem};
use super::{Block, TranscriptStart};
use crate::{BranchId, EndReason, Isolation, Thread};

/// Index of the main thread in [`ThreadTree::nodes`].
pub(super) const MAIN: usize = 0;

/// What is put in front of words that a rollback cuts off a thread and repeats in it.
const SAID_SINCE: &str = "[What was said before the branch was opened again. It has been told.]";

#[derive(Debug)]
pub(super) enum BranchStage {
    /// It has not begun: another branch, opened in the same message, works first.
    Waiting,
    /// It works, or waits for a branch that it opened.
    Open,
    /// It has folded, and its parent is shown this outcome.
    Over(BranchOutcome),
    /// Nothing says how it ended, so its items were moved up to the main thread.
    Dissolved,
    /// A rollback went back to before its opening.
    Discarded,
}

/// The call that opened a branch.
#[derive(Debug)]
pub(super) struct OpeningCall {
    pub call: usize,
    pub result: usize,
    /// Where the model's message with the call ends, as the index of the next block. Openings with the same one were
    /// made together.
    pub round: usize,
    pub opened: OpeningAnswer,
}

#[derive(Debug)]
pub(super) struct ThreadNode {
    /// `None` for the main thread.
    pub opening: Option<OpeningCall>,
    pub parent: usize,
    /// Blocks, remarks in results of other threads, quoted results, and words of infold's own.
    pub items: Vec<ThreadItem>,
    /// How many of its parent's items come before its own: all up to the answer to its opening.
    pub parent_len: usize,
    pub state: BranchStage,
    /// How many items it had before the model's last answer in it, if that answer led to another thread.
    len_before_answer: Option<usize>,
    /// Branches that it opened and that wait for their turn.
    waiting: VecDeque<usize>,
}

impl ThreadNode {
    fn new(opening: Option<OpeningCall>, parent: usize, state: BranchStage) -> Self {
        let waiting = VecDeque::new();
        Self { opening, parent, items: Vec::new(), parent_len: 0, state, len_before_answer: None, waiting }
    }

    /// `None` for the main thread.
    pub fn branch(&self) -> Option<&BranchId> {
        self.opening.as_ref().map(|opening| &opening.opened.branch)
    }

    pub fn thread(&self) -> Thread {
        self.branch().map_or(Thread::Main, |branch| Thread::Branch(branch.clone()))
    }

    /// Whether both were opened in the same message.
    pub fn is_beside(&self, other: &Self) -> bool {
        let round = |node: &Self| node.opening.as_ref().map(|opening| opening.round);
        self.parent == other.parent && round(self).is_some() && round(self) == round(other)
    }

    /// Whether one script both opened and returned it.
    pub fn is_within_script(&self) -> bool {
        let BranchStage::Over(BranchOutcome::Returned { script: Some(script), .. }) = &self.state else { return false };
        self.opening.as_ref().is_some_and(|opening| opening.result == *script)
    }

    /// Whether its view begins with its parent's.
    pub fn inherits(&self) -> bool {
        let isolation = self.opening.as_ref().map(|opening| opening.opened.isolation);
        isolation == Some(Isolation::Inherit) || matches!(self.state, BranchStage::Dissolved)
    }
}

#[derive(Debug)]
pub(super) struct ThreadTree<'r> {
    blocks: &'r [Block<'r>],
    pub preface: ClientPreface,
    pub nodes: Vec<ThreadNode>,
    /// Open branches, outermost first.
    pub path: Vec<usize>,
    /// For each block, the thread that it belongs to.
    pub home: Vec<usize>,
    /// For each result that answers openings, the branches that were opened: a script may open several.
    pub opened_by: HashMap<usize, Vec<usize>>,
    by_id: HashMap<BranchId, usize>,
}

impl<'r> ThreadTree<'r> {
    pub fn new(blocks: &'r [Block<'r>], beginning: TranscriptStart) -> Self {
        Self {
            blocks,
            preface: ClientPreface::of(blocks, beginning),
            nodes: vec![ThreadNode::new(None, MAIN, BranchStage::Open)],
            path: Vec::new(),
            home: vec![MAIN; blocks.len()],
            opened_by: HashMap::new(),
            by_id: HashMap::new(),
        }
    }

    /// The innermost open thread: the model works in it.
    pub fn current(&self) -> usize {
        self.path.last().copied().unwrap_or(MAIN)
    }

    /// `None` if no opening of the branch was read.
    pub fn find(&self, branch: &BranchId) -> Option<usize> {
        self.by_id.get(branch).copied()
    }

    /// The thread that sees a block first. What a script printed that opened a branch is shown to the branch.
    pub fn first_seen_in(&self, block: usize) -> usize {
        let opened = self.opened_by.get(&block).into_iter().flatten().copied();
        let by_script =
            |node: &usize| self.nodes[*node].opening.as_ref().is_some_and(|own| own.opened.script.is_some());
        opened.filter(by_script).find(|&node| self.is_open(node)).unwrap_or(self.home[block])
    }

    pub fn push(&mut self, node: usize, block: usize) {
        self.home[block] = node;
        self.nodes[node].items.push(ThreadItem::Block(block));
    }

    /// Appends those of the items that a thread has not seen.
    pub fn append_unseen(&mut self, node: usize, mut items: Vec<ThreadItem>) {
        if !items.is_empty() {
            let seen = self.seen_by(node);
            items.retain(|item| !seen.contains(item));
            self.nodes[node].items.extend(items);
        }
    }

    /// Moves a result to a thread that did not make its call, and quotes it there.
    pub fn quote(&mut self, node: usize, result: usize) {
        self.home[result] = node;
        self.nodes[node].items.push(ThreadItem::Quote(result));
    }

    /// Marks where the model's answer begins in a thread: a rollback to the thread would cut it off.
    pub fn mark_answer(&mut self, node: usize) {
        self.nodes[node].len_before_answer = Some(self.nodes[node].items.len());
    }

    /// The marked answer led to no other thread: a rollback would keep it.
    pub fn confirm_answer(&mut self, node: usize) {
        self.nodes[node].len_before_answer = None;
    }

    /// Adds a branch. It waits until those that were opened before it in the same message are over.
    pub fn open(&mut self, opener: usize, opening: OpeningCall) -> usize {
        let node = self.nodes.len();
        self.by_id.insert(opening.opened.branch.clone(), node);
        self.opened_by.entry(opening.result).or_default().push(node);
        self.nodes.push(ThreadNode::new(Some(opening), opener, BranchStage::Waiting));
        self.nodes[opener].waiting.push_back(node);
        node
    }

    /// Lets the next branch work that waits for its turn, if the current thread opened one.
    pub fn activate_next(&mut self) {
        loop {
            let thread = self.current();
            let Some(next) = self.nodes[thread].waiting.pop_front() else {
                return;
            };
            self.nodes[next].state = BranchStage::Open;
            self.path.push(next);
        }
    }

    /// Whether a branch works, or waits for its turn.
    pub fn is_open(&self, node: usize) -> bool {
        node != MAIN && matches!(self.nodes[node].state, BranchStage::Open | BranchStage::Waiting)
    }

    pub fn is_over(&self, node: usize) -> bool {
        matches!(self.nodes[node].state, BranchStage::Over(_))
    }

    /// Open branches, deepest first, then those that wait.
    pub fn open_deepest_first(&self) -> Vec<usize> {
        self.path.iter().rev().copied().chain(self.waiting()).collect()
    }

    /// Open branches, outermost first, then those that wait.
    pub fn open_outermost_first(&self) -> Vec<usize> {
        self.path.iter().copied().chain(self.waiting()).collect()
    }

    fn waiting(&self) -> impl Iterator<Item = usize> {
        [MAIN].iter().chain(&self.path).flat_map(|&node| self.nodes[node].waiting.iter().copied())
    }

    /// Ends a branch and all that is open below it. What was said in them is repeated in their parents.
    pub fn end(&mut self, node: usize, outcome: BranchOutcome) {
        if let Some(depth) = self.path.iter().position(|&open| open == node) {
            for below in self.path.split_off(depth).into_iter().rev() {
                self.close(below);
                self.carry_over(below);
            }
        } else {
            let parent = self.nodes[node].parent;
            self.nodes[parent].waiting.retain(|&waiting| waiting != node);
        }
        self.nodes[node].state = BranchStage::Over(outcome);
    }

    fn close(&mut self, node: usize) {
        let closed = || BranchStage::Over(BranchOutcome::cut(EndReason::ParentReturning, String::new()));
        for waiting in std::mem::take(&mut self.nodes[node].waiting) {
            self.nodes[waiting].state = closed();
        }
        self.nodes[node].state = closed();
    }

    /// Repeats in the parent what was said in a branch: a person's words each time, a client's words once, unless the
    /// parent has seen them.
    fn carry_over(&mut self, node: usize) {
        let mut words: Vec<ThreadItem> = self.spoken_words(node).collect();
        if words.is_empty() {
            return;
        }
        let parent = self.nodes[node].parent;
        let seen = self.seen_by(parent);
        let mut by_client: HashSet<_> = seen.iter().filter_map(|item| items::by_client(self.blocks, *item)).collect();
        words.retain(|item| {
            !seen.contains(item) && items::by_client(self.blocks, *item).is_none_or(|key| by_client.insert(key))
        });
        self.nodes[parent].items.extend(words);
    }

    /// What people and clients said in a thread.
    fn spoken_words(&self, node: usize) -> impl Iterator<Item = ThreadItem> {
        self.nodes[node].items.iter().flat_map(|item| items::in_item(self.blocks, *item))
    }

    /// Removes all open branches as if they had never been opened: their items move to the main thread. Gives the calls
    /// that opened them.
    pub fn dissolve(&mut self) -> Vec<usize> {
        let open = self.open_deepest_first();
        for &node in &open {
            let parent = self.nodes[node].parent;
            // After a rollback, words may be in both.
            let both: HashSet<ThreadItem> = self.nodes[parent].items.iter().copied().collect();
            let mut items = std::mem::take(&mut self.nodes[node].items);
            items.retain(|item| !both.contains(item));
            items.iter().filter_map(ThreadItem::block).for_each(|block| self.home[block] = parent);
            self.nodes[parent].items.extend(items);
            self.nodes[node].waiting.clear();
            self.nodes[node].state = BranchStage::Dissolved;
        }
        self.nodes[MAIN].waiting.clear();
        self.path.clear();
        open.iter().filter_map(|&node| Some(self.nodes[node].opening.as_ref()?.call)).collect()
    }

    /// Whether a rollback can open a branch again: not the current one, nor one that has not begun or is gone.
    pub fn can_roll_back(&self, to: usize) -> bool {
        let is_gone = |node: &usize| matches!(self.nodes[*node].state, BranchStage::Discarded | BranchStage::Dissolved);
        let waits = matches!(self.nodes[to].state, BranchStage::Waiting);
        to != self.current() && !waits && !self.path_to(to).iter().any(is_gone)
    }

    /// The branches from the main thread, which is not among them, down to this one.
    pub fn path_to(&self, node: usize) -> Vec<usize> {
        let mut path: Vec<usize> =
            std::iter::successors(Some(node), |&at| Some(self.nodes[at].parent)).take_while(|&at| at != MAIN).collect();
        path.reverse();
        path
    }

    /// Opens a branch again as it was at its last turn. Threads above it are cut back to its opening. No words are
    /// lost: those that are cut off are repeated in their own thread and in the branch, those of discarded branches in
    /// the branch.
    pub fn roll_back(&mut self, to: usize, discarded: &[BranchId]) {
        let path = self.path_to(to);
        let mut words = Vec::new();
        for node in self.open_deepest_first() {
            if !path.contains(&node) {
                self.nodes[node].state = BranchStage::Discarded;
                words.extend(self.spoken_words(node));
            }
        }
        let mut above = MAIN;
        for &node in &path {
            let cut_off = self.cut_back(above, self.nodes[node].parent_len);
            self.discard_beside(above, node, discarded);
            if !cut_off.is_empty() {
                self.nodes[above].items.push(ThreadItem::Words(SAID_SINCE));
                self.nodes[above].items.extend(&cut_off);
                words.extend(cut_off);
            }
            self.nodes[node].state = BranchStage::Open;
            above = node;
        }
        if let Some(len) = self.nodes[to].len_before_answer.take() {
            words.extend(self.cut_back(to, len));
        }
        self.nodes[to].waiting.clear();
        words.sort_by_key(ThreadItem::order);
        words.dedup();
        // An earlier rollback may have repeated some of these in the branch.
        self.append_unseen(to, words);
        self.path = path;
    }

    /// All items in a thread's view, with the words in them.
    pub fn seen_by(&self, node: usize) -> HashSet<ThreadItem> {
        let mut seen = HashSet::new();
        let mut see = |item: &ThreadItem| {
            seen.insert(*item);
            seen.extend(items::in_item(self.blocks, *item));
        };
        let mut below = &self.nodes[node];
        below.items.iter().for_each(&mut see);
        let mut is_whole = true;
        while below.opening.is_some() {
            is_whole &= below.inherits();
            let above = &self.nodes[below.parent];
            let items = above.items.iter().take(below.parent_len);
            items.filter(|item| is_whole || self.preface.is_taken_along(self.blocks, **item)).for_each(&mut see);
            below = above;
        }
        seen
    }

    /// Cuts a thread back and discards the branches that it opened behind that point. Gives what was said there.
    fn cut_back(&mut self, node: usize, len: usize) -> Vec<ThreadItem> {
        let items = &mut self.nodes[node].items;
        let behind = items.split_off(len.min(items.len()));
        let later = self.nodes.iter_mut().filter(|child| child.parent == node && child.parent_len > len);
        later.for_each(|child| child.state = BranchStage::Discarded);
        behind.into_iter().flat_map(|item| items::in_item(self.blocks, item)).collect()
    }

    /// Ends the branches, opened in the same message as `node`, that a rollback discarded. Of the others, those that
    /// had not begun wait again.
    fn discard_beside(&mut self, above: usize, node: usize, discarded: &[BranchId]) {
        self.nodes[above].len_before_answer = None;
        self.nodes[above].waiting.clear();
        for other in 0..self.nodes.len() {
            let is_beside = other != node && self.nodes[other].is_beside(&self.nodes[node]);
            let beside = &mut self.nodes[other];
            if is_beside && beside.branch().is_some_and(|branch| discarded.contains(branch)) {
                beside.state = BranchStage::Over(BranchOutcome::cut(EndReason::RolledBack, String::new()));
            } else if is_beside && matches!(beside.state, BranchStage::Waiting | BranchStage::Discarded) {
                beside.state = BranchStage::Waiting;
                self.nodes[above].waiting.push_back(other);
            }
        }
    }
}
