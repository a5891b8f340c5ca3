//! Putting a view together: the pieces of one thread, and why each is not what the client sent.
//!
//! A thread begins with what is in front of it: nothing, its parent's view, or a brief. Then come its items.
//! What must hold: pieces stand in an order in which calls are answered at once, and results in one entry
//! stand in front of words.

use std::collections::{BTreeMap, HashMap};

use super::brief::{self, BranchOutcome};
use super::reasoning::Bounds;
use super::spoken::{self, ThreadItem};
use super::tree::{BranchStage, MAIN, OpeningCall};
use super::walk::Walk;
use super::{
    Block, BlockKind, BranchState, Note, Reason, Replacement, RequestKind, ResultBlock, ViewPiece, acts, script,
};
use crate::{BranchId, EndReason, Scrubber};

/// A view that is being put together.
pub(super) struct ViewWriter<'w, 'r> {
    walk: &'w Walk<'r>,
    scrubber: &'w Scrubber,
    bounds: Bounds<'r>,
    notes: HashMap<&'r str, Vec<&'r Note>>,
    /// The view so far.
    pub pieces: Vec<ViewPiece>,
    /// What was changed so far, but for what is left out.
    pub edits: BTreeMap<Reason, usize>,
    /// Blocks that are in the view, or whose absence is accounted for.
    pub accounted: Vec<bool>,
    /// Notes that wait for the end of the results they follow, and the entry of the last of those.
    noted: Vec<&'r str>,
    noted_entry: usize,
    /// Words of ours that wait for the same.
    told: Vec<String>,
}

/// What the answer to an opening is in a view.
#[derive(Clone, Copy)]
enum OpeningShownTo {
    /// What the parent gets.
    ByParent,
    /// The brief for this branch; others that were opened beside it wait.
    ByBranch(usize),
}

impl<'w, 'r> ViewWriter<'w, 'r> {
    /// A view of nothing.
    pub fn new(walk: &'w Walk<'r>, scrubber: &'w Scrubber, bounds: Bounds<'r>) -> Self {
        let mut notes: HashMap<&str, Vec<&Note>> = HashMap::new();
        for note in &walk.known.notes {
            notes.entry(&note.after).or_default().push(note);
        }
        Self {
            walk,
            scrubber,
            bounds,
            notes,
            pieces: Vec::with_capacity(walk.request.blocks.len() + 1),
            edits: BTreeMap::new(),
            accounted: vec![false; walk.request.blocks.len()],
            noted: Vec::new(),
            noted_entry: 0,
            told: Vec::new(),
        }
    }

    /// Writes the whole view of a thread.
    pub fn thread(&mut self, node: usize) {
        self.front(node);
        self.items(node, self.walk.tree.nodes[node].items.len(), OpeningShownTo::ByParent);
        self.say_notes();
    }

    /// Writes what a thread begins with.
    fn front(&mut self, node: usize) {
        if node == MAIN {
            return;
        }
        let line = &self.walk.tree.nodes[node];
        if line.inherits() {
            self.front(line.parent);
            self.items(line.parent, line.cut, OpeningShownTo::ByBranch(node));
        } else {
            self.isolated_front(node);
        }
    }

    /// What the client itself put in front, the brief in place of the person's first words, and of what
    /// followed the instructions and the exchanges that made tools known.
    fn isolated_front(&mut self, node: usize) {
        let blocks = self.walk.request.blocks;
        let front = self.walk.tree.front.blocks;
        let mut brief = Some(self.brief(node));
        for (at, block) in blocks.iter().enumerate().take(front) {
            if self.walk.is_said(at) {
                if let Some(text) = brief.take() {
                    self.say(Some(block.entry), text, Reason::Brief);
                }
            } else if self.walk.tree.front.is_taken_along(blocks, ThreadItem::Block(at)) {
                self.keep(at);
            }
        }
        if let Some(text) = brief {
            self.say(None, text, Reason::Brief);
        }
        self.carried(node, front);
    }

    /// What a branch takes along from the threads above it, behind the front.
    fn carried(&mut self, node: usize, front: usize) {
        let tree = &self.walk.tree;
        let chain: Vec<usize> =
            std::iter::successors(Some(node), |&at| Some(tree.nodes[at].parent)).take_while(|&at| at != MAIN).collect();
        for &below in chain.iter().rev() {
            let above = &tree.nodes[tree.nodes[below].parent];
            let mut loads = Vec::new();
            for item in &above.items[..tree.nodes[below].cut.min(above.items.len())] {
                if item.block().is_none_or(|at| at >= front) {
                    self.carry(*item, &mut loads);
                }
            }
            self.carry_loads(&mut loads);
        }
    }

    fn carry(&mut self, item: ThreadItem, loads: &mut Vec<usize>) {
        let blocks = self.walk.request.blocks;
        if let ThreadItem::Block(at) = item {
            match &blocks[at].kind {
                BlockKind::Result(result) if !result.loads.is_empty() => return loads.push(at),
                BlockKind::Assistant | BlockKind::Reasoning | BlockKind::Call(_) => return self.carry_loads(loads),
                BlockKind::Instruction
                | BlockKind::User { .. }
                | BlockKind::Result(_)
                | BlockKind::Attachment
                | BlockKind::Other { .. } => {}
            }
        }
        for said in spoken::in_item(blocks, item) {
            if self.walk.tree.front.is_taken_along(blocks, said) {
                self.carry_loads(loads);
                self.said(said);
            }
        }
    }

    /// Writes what somebody said.
    fn said(&mut self, item: ThreadItem) {
        match item {
            ThreadItem::Block(at) => self.keep(at),
            ThreadItem::Remark { .. } => self.remark(item),
            ThreadItem::Quote(_) | ThreadItem::Words(_) => {}
        }
    }

    /// The exchanges of one message that made tools known: calls first, as they were made, then results.
    fn carry_loads(&mut self, loads: &mut Vec<usize>) {
        let walk = self.walk;
        loads.iter().filter_map(|&at| walk.acts.call_of[at]).for_each(|call| self.keep(call));
        for at in loads.drain(..).filter(|&at| walk.acts.call_of[at].is_some()) {
            if let BlockKind::Result(result) = &walk.request.blocks[at].kind {
                self.result(at, result, OpeningShownTo::ByParent);
            }
        }
    }

    /// Writes the first items of a thread.
    fn items(&mut self, node: usize, len: usize, seen: OpeningShownTo) {
        let walk = self.walk;
        let items = &walk.tree.nodes[node].items;
        for item in &items[..len.min(items.len())] {
            match item {
                ThreadItem::Words(words) => self.say(None, (*words).to_owned(), Reason::Folded),
                ThreadItem::Remark { .. } => self.remark(*item),
                ThreadItem::Quote(at) => self.quote(*at),
                ThreadItem::Block(at) => self.block(*at, node, seen),
            }
        }
    }

    /// Words that stood inside of a result, by themselves. The result may have held secrets, and so may they.
    fn remark(&mut self, item: ThreadItem) {
        if let ThreadItem::Remark { block, nth } = item
            && let Some(remark) = spoken::remark(self.walk.request.blocks, block, nth)
        {
            self.say(None, brief::scrubbed(&remark.text, self.scrubber), Reason::Folded);
        }
    }

    /// What a call gave that a branch made and did not see answered.
    fn quote(&mut self, at: usize) {
        let call = self.walk.acts.call_of[at].and_then(|call| acts::call_block(self.walk.request.blocks, call));
        let tool = call.map_or("a tool", |call| &*call.tool);
        let head = format!("[What {tool} gave, which the branch called while it returned]");
        let json = rewrite(self.walk, at).map(|rewrite| rewrite.sent.clone());
        self.say_notes();
        self.pieces.push(ViewPiece::Quote { block: at, json, head });
        self.accounted[at] = true;
        self.count(Reason::Folded);
    }

    fn block(&mut self, at: usize, node: usize, seen: OpeningShownTo) {
        match &self.walk.request.blocks[at].kind {
            BlockKind::Reasoning if !self.bounds.allow(at, node) => {
                self.accounted[at] = true;
                self.count(Reason::Reasoning);
            }
            BlockKind::Result(result) => self.result(at, result, seen),
            BlockKind::Instruction
            | BlockKind::User { .. }
            | BlockKind::Assistant
            | BlockKind::Reasoning
            | BlockKind::Call(_)
            | BlockKind::Attachment
            | BlockKind::Other { .. } => self.keep(at),
        }
    }

    fn result(&mut self, at: usize, result: &'r ResultBlock<'r>, seen: OpeningShownTo) {
        let entry = self.walk.request.blocks[at].entry;
        let opened = self.walk.tree.opened_by.get(&at).map(Vec::as_slice).unwrap_or_default();
        if let Some((text, reason)) = self.answers(opened, seen) {
            let text = with_remarks(text, result, self.scrubber);
            self.push(ViewPiece::Text { block: at, text }, at);
            self.count(reason);
        } else if let Some(rewrite) = rewrite(self.walk, at) {
            self.push(ViewPiece::Content { block: at, json: rewrite.sent.clone() }, at);
            self.count(rewrite.reason);
        } else {
            self.keep(at);
        }
        if !self.notes.is_empty() && self.notes.contains_key(&*result.call) {
            self.noted.push(&result.call);
        }
        self.told.extend(self.untold(opened, result));
        self.noted_entry = entry;
    }

    /// What stands as the answer to the openings of one result; nothing if it is what the client has. A script that
    /// has returned all that it opened printed what it wanted to print.
    fn answers(&self, opened: &[usize], seen: OpeningShownTo) -> Option<(String, Reason)> {
        let nodes = &self.walk.tree.nodes;
        if opened.iter().all(|&node| nodes[node].is_within_script()) {
            return None;
        }
        let answers: Vec<(String, Reason)> = opened.iter().filter_map(|&node| self.answer(node, seen)).collect();
        let reason = answers.first()?.1;
        let texts: Vec<String> = answers.into_iter().map(|(text, _)| text).collect();
        Some((texts.join("\n\n"), reason))
    }

    /// What branches returned to the script that had opened them, and that it did not print.
    fn untold(&self, opened: &[usize], result: &ResultBlock<'_>) -> Vec<String> {
        let nodes = &self.walk.tree.nodes;
        if opened.is_empty() || !opened.iter().all(|&node| nodes[node].is_within_script()) {
            return Vec::new();
        }
        let printed = result.text.as_deref().unwrap_or_default();
        let untold = opened.iter().filter_map(|&node| match &nodes[node].state {
            BranchStage::Over(outcome @ BranchOutcome::Returned { message, .. })
                if !script::holds(printed, message) =>
            {
                Some(brief::answer(nodes[node].branch()?, outcome))
            }
            BranchStage::Over(_)
            | BranchStage::Waiting
            | BranchStage::Open
            | BranchStage::Dissolved
            | BranchStage::Discarded => None,
        });
        untold.collect()
    }

    /// What a script printed beside our answers about these branches, named as what it is.
    fn printed(&self, result: usize, branches: &[&BranchId], head: &str) -> Option<String> {
        let text = match (rewrite(self.walk, result), &self.walk.request.blocks[result].kind) {
            (Some(rewrite), _) => script::text_of(&rewrite.sent),
            (None, BlockKind::Result(result)) => brief::scrubbed(result.text.as_deref()?, self.scrubber),
            (None, _) => return None,
        };
        script::beside(&text, branches).map(|rest| format!("\n\n[{head}]\n{rest}"))
    }

    /// What stands as the answer to an opening; nothing if it is what the client has.
    fn answer(&self, node: usize, seen: OpeningShownTo) -> Option<(String, Reason)> {
        let line = &self.walk.tree.nodes[node];
        let branch = line.branch()?;
        let told = |outcome: &BranchOutcome, reason| Some((brief::answer(branch, outcome), reason));
        match (&line.state, seen) {
            (BranchStage::Dissolved, _) => None,
            (_, OpeningShownTo::ByBranch(own)) if own == node => Some((self.brief(node), Reason::Brief)),
            (_, OpeningShownTo::ByBranch(own)) if self.is_beside(own, node) => {
                told(&BranchOutcome::Waiting, Reason::Waiting)
            }
            (BranchStage::Over(outcome), _) => {
                Some((brief::answer(branch, outcome) + &self.printed_by(node), Reason::Folded))
            }
            (BranchStage::Waiting, _) => told(&BranchOutcome::Waiting, Reason::Waiting),
            (BranchStage::Open, _) => {
                let known = self.walk.known.branches.get(branch).map(|known| &known.state);
                let partial = match known {
                    Some(BranchState::Open { partial }) => partial.clone(),
                    Some(BranchState::Ended { result, .. }) => result.clone(),
                    None => String::new(),
                };
                told(&BranchOutcome::Open { partial }, Reason::Waiting)
            }
            (BranchStage::Discarded, _) => {
                told(&BranchOutcome::cut(EndReason::RolledBack, String::new()), Reason::Folded)
            }
        }
    }

    /// Whether two branches were opened in one message.
    fn is_beside(&self, own: usize, other: usize) -> bool {
        self.walk.tree.nodes[own].is_beside(&self.walk.tree.nodes[other])
    }

    /// What a script printed beside the return of a branch.
    fn printed_by(&self, node: usize) -> String {
        let line = &self.walk.tree.nodes[node];
        match (&line.state, line.branch()) {
            (BranchStage::Over(BranchOutcome::Returned { script: Some(script), .. }), Some(branch))
                if !line.is_within_script() =>
            {
                self.printed(*script, &[branch], "What the script printed that returned it").unwrap_or_default()
            }
            _ => String::new(),
        }
    }

    fn brief(&self, node: usize) -> String {
        let opening = self.walk.tree.nodes[node].opening.as_ref();
        let call = opening.and_then(|opening| acts::call_block(self.walk.request.blocks, opening.call));
        let Some((call, opening)) = call.zip(opening) else { return String::new() };
        brief::brief(call, &opening.opened, self.scrubber) + &self.printed_at(node, opening)
    }

    /// What a script printed that opened a branch, if the branch is the first that goes on from there.
    fn printed_at(&self, node: usize, opening: &OpeningCall) -> String {
        let tree = &self.walk.tree;
        let beside = tree.opened_by.get(&opening.result).map(Vec::as_slice).unwrap_or_default();
        let first = beside.iter().find(|&&beside| !tree.nodes[beside].is_within_script());
        if opening.opened.script.is_none() || first != Some(&node) {
            return String::new();
        }
        let branches: Vec<&BranchId> = beside.iter().filter_map(|&beside| tree.nodes[beside].branch()).collect();
        self.printed(opening.result, &branches, "What the script printed that opened it").unwrap_or_default()
    }

    fn keep(&mut self, at: usize) {
        self.push(ViewPiece::Keep(at), at);
    }

    fn push(&mut self, piece: ViewPiece, at: usize) {
        let block = &self.walk.request.blocks[at];
        // Words stand behind all results of a round: providers want those first, and at once.
        if self.has_waiting_words() && block.entry != self.noted_entry && !is_result(block) {
            self.say_notes();
        }
        self.accounted[at] = true;
        self.pieces.push(piece);
    }

    fn has_waiting_words(&self) -> bool {
        !self.noted.is_empty() || !self.told.is_empty()
    }

    fn say_notes(&mut self) {
        for text in std::mem::take(&mut self.told) {
            self.say(None, text, Reason::Folded);
        }
        for call in std::mem::take(&mut self.noted) {
            let texts: Vec<String> = self.notes[call].iter().map(|note| note.text.clone()).collect();
            texts.into_iter().for_each(|text| self.say(None, text, Reason::Note));
        }
    }

    fn say(&mut self, entry: Option<usize>, text: String, reason: Reason) {
        if self.has_waiting_words() {
            self.say_notes();
        }
        self.pieces.push(ViewPiece::Say { entry, text });
        self.count(reason);
    }

    fn count(&mut self, reason: Reason) {
        *self.edits.entry(reason).or_default() += 1;
    }

    /// Accounts for all blocks that are not in the view of `node`.
    pub fn account(&mut self, node: usize) {
        let reasons = self.reasons_for_absence(node);
        for (at, is_accounted) in self.accounted.iter().enumerate() {
            if !is_accounted {
                *self.edits.entry(reasons[self.walk.tree.home[at]]).or_default() += 1;
            }
        }
    }

    /// Why blocks of each thread are not in the view of `node`.
    fn reasons_for_absence(&self, node: usize) -> Vec<Reason> {
        let here = if node == MAIN { Reason::Folded } else { Reason::Isolated };
        let mut reasons = vec![here];
        for line in &self.walk.tree.nodes[1..] {
            reasons.push(match line.state {
                BranchStage::Over(_) | BranchStage::Discarded => Reason::Folded,
                BranchStage::Open | BranchStage::Waiting if self.walk.request.kind == RequestKind::Side => {
                    Reason::Waiting
                }
                BranchStage::Open | BranchStage::Waiting | BranchStage::Dissolved => reasons[line.parent],
            });
        }
        reasons
    }
}

/// What stands in place of an answer of ours, with what the client put into that behind it.
fn with_remarks(mut text: String, result: &ResultBlock<'_>, scrubber: &Scrubber) -> String {
    for remark in &result.remarks {
        text.push_str("\n\n");
        text.push_str(&brief::scrubbed(&remark.text, scrubber));
    }
    text
}

fn is_result(block: &Block<'_>) -> bool {
    matches!(block.kind, BlockKind::Result(_))
}

/// What was decided about a result when it was first seen, if that was for the content it has now.
pub(super) fn rewrite<'r>(walk: &Walk<'r>, at: usize) -> Option<&'r Replacement> {
    let result = walk.request.blocks[at].kind.result()?;
    walk.known.rewrites.get(&*result.call).filter(|rewrite| rewrite.content == result.content)
}
