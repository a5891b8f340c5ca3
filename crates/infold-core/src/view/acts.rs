//! Which call each result answers, and what the calls of our own tools did to the tree of threads.
//!
//! All of a transcript is looked through once, before `walk` reads it round by round. What our tools' answers say is
//! left to `answers`, what scripts did to `script`.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use super::answers::{self, Act, HandedOver};
use super::script::Scripts;
use super::{Block, BlockKey, BlockKind, CallBlock, StoredDecisions};
use crate::{BranchId, IdKey, ToolEffect};

/// The longest answer that is stored. Ours are shorter; a client may have put something around one.
const ANSWER_BYTES_MAX: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct TreeActs {
    /// For each block that is a result, the block of its call.
    pub call_of: Vec<Option<usize>>,
    /// Answers that said what a call did and that are not stored yet, by the key of the call.
    pub new: Vec<(BlockKey, String)>,
    /// What calls did to the tree, in the order of the calls.
    acts: VecDeque<TreeAct>,
}

/// What one call did, with the blocks of the call and of its result.
#[derive(Debug)]
pub(super) struct TreeAct {
    pub call: usize,
    pub result: usize,
    pub act: Act,
}

impl TreeActs {
    /// Reads a transcript. Where the client has cut or cleared an answer, the stored one is read. A client may use an
    /// id again: a result answers the last call in front of it.
    pub fn of(blocks: &[Block<'_>], known: &StoredDecisions, key: &IdKey) -> Self {
        let mut last: HashMap<&str, usize> = HashMap::new();
        let mut scripts = Scripts::default();
        let mut call_of = vec![None; blocks.len()];
        let mut acts = Vec::new();
        let mut new = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            match &block.kind {
                BlockKind::Call(call) => {
                    last.insert(&call.id, at);
                }
                BlockKind::Result(result) => {
                    let call = last.get(&*result.call).copied();
                    call_of[at] = call;
                    let answer = result.text.as_deref().unwrap_or_default();
                    let Some((call, own)) = call.and_then(|at| Some((at, call_block(blocks, at)?))) else { continue };
                    for mut act in scripts.acts(own, result, known, key) {
                        if let Act::Return(returned) = &mut act {
                            returned.script = Some(at);
                        }
                        acts.push(TreeAct { call, result: at, act });
                    }
                    let stored = known.answers.get(&blocks[call].key);
                    let Some((act, source)) = act(own, answer, stored, key) else { continue };
                    if source == ActSource::Answer && stored.is_none() && answer.len() <= ANSWER_BYTES_MAX {
                        new.push((blocks[call].key, answer.to_owned()));
                    }
                    acts.push(TreeAct { call, result: at, act });
                }
                BlockKind::Instruction
                | BlockKind::User { .. }
                | BlockKind::Assistant
                | BlockKind::Reasoning
                | BlockKind::Attachment
                | BlockKind::Other { .. } => {}
            }
        }
        acts.sort_by_key(|done| done.call);
        leave_out_repeated(&mut acts);
        Self { call_of, new, acts: acts.into() }
    }

    /// Leaves the tree as it is: the client keeps its threads apart.
    pub fn ignore(&mut self) {
        self.new.clear();
        self.acts.clear();
    }

    /// Takes out what the calls in front of `model_end` did. Rounds have to be asked for in order. A call that was
    /// answered anywhere but in `user`, where providers want its result, did nothing.
    pub fn take(&mut self, model_end: usize, user: &Range<usize>) -> Vec<TreeAct> {
        let mut taken = Vec::new();
        while let Some(done) = self.acts.pop_front_if(|done| done.call < model_end) {
            if user.contains(&done.result) {
                taken.push(done);
            }
        }
        taken
    }
}

/// Leaves out returns of which nothing is left where a later call is seen to have returned the same branch: they did not.
fn leave_out_repeated(acts: &mut Vec<TreeAct>) {
    let mut gone: HashMap<BranchId, Vec<usize>> = HashMap::new();
    let mut repeated = Vec::new();
    for (at, done) in acts.iter().enumerate() {
        match &done.act {
            Act::Return(returned) => match returned.message {
                HandedOver::Gone => gone.entry(returned.branch.clone()).or_default().push(at),
                HandedOver::Whole(_) | HandedOver::Cut(_) => {
                    repeated.extend(gone.remove(&returned.branch).unwrap_or_default());
                }
            },
            // What is returned after that is another generation.
            Act::RollBack(_) => gone.clear(),
            Act::Open(_) => {}
        }
    }
    let mut at = 0;
    acts.retain(|_| {
        at += 1;
        !repeated.contains(&(at - 1))
    });
}

/// What an act was read from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ActSource {
    /// The answer in the transcript, as our tool gave it.
    Answer,
    /// The stored answer, or what the client has left of the one in the transcript.
    Remains,
}

/// What a call did: by its answer; where the client has cut or cleared that, by the stored answer; and without one, by
/// what is left.
fn act(call: &CallBlock<'_>, answer: &str, stored: Option<&String>, key: &IdKey) -> Option<(Act, ActSource)> {
    let effect = ToolEffect::of(&call.tool)?;
    if let Some(act) = answers::read(effect, answer, key) {
        return Some((act, ActSource::Answer));
    }
    let stored = stored.filter(|_| !answers::is_whole(answer)).and_then(|stored| answers::read(effect, stored, key));
    let act = stored.or_else(|| answers::read_remains(effect, call, answer, key))?;
    Some((act, ActSource::Remains))
}

/// `None` if the block is not a call.
pub(super) fn call_block<'a, 'b>(blocks: &'a [Block<'b>], at: usize) -> Option<&'a CallBlock<'b>> {
    match &blocks.get(at)?.kind {
        BlockKind::Call(call) => Some(call),
        BlockKind::Instruction
        | BlockKind::User { .. }
        | BlockKind::Assistant
        | BlockKind::Reasoning
        | BlockKind::Result(_)
        | BlockKind::Attachment
        | BlockKind::Other { .. } => None,
    }
}
