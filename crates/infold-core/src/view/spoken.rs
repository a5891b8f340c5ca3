//! What people and clients said, wherever in a transcript it stands: in blocks of its own, or inside of a result.
//!
//! A fold takes out what a branch did. What somebody said in it is found here, and goes on in the parent.

use super::{Block, BlockKey, BlockKind, Remark};
use crate::transcript::Voice;

/// One entry of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ThreadItem {
    /// A block of the transcript.
    Block(usize),
    /// Words that the client put into a result, by themselves.
    Remark {
        /// The result.
        block: usize,
        /// Which of them.
        nth: usize,
    },
    /// A result of another thread, named as what it is.
    Quote(usize),
    /// Words of ours.
    Words(&'static str),
}

impl ThreadItem {
    /// The block that it is.
    pub fn block(&self) -> Option<usize> {
        match self {
            Self::Block(block) => Some(*block),
            Self::Remark { .. } | Self::Quote(_) | Self::Words(_) => None,
        }
    }

    /// Where in the transcript it stands, so that items can be put in order.
    pub fn order(&self) -> (usize, usize) {
        match self {
            Self::Block(block) | Self::Quote(block) => (*block, 0),
            Self::Remark { block, nth } => (*block, 1 + nth),
            Self::Words(_) => (0, 0),
        }
    }
}

/// What was said in an item.
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

/// What tells the client's own words from others, so that none are said twice; nothing for a person's, who may well
/// say the same again.
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

/// What a person typed that stands inside of a result.
pub(super) fn typed(blocks: &[Block<'_>], block: usize) -> Vec<ThreadItem> {
    let is_typed = |item: &ThreadItem| by_client(blocks, *item).is_none();
    in_item(blocks, ThreadItem::Block(block)).into_iter().filter(is_typed).collect()
}

/// Words inside of a result.
pub(super) fn remark<'b, 'a>(blocks: &'b [Block<'a>], block: usize, nth: usize) -> Option<&'b Remark<'a>> {
    blocks[block].kind.result()?.remarks.get(nth)
}
