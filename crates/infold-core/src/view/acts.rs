//! Which call each result answers, and what the calls of our own tools did.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use super::answers::{self, Act};
use super::script::Scripts;
use super::{Block, BlockKey, BlockKind, CallBlock, StoredDecisions};
use crate::{IdKey, ToolEffect};

/// The longest answer that is kept. Ours are shorter; a client may have put something around one.
const ANSWER_BYTES_MAX: usize = 256 << 10;

/// Calls and results of a transcript, found once.
#[derive(Debug)]
pub(super) struct TreeActs {
    /// For each block that is a result, the block of its call.
    pub call_of: Vec<Option<usize>>,
    /// Answers that said what a call did and that are not kept yet.
    pub new: Vec<(BlockKey, String)>,
    /// What calls did to the tree, in the order of their calls.
    acts: VecDeque<TreeAct>,
}

/// What a call did.
#[derive(Debug)]
pub(super) struct TreeAct {
    pub call: usize,
    pub result: usize,
    pub act: Act,
}

impl TreeActs {
    /// Reads a transcript, with the answers that are kept for where the client has cut or cleared them. A client
    /// may use an id again: a result answers the last call in front of it.
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
                    let kept = known.answers.get(&blocks[call].key);
                    let Some((act, source)) = act(own, answer, kept, key) else { continue };
                    if source == ActSource::Answer && kept.is_none() && answer.len() <= ANSWER_BYTES_MAX {
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
        Self { call_of, new, acts: acts.into() }
    }

    /// Takes out what the calls in front of `model_end` did. Runs are asked for in order. What was answered
    /// anywhere but in `user`, where providers want it, did nothing.
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

/// What an act was read from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ActSource {
    /// The answer, as our tool gave it.
    Answer,
    /// What was kept of it, or what the client has left of it.
    Remains,
}

/// What a call did: by its answer; where the client has cut or cleared that, by the answer that was kept; and
/// without one, by what is left.
fn act(call: &CallBlock<'_>, answer: &str, kept: Option<&String>, key: &IdKey) -> Option<(Act, ActSource)> {
    let verb = ToolEffect::of(&call.tool)?;
    if let Some(act) = answers::read(verb, answer, key) {
        return Some((act, ActSource::Answer));
    }
    let kept = kept.filter(|_| !answers::is_whole(answer)).and_then(|kept| answers::read(verb, kept, key));
    let act = kept.or_else(|| answers::read_remains(verb, call, answer, key))?;
    Some((act, ActSource::Remains))
}

/// The call that a block is.
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
