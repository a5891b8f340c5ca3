//! Writing one thread's view: its pieces in order, and why each differs from what the client sent.
//!
//! A view begins with the parent's view or a brief (the main thread's with neither); then come the thread's items. What
//! must hold: every call is followed by its result before anything else is said, and results come before words.

use std::collections::{BTreeMap, HashMap};

use super::brief::{self, BranchOutcome};
use super::items::{self, ThreadItem};
use super::reasoning::Bounds;
use super::tree::{BranchStage, MAIN, OpeningCall};
use super::walk::Walk;
use super::{
    Block, BlockKind, BranchState, Note, Reason, Replacement, RequestKind, ResultBlock, ViewPiece, acts, script,
};
use crate::{BranchId, EndReason, Scrubber};

pub(super) struct ViewWriter<'w, 'r> {
    walk: &'w Walk<'r>,
    scrubber: &'w Scrubber,
    bounds: Bounds<'r>,
    notes: HashMap<&'r str, Vec<&'r Note>>,
    pub pieces: Vec<ViewPiece>,
    /// How many blocks were edited, by reason.
    pub edits: BTreeMap<Reason, usize>,
    /// For each block, whether it is in the view or counted among the edits.
    pub accounted: Vec<bool>,
    /// What is written behind the results of this round: calls that have notes, and what branches returned to scripts.
    pending_notes: Vec<&'r str>,
    pending_returns: Vec<String>,
    last_result_entry: usize,
}

/// In whose view the result of an opening is written.
#[derive(Clone, Copy)]
enum OpeningShownTo {
    /// The parent: the result says what became of the branch.
    Parent,
    /// A branch that inherits: the result is its brief, and branches that were opened beside it wait.
    Branch(usize),
}

impl<'w, 'r> ViewWriter<'w, 'r> {
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
            pending_notes: Vec::new(),
            pending_returns: Vec::new(),
            last_result_entry: 0,
        }
    }

    pub fn write_thread(&mut self, node: usize) {
        self.write_beginning(node);
        self.write_items(node, self.walk.tree.nodes[node].items.len(), OpeningShownTo::Parent);
        self.write_pending();
    }

    /// Writes what comes before a thread's own items.
    fn write_beginning(&mut self, node: usize) {
        let thread = &self.walk.tree.nodes[node];
        if thread.inherits() {
            self.write_beginning(thread.parent);
            self.write_items(thread.parent, thread.parent_len, OpeningShownTo::Branch(node));
        } else if node != MAIN {
            self.write_isolated_beginning(node);
        }
    }

    /// Writes the client's preface with the brief in place of the person's first words, and then what the branch takes
    /// along from the threads above it: instructions, and the exchanges that loaded tools.
    fn write_isolated_beginning(&mut self, node: usize) {
        let blocks = self.walk.request.blocks;
        let preface = &self.walk.tree.preface;
        let mut brief = Some(self.brief(node));
        for (at, block) in blocks.iter().enumerate().take(preface.blocks) {
            if self.walk.is_person(at) {
                if let Some(text) = brief.take() {
                    self.write_words(Some(block.entry), text, Reason::Brief);
                }
            } else if preface.is_taken_along(blocks, ThreadItem::Block(at)) {
                self.write_unchanged(at);
            }
        }
        if let Some(text) = brief {
            self.write_words(None, text, Reason::Brief);
        }
        self.write_taken_along(node, preface.blocks);
    }

    fn write_taken_along(&mut self, node: usize, preface_len: usize) {
        let tree = &self.walk.tree;
        for below in tree.path_to(node) {
            let above = &tree.nodes[tree.nodes[below].parent];
            let mut loads = Vec::new();
            for item in above.items.iter().take(tree.nodes[below].parent_len) {
                if item.block().is_none_or(|at| at >= preface_len) {
                    self.write_if_taken_along(*item, &mut loads);
                }
            }
            self.write_loads(&mut loads);
        }
    }

    /// `loads` collects the results of one message that loaded tools: their calls have to be written together.
    fn write_if_taken_along(&mut self, item: ThreadItem, loads: &mut Vec<usize>) {
        let blocks = self.walk.request.blocks;
        if let ThreadItem::Block(at) = item {
            let kind = &blocks[at].kind;
            if kind.result().is_some_and(|result| !result.loads.is_empty()) {
                return loads.push(at);
            }
            if matches!(kind, BlockKind::Assistant | BlockKind::Reasoning | BlockKind::Call(_)) {
                return self.write_loads(loads);
            }
        }
        for words in items::in_item(blocks, item) {
            if self.walk.tree.preface.is_taken_along(blocks, words) {
                self.write_loads(loads);
                match words {
                    ThreadItem::Block(at) => self.write_unchanged(at),
                    ThreadItem::Remark { block, nth } => self.write_remark(block, nth),
                    ThreadItem::Quote(_) | ThreadItem::Words(_) => {}
                }
            }
        }
    }

    /// Writes the collected exchanges: all calls, then all results.
    fn write_loads(&mut self, loads: &mut Vec<usize>) {
        let walk = self.walk;
        loads.iter().filter_map(|&at| walk.acts.call_of[at]).for_each(|call| self.write_unchanged(call));
        for at in loads.drain(..).filter(|&at| walk.acts.call_of[at].is_some()) {
            if let Some(result) = walk.request.blocks[at].kind.result() {
                self.write_result(at, result, OpeningShownTo::Parent);
            }
        }
    }

    /// Writes the first `len` items of a thread.
    fn write_items(&mut self, node: usize, len: usize, shown_to: OpeningShownTo) {
        let walk = self.walk;
        for item in walk.tree.nodes[node].items.iter().take(len) {
            match item {
                ThreadItem::Words(words) => self.write_words(None, (*words).to_owned(), Reason::Folded),
                ThreadItem::Remark { block, nth } => self.write_remark(*block, *nth),
                ThreadItem::Quote(at) => self.write_quote(*at),
                ThreadItem::Block(at) => self.write_block(*at, node, shown_to),
            }
        }
    }

    /// Writes words from inside a result without the result. They are scrubbed: the result may have held secrets.
    fn write_remark(&mut self, block: usize, nth: usize) {
        if let Some(remark) = items::remark(self.walk.request.blocks, block, nth) {
            self.write_words(None, brief::scrubbed(&remark.text, self.scrubber), Reason::Folded);
        }
    }

    /// Quotes what a call gave that a branch made beside its return.
    fn write_quote(&mut self, at: usize) {
        let call = self.walk.acts.call_of[at].and_then(|call| acts::call_block(self.walk.request.blocks, call));
        let tool = call.map_or("a tool", |call| &*call.tool);
        let head = format!("[What {tool} gave, which the branch called while it returned]");
        let json = replacement(self.walk, at).map(|replacement| replacement.sent.bytes().clone());
        self.write_pending();
        self.pieces.push(ViewPiece::Quote { block: at, json, head });
        self.accounted[at] = true;
        self.count_edit(Reason::Folded);
    }

    fn write_block(&mut self, at: usize, node: usize, shown_to: OpeningShownTo) {
        let kind = &self.walk.request.blocks[at].kind;
        if let Some(result) = kind.result() {
            self.write_result(at, result, shown_to);
        } else if matches!(kind, BlockKind::Reasoning) && !self.bounds.allow(at, node) {
            self.accounted[at] = true;
            self.count_edit(Reason::Reasoning);
        } else {
            self.write_unchanged(at);
        }
    }

    fn write_result(&mut self, at: usize, result: &'r ResultBlock<'r>, shown_to: OpeningShownTo) {
        let opened = self.walk.tree.opened_by.get(&at).map(Vec::as_slice).unwrap_or_default();
        if let Some((text, reason)) = self.opening_answers(opened, shown_to) {
            let text = with_remarks(text, result, self.scrubber);
            self.write_piece(ViewPiece::Text { block: at, text }, at);
            self.count_edit(reason);
        } else if let Some(replacement) = replacement(self.walk, at) {
            self.write_piece(ViewPiece::Content { block: at, json: replacement.sent.bytes().clone() }, at);
            self.count_edit(replacement.reason);
        } else {
            self.write_unchanged(at);
        }
        if !self.notes.is_empty() && self.notes.contains_key(&*result.call) {
            self.pending_notes.push(&result.call);
        }
        self.pending_returns.extend(self.unprinted_returns(opened, result));
        self.last_result_entry = self.walk.request.blocks[at].entry;
    }

    /// What replaces a result that answers openings; `None` if it stays as the client sent it. The result of a script
    /// that has returned all branches which it opened stays: it printed what it wanted to print.
    fn opening_answers(&self, opened: &[usize], shown_to: OpeningShownTo) -> Option<(String, Reason)> {
        let nodes = &self.walk.tree.nodes;
        if opened.iter().all(|&node| nodes[node].is_within_script()) {
            return None;
        }
        let answers: Vec<(String, Reason)> =
            opened.iter().filter_map(|&node| self.opening_answer(node, shown_to)).collect();
        let reason = answers.first()?.1;
        let texts: Vec<String> = answers.into_iter().map(|(text, _)| text).collect();
        Some((texts.join("\n\n"), reason))
    }

    /// What branches returned to the script that had opened them, where the script did not print it.
    fn unprinted_returns(&self, opened: &[usize], result: &ResultBlock<'_>) -> Vec<String> {
        let nodes = &self.walk.tree.nodes;
        if opened.is_empty() || !opened.iter().all(|&node| nodes[node].is_within_script()) {
            return Vec::new();
        }
        let printed = result.text.as_deref().unwrap_or_default();
        let unprinted = opened.iter().filter_map(|&node| match &nodes[node].state {
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
        unprinted.collect()
    }

    /// What a script printed beside our answers about these branches, under a head; `None` if it printed nothing else.
    fn printed_beside(&self, result: usize, branches: &[&BranchId], head: &str) -> Option<String> {
        let text = match replacement(self.walk, result) {
            Some(replacement) => script::text_of(replacement.sent.bytes()),
            None => {
                let result = self.walk.request.blocks[result].kind.result()?;
                brief::scrubbed(result.text.as_deref()?, self.scrubber)
            }
        };
        script::beside(&text, branches).map(|rest| format!("\n\n[{head}]\n{rest}"))
    }

    /// What replaces the answer to one opening; `None` if it stays as the client sent it.
    fn opening_answer(&self, node: usize, shown_to: OpeningShownTo) -> Option<(String, Reason)> {
        let nodes = &self.walk.tree.nodes;
        let branch = nodes[node].branch()?;
        let answer = |outcome: &BranchOutcome, reason| Some((brief::answer(branch, outcome), reason));
        match (&nodes[node].state, shown_to) {
            (BranchStage::Dissolved, _) => None,
            (_, OpeningShownTo::Branch(own)) if own == node => Some((self.brief(node), Reason::Brief)),
            (_, OpeningShownTo::Branch(own)) if nodes[own].is_beside(&nodes[node]) => {
                answer(&BranchOutcome::Waiting, Reason::Waiting)
            }
            (BranchStage::Over(outcome), _) => {
                Some((brief::answer(branch, outcome) + &self.printed_with_return(node), Reason::Folded))
            }
            (BranchStage::Waiting, _) => answer(&BranchOutcome::Waiting, Reason::Waiting),
            (BranchStage::Open, _) => {
                let partial = match self.walk.known.branches.get(branch).map(|known| &known.state) {
                    Some(BranchState::Open { partial }) => partial.clone(),
                    Some(BranchState::Ended { result, .. }) => result.clone(),
                    None => String::new(),
                };
                answer(&BranchOutcome::Open { partial }, Reason::Waiting)
            }
            (BranchStage::Discarded, _) => {
                answer(&BranchOutcome::cut(EndReason::RolledBack, String::new()), Reason::Folded)
            }
        }
    }

    /// What the script that returned a branch printed beside the return.
    fn printed_with_return(&self, node: usize) -> String {
        let thread = &self.walk.tree.nodes[node];
        match (&thread.state, thread.branch()) {
            (BranchStage::Over(BranchOutcome::Returned { script: Some(script), .. }), Some(branch))
                if !thread.is_within_script() =>
            {
                let head = "What the script printed that returned it";
                self.printed_beside(*script, &[branch], head).unwrap_or_default()
            }
            _ => String::new(),
        }
    }

    fn brief(&self, node: usize) -> String {
        let opening = self.walk.tree.nodes[node].opening.as_ref();
        let call = opening.and_then(|opening| acts::call_block(self.walk.request.blocks, opening.call));
        let Some((call, opening)) = call.zip(opening) else { return String::new() };
        brief::brief(call, &opening.opened, self.scrubber) + &self.printed_with_opening(node, opening)
    }

    /// What the script that opened a branch printed, if the branch is the first that goes on from there.
    fn printed_with_opening(&self, node: usize, opening: &OpeningCall) -> String {
        let tree = &self.walk.tree;
        let beside = tree.opened_by.get(&opening.result).map(Vec::as_slice).unwrap_or_default();
        let first = beside.iter().find(|&&beside| !tree.nodes[beside].is_within_script());
        if opening.opened.script.is_none() || first != Some(&node) {
            return String::new();
        }
        let branches: Vec<&BranchId> = beside.iter().filter_map(|&beside| tree.nodes[beside].branch()).collect();
        let head = "What the script printed that opened it";
        self.printed_beside(opening.result, &branches, head).unwrap_or_default()
    }

    fn write_unchanged(&mut self, at: usize) {
        self.write_piece(ViewPiece::Keep(at), at);
    }

    fn write_piece(&mut self, piece: ViewPiece, at: usize) {
        let block = &self.walk.request.blocks[at];
        // Pending words come after all results of a round: providers want results first, without words between.
        if block.entry != self.last_result_entry && !is_result(block) {
            self.write_pending();
        }
        self.accounted[at] = true;
        self.pieces.push(piece);
    }

    fn write_pending(&mut self) {
        for text in std::mem::take(&mut self.pending_returns) {
            self.write_words(None, text, Reason::Folded);
        }
        for call in std::mem::take(&mut self.pending_notes) {
            let texts: Vec<String> = self.notes[call].iter().map(|note| note.text.clone()).collect();
            texts.into_iter().for_each(|text| self.write_words(None, text, Reason::Note));
        }
    }

    fn write_words(&mut self, entry: Option<usize>, text: String, reason: Reason) {
        self.write_pending();
        self.pieces.push(ViewPiece::Say { entry, text });
        self.count_edit(reason);
    }

    fn count_edit(&mut self, reason: Reason) {
        *self.edits.entry(reason).or_default() += 1;
    }

    /// Counts all blocks that are not in the view of `node` among the edits.
    pub fn account_for_absent(&mut self, node: usize) {
        let reasons = self.reasons_for_absence(node);
        for (at, is_accounted) in self.accounted.iter().enumerate() {
            if !is_accounted {
                *self.edits.entry(reasons[self.walk.tree.home[at]]).or_default() += 1;
            }
        }
    }

    /// For each thread, why its blocks are not in the view of `node`.
    fn reasons_for_absence(&self, node: usize) -> Vec<Reason> {
        let here = if node == MAIN { Reason::Folded } else { Reason::Isolated };
        let mut reasons = vec![here];
        for thread in &self.walk.tree.nodes[1..] {
            reasons.push(match thread.state {
                BranchStage::Over(_) | BranchStage::Discarded => Reason::Folded,
                BranchStage::Open | BranchStage::Waiting if self.walk.request.kind == RequestKind::Side => {
                    Reason::Waiting
                }
                BranchStage::Open | BranchStage::Waiting | BranchStage::Dissolved => reasons[thread.parent],
            });
        }
        reasons
    }
}

/// Adds to a text that replaces a result what the client had put into the result.
fn with_remarks(mut text: String, result: &ResultBlock<'_>, scrubber: &Scrubber) -> String {
    for remark in &result.remarks {
        text.push_str("\n\n");
        text.push_str(&brief::scrubbed(&remark.text, scrubber));
    }
    text
}

pub(super) fn is_result(block: &Block<'_>) -> bool {
    block.kind.result().is_some()
}

/// What is sent for a result since it was first seen, unless its content has changed since then.
pub(super) fn replacement<'r>(walk: &Walk<'r>, at: usize) -> Option<&'r Replacement> {
    let result = walk.request.blocks[at].kind.result()?;
    walk.known.rewrites.get(&*result.call).filter(|replacement| replacement.content == result.content)
}
