//! The tree of a session's threads, as far as a transcript shows it.
//!
//! A thread is a list of items: blocks of the transcript, in order, and what was said in threads below it that
//! are over. Threads only grow at their end; a rollback cuts them back first. What must hold: a thread that is
//! over has no open thread below it; of the branches that one message opened, one works and the others wait for
//! their turn; what a person or the client said in a thread that is over or discarded stands in one that goes on.

use std::collections::{HashMap, HashSet, VecDeque};

use super::answers::OpeningAnswer;
use super::brief::BranchOutcome;
use super::front::ClientPreface;
use super::spoken::{self, ThreadItem};
use super::{Block, TranscriptStart};
use crate::{BranchId, EndReason, Isolation, Thread};

/// The session's own thread.
pub(super) const MAIN: usize = 0;

/// What a parent is told in front of words that were said after the branch it has gone back to.
const SAID_SINCE: &str = "[What was said before the branch was opened again. It has been told.]";

/// How a branch stands in the transcript.
#[derive(Debug)]
pub(super) enum BranchStage {
    /// Another one, opened in the same message, comes first.
    Waiting,
    /// It works.
    Open,
    /// It is over, and its parent has this of it.
    Over(BranchOutcome),
    /// Nobody knows how it ended: its items stand in its parent.
    Dissolved,
    /// A rollback went back to before it.
    Discarded,
}

/// The call that opened a branch.
#[derive(Debug)]
pub(super) struct OpeningCall {
    pub call: usize,
    pub result: usize,
    /// Where the answers begin to the message that it stands in.
    pub round: usize,
    pub opened: OpeningAnswer,
}

/// One thread.
#[derive(Debug)]
pub(super) struct ThreadNode {
    /// What opened it; nothing did for the main thread.
    pub opening: Option<OpeningCall>,
    /// The thread that opened it.
    pub parent: usize,
    /// What stands in it.
    pub items: Vec<ThreadItem>,
    /// How many items its parent had with the answer to its opening as the last.
    pub cut: usize,
    /// How it stands.
    pub state: BranchStage,
    /// How many items it had when the model last answered in it, if that answer led to another thread.
    run: Option<usize>,
    /// Branches that it opened and that wait for their turn.
    waiting: VecDeque<usize>,
}

impl ThreadNode {
    fn new(opening: Option<OpeningCall>, parent: usize, state: BranchStage) -> Self {
        Self { opening, parent, items: Vec::new(), cut: 0, state, run: None, waiting: VecDeque::new() }
    }

    /// The branch, unless this is the main thread.
    pub fn branch(&self) -> Option<&BranchId> {
        self.opening.as_ref().map(|opening| &opening.opened.branch)
    }

    /// Its name.
    pub fn thread(&self) -> Thread {
        self.branch().map_or(Thread::Main, |branch| Thread::Branch(branch.clone()))
    }

    /// Whether it was opened in the same message as another.
    pub fn is_beside(&self, other: &Self) -> bool {
        let round = |node: &Self| node.opening.as_ref().map(|opening| opening.round);
        self.parent == other.parent && round(self).is_some() && round(self) == round(other)
    }

    /// Whether the script that opened it has returned it, too.
    pub fn is_within_script(&self) -> bool {
        let result = self.opening.as_ref().map(|opening| opening.result);
        matches!(&self.state, BranchStage::Over(BranchOutcome::Returned { script: Some(script), .. }) if Some(*script) == result)
    }

    /// Whether it begins as its parent does.
    pub fn inherits(&self) -> bool {
        let isolation = self.opening.as_ref().map(|opening| opening.opened.isolation);
        isolation == Some(Isolation::Inherit) || matches!(self.state, BranchStage::Dissolved)
    }
}

/// All threads.
#[derive(Debug)]
pub(super) struct ThreadTree<'r> {
    blocks: &'r [Block<'r>],
    /// What stands in front.
    pub front: ClientPreface,
    pub nodes: Vec<ThreadNode>,
    /// Open branches, outermost first.
    pub path: Vec<usize>,
    /// The thread that each block stands in.
    pub home: Vec<usize>,
    /// The branches that each block answered the openings of: a script may open several.
    pub opened_by: HashMap<usize, Vec<usize>>,
    by_id: HashMap<BranchId, usize>,
}

impl<'r> ThreadTree<'r> {
    /// A tree of which nothing was read yet.
    pub fn new(blocks: &'r [Block<'r>], beginning: TranscriptStart) -> Self {
        Self {
            blocks,
            front: ClientPreface::of(blocks, beginning),
            nodes: vec![ThreadNode::new(None, MAIN, BranchStage::Open)],
            path: Vec::new(),
            home: vec![MAIN; blocks.len()],
            opened_by: HashMap::new(),
            by_id: HashMap::new(),
        }
    }

    /// The thread that works.
    pub fn current(&self) -> usize {
        self.path.last().copied().unwrap_or(MAIN)
    }

    /// The thread of a branch, if its opening was read.
    pub fn find(&self, branch: &BranchId) -> Option<usize> {
        self.by_id.get(branch).copied()
    }

    /// The thread that sees a block first: what a script printed that opened a branch is the branch's.
    pub fn shown_in(&self, block: usize) -> usize {
        let opened = self.opened_by.get(&block).into_iter().flatten().copied();
        let by_script =
            |node: &usize| self.nodes[*node].opening.as_ref().is_some_and(|own| own.opened.script.is_some());
        opened.filter(by_script).find(|&node| self.is_open(node)).unwrap_or(self.home[block])
    }

    /// Puts a block at the end of a thread.
    pub fn push(&mut self, node: usize, block: usize) {
        self.home[block] = node;
        self.nodes[node].items.push(ThreadItem::Block(block));
    }

    /// Lets a thread hear what was said elsewhere.
    pub fn tell(&mut self, node: usize, items: impl IntoIterator<Item = ThreadItem>) {
        self.nodes[node].items.extend(items);
    }

    /// Lets a thread hear what it has not heard of this.
    pub fn tell_new(&mut self, node: usize, mut items: Vec<ThreadItem>) {
        if !items.is_empty() {
            let told = self.told(node);
            items.retain(|item| !told.contains(item));
            self.tell(node, items);
        }
    }

    /// Moves a result to a thread that did not make its call, and quotes it there.
    pub fn quote(&mut self, node: usize, result: usize) {
        self.home[result] = node;
        self.nodes[node].items.push(ThreadItem::Quote(result));
    }

    /// The model answers in a thread.
    pub fn begin_run(&mut self, node: usize) {
        self.nodes[node].run = Some(self.nodes[node].items.len());
    }

    /// The model's last answer in a thread led to no other: it goes on from what it was told.
    pub fn goes_on(&mut self, node: usize) {
        self.nodes[node].run = None;
    }

    /// A thread opens a branch. It works when those that were opened before it in the same message are over.
    pub fn open(&mut self, opener: usize, opening: OpeningCall) -> usize {
        let node = self.nodes.len();
        self.by_id.insert(opening.opened.branch.clone(), node);
        self.opened_by.entry(opening.result).or_default().push(node);
        self.nodes.push(ThreadNode::new(Some(opening), opener, BranchStage::Waiting));
        self.nodes[opener].waiting.push_back(node);
        node
    }

    /// Lets the next branch work that waits for its turn.
    pub fn settle(&mut self) {
        loop {
            let thread = self.current();
            let Some(next) = self.nodes[thread].waiting.pop_front() else {
                return;
            };
            self.nodes[next].state = BranchStage::Open;
            self.path.push(next);
        }
    }

    /// Whether a branch has not ended.
    pub fn is_open(&self, node: usize) -> bool {
        node != MAIN && matches!(self.nodes[node].state, BranchStage::Open | BranchStage::Waiting)
    }

    /// Whether a branch has folded.
    pub fn is_over(&self, node: usize) -> bool {
        matches!(self.nodes[node].state, BranchStage::Over(_))
    }

    /// Open branches, deepest first, then those that wait.
    pub fn open_nodes(&self) -> Vec<usize> {
        self.path.iter().rev().copied().chain(self.waiting()).collect()
    }

    /// Open branches, outermost first, then those that wait.
    pub fn open_from_outermost(&self) -> Vec<usize> {
        self.path.iter().copied().chain(self.waiting()).collect()
    }

    fn waiting(&self) -> impl Iterator<Item = usize> {
        [MAIN].iter().chain(&self.path).flat_map(|&node| self.nodes[node].waiting.iter().copied())
    }

    /// A branch is over, and with it what is open below. What was said in them is heard above.
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

    /// Tells the parent of a branch what was said in the branch: all that people said, and what the client said and
    /// the parent has not heard yet.
    fn carry_over(&mut self, node: usize) {
        let said: Vec<ThreadItem> = self.said(node).collect();
        if said.is_empty() {
            return;
        }
        let parent = self.nodes[node].parent;
        let told = self.told(parent);
        let mut heard: HashSet<_> = told.iter().filter_map(|item| spoken::by_client(self.blocks, *item)).collect();
        let is_new = |item: &ThreadItem| {
            !told.contains(item) && spoken::by_client(self.blocks, *item).is_none_or(|words| heard.insert(words))
        };
        let new: Vec<ThreadItem> = said.into_iter().filter(is_new).collect();
        self.tell(parent, new);
    }

    /// What was said in a thread.
    fn said(&self, node: usize) -> impl Iterator<Item = ThreadItem> {
        self.nodes[node].items.iter().flat_map(|item| spoken::in_item(self.blocks, *item))
    }

    /// Takes all open branches away as if they had never been: what stands in them stands in the main thread.
    /// Gives the calls that opened them.
    pub fn dissolve(&mut self) -> Vec<usize> {
        let open = self.open_nodes();
        for &node in &open {
            let parent = self.nodes[node].parent;
            // What was said may stand in both, after a rollback.
            let both: HashSet<ThreadItem> = self.nodes[parent].items.iter().copied().collect();
            let mut items = std::mem::take(&mut self.nodes[node].items);
            items.retain(|item| !both.contains(item));
            items.iter().filter_map(ThreadItem::block).for_each(|block| self.home[block] = parent);
            self.tell(parent, items);
            self.nodes[node].waiting.clear();
            self.nodes[node].state = BranchStage::Dissolved;
        }
        self.nodes[MAIN].waiting.clear();
        self.path.clear();
        open.iter().filter_map(|&node| Some(self.nodes[node].opening.as_ref()?.call)).collect()
    }

    /// Whether a session can go back to a branch from where it is.
    pub fn can_roll_back(&self, to: usize) -> bool {
        let is_gone = |node: &usize| matches!(self.nodes[*node].state, BranchStage::Discarded | BranchStage::Dissolved);
        let waits = matches!(self.nodes[to].state, BranchStage::Waiting);
        to != self.current() && !waits && !self.chain(to).iter().any(is_gone)
    }

    /// The branches from the main thread down to this one.
    fn chain(&self, node: usize) -> Vec<usize> {
        let mut chain: Vec<usize> =
            std::iter::successors(Some(node), |&at| Some(self.nodes[at].parent)).take_while(|&at| at != MAIN).collect();
        chain.reverse();
        chain
    }

    /// Opens a branch again as it was at its last turn. Threads above it are cut back to its opening; what was said
    /// behind that, and in branches that are discarded, is said to the branch, and stays in the threads that heard it.
    pub fn roll_back(&mut self, to: usize, discarded: &[BranchId]) {
        let chain = self.chain(to);
        let mut said = Vec::new();
        for node in self.open_nodes() {
            if !chain.contains(&node) {
                self.nodes[node].state = BranchStage::Discarded;
                said.extend(self.said(node));
            }
        }
        let mut above = MAIN;
        for &node in &chain {
            let cut = self.nodes[node].cut;
            let heard = self.cut_back(above, cut);
            self.discard_beside(above, node, discarded);
            if !heard.is_empty() {
                self.tell(above, [ThreadItem::Words(SAID_SINCE)].into_iter().chain(heard.iter().copied()));
                said.extend(heard);
            }
            self.nodes[node].state = BranchStage::Open;
            above = node;
        }
        if let Some(run) = self.nodes[to].run.take() {
            said.extend(self.cut_back(to, run));
        }
        self.nodes[to].waiting.clear();
        said.sort_by_key(ThreadItem::order);
        said.dedup();
        // An earlier rollback may have told it some of this.
        self.tell_new(to, said);
        self.path = chain;
    }

    /// What a thread has seen.
    pub fn told(&self, node: usize) -> HashSet<ThreadItem> {
        let mut told = HashSet::new();
        let mut see = |item: &ThreadItem| {
            told.insert(*item);
            told.extend(spoken::in_item(self.blocks, *item));
        };
        let mut below = &self.nodes[node];
        below.items.iter().for_each(&mut see);
        let mut is_whole = true;
        while below.opening.is_some() {
            is_whole &= below.inherits();
            let above = &self.nodes[below.parent];
            let items = above.items.iter().take(below.cut);
            items.filter(|item| is_whole || self.front.is_taken_along(self.blocks, **item)).for_each(&mut see);
            below = above;
        }
        told
    }

    /// Cuts a thread back. Gives what was said behind that point.
    fn cut_back(&mut self, node: usize, len: usize) -> Vec<ThreadItem> {
        let items = &mut self.nodes[node].items;
        let behind = items.split_off(len.min(items.len()));
        let later = self.nodes.iter_mut().filter(|child| child.parent == node && child.cut > len);
        later.for_each(|child| child.state = BranchStage::Discarded);
        behind.into_iter().flat_map(|item| spoken::in_item(self.blocks, item)).collect()
    }

    /// Branches that were opened in the same message and that the rollback discarded.
    fn discard_beside(&mut self, above: usize, node: usize, discarded: &[BranchId]) {
        self.nodes[above].run = None;
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
