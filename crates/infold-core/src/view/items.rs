//! The items of a thread, and the words in them that people and clients said, in blocks of their own or inside of
//! results.
//!
//! A fold takes out what a branch did. What somebody said in the branch is found here, and is repeated in its parent.
//! What a client says in front of a conversation, its preface (instructions, the project's rules, the environment), is
//! what branches begin with, too.

use std::ops::Range;

use super::{Block, BlockKey, BlockKind, Remark, Side, TranscriptStart};
use crate::transcript::Voice;

/// One entry of a thread. Blocks are named by their index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ThreadItem {
    /// A block of the transcript.
    Block(usize),
    /// Words that the client put into a result, without the result; `nth` counts the result's remarks from 0.
    Remark { block: usize, nth: usize },
    /// A result whose call was made in another thread, to be quoted.
    Quote(usize),
    /// Words of infold's own.
    Words(&'static str),
}

impl ThreadItem {
    /// `None` if it is not a whole block.
    pub fn block(&self) -> Option<usize> {
        match self {
            Self::Block(block) => Some(*block),
            Self::Remark { .. } | Self::Quote(_) | Self::Words(_) => None,
        }
    }

    /// Its position in the transcript, by which items are sorted.
    pub fn order(&self) -> (usize, usize) {
        match self {
            Self::Block(block) | Self::Quote(block) => (*block, 0),
            Self::Remark { block, nth } => (*block, 1 + nth),
            Self::Words(_) => (0, 0),
        }
    }
}

/// What people and clients said in an item.
pub(super) fn in_item(blocks: &[Block<'_>], item: ThreadItem) -> Vec<ThreadItem> {
    match item {
        ThreadItem::Remark { .. } => vec![item],
        ThreadItem::Quote(_) | ThreadItem::Words(_) => Vec::new(),
        ThreadItem::Block(block) => match &blocks[block].kind {
            BlockKind::Instruction | BlockKind::User { .. } | BlockKind::Attachment => vec![item],
            BlockKind::Result(result) => {
                (0..result.remarks.len()).map(|nth| ThreadItem::Remark { block, nth }).collect()
            }
            BlockKind::Assistant | BlockKind::Reasoning | BlockKind::Call(_) | BlockKind::Other { .. } => Vec::new(),
        },
    }
}

/// The key of words that the client said, by which repetitions are noticed; `None` for a person's words: a person who
/// says the same again means it.
pub(super) fn by_client(blocks: &[Block<'_>], item: ThreadItem) -> Option<BlockKey> {
    match item {
        ThreadItem::Remark { block, nth } => {
            remark(blocks, block, nth).filter(|remark| remark.voice == Voice::Client).map(|remark| remark.key)
        }
        ThreadItem::Block(block) => match &blocks[block].kind {
            BlockKind::Instruction | BlockKind::User { voice: Voice::Client } | BlockKind::Attachment => {
                Some(blocks[block].key)
            }
            BlockKind::User { voice: Voice::Person }
            | BlockKind::Assistant
            | BlockKind::Reasoning
            | BlockKind::Call(_)
            | BlockKind::Result(_)
            | BlockKind::Other { .. } => None,
        },
        ThreadItem::Quote(_) | ThreadItem::Words(_) => None,
    }
}

/// What a person typed that the client put into a result.
pub(super) fn typed(blocks: &[Block<'_>], block: usize) -> Vec<ThreadItem> {
    let is_typed = |item: &ThreadItem| by_client(blocks, *item).is_none();
    in_item(blocks, ThreadItem::Block(block)).into_iter().filter(is_typed).collect()
}

pub(super) fn remark<'b, 'a>(blocks: &'b [Block<'a>], block: usize, nth: usize) -> Option<&'b Remark<'a>> {
    blocks[block].kind.result()?.remarks.get(nth)
}

/// Where the client's preface is.
#[derive(Debug, Clone)]
pub(super) struct ClientPreface {
    /// How many blocks come before the model's first word. The person's first words are among them.
    pub blocks: usize,
    /// Blocks behind a summary in which the client repeats the preface, up to the model's first word after a person
    /// spoke. Empty if the client has not compacted.
    repeated: Range<usize>,
}

impl ClientPreface {
    pub fn of(blocks: &[Block<'_>], beginning: TranscriptStart) -> Self {
        let model_from = |from: usize| {
            blocks[from..]
                .iter()
                .position(|block| block.kind.side() == Side::Model)
                .map_or(blocks.len(), |at| from + at)
        };
        let first = model_from(0);
        let is_person = |block: &&Block<'_>| matches!(block.kind, BlockKind::User { voice: Voice::Person });
        // A summary passes for a person's words: one more, and the person has spoken before the model.
        let has_words = blocks[..first].iter().filter(is_person).count() > 1;
        let end = match beginning {
            TranscriptStart::Summary if !has_words => {
                let words = blocks[first..].iter().position(|block| is_person(&block));
                words.map_or(blocks.len(), |at| model_from(first + at))
            }
            TranscriptStart::Summary | TranscriptStart::Words => first,
        };
        Self { blocks: first, repeated: first..end }
    }

    /// Whether an isolated branch gets an item of a thread above it: instructions, wherever they are, and what else the
    /// client says in its preface.
    pub fn is_taken_along(&self, blocks: &[Block<'_>], item: ThreadItem) -> bool {
        match item {
            ThreadItem::Block(at) => match &blocks[at].kind {
                BlockKind::Instruction => true,
                BlockKind::User { voice: Voice::Client } => at < self.repeated.end,
                BlockKind::User { voice: Voice::Person }
                | BlockKind::Assistant
                | BlockKind::Reasoning
                | BlockKind::Call(_)
                | BlockKind::Result(_)
                | BlockKind::Attachment
                | BlockKind::Other { .. } => false,
            },
            ThreadItem::Remark { block, .. } => self.repeated.contains(&block),
            ThreadItem::Quote(_) | ThreadItem::Words(_) => false,
        }
    }
}
