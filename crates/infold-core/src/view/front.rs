//! What a client itself puts in front of a conversation: the instructions, the project's rules, the environment.
//! Branches begin with it, too.

use std::ops::Range;

use super::spoken::ThreadItem;
use super::{Block, BlockKind, Side, TranscriptStart};
use crate::transcript::Voice;

/// Where that stands.
#[derive(Debug, Clone)]
pub(super) struct ClientPreface {
    /// How many blocks come before the model's first word.
    pub blocks: usize,
    /// Where the client says it again, because it has compacted: behind the summary, with the first words after that.
    again: Range<usize>,
}

impl ClientPreface {
    /// Looks for it in a transcript.
    pub fn of(blocks: &[Block<'_>], beginning: TranscriptStart) -> Self {
        let model_from = |from: usize| {
            blocks[from..]
                .iter()
                .position(|block| block.kind.side() == Side::Model)
                .map_or(blocks.len(), |at| from + at)
        };
        let front = model_from(0);
        let is_said = |block: &&Block<'_>| matches!(block.kind, BlockKind::User { voice: Voice::Person });
        let has_words = blocks[..front].iter().filter(is_said).count() > 1;
        let end = match beginning {
            TranscriptStart::Summary if !has_words => {
                let said = blocks[front..].iter().position(|block| is_said(&block));
                said.map_or(blocks.len(), |at| model_from(front + at))
            }
            TranscriptStart::Summary | TranscriptStart::Words => front,
        };
        Self { blocks: front, again: front..end }
    }

    /// Whether a branch takes an item along from a thread above it: instructions, wherever they stand, and what else
    /// the client says here.
    pub fn is_taken_along(&self, blocks: &[Block<'_>], item: ThreadItem) -> bool {
        match item {
            ThreadItem::Block(at) => match &blocks[at].kind {
                BlockKind::Instruction => true,
                BlockKind::User { voice: Voice::Client } => at < self.again.end,
                BlockKind::User { voice: Voice::Person }
                | BlockKind::Assistant
                | BlockKind::Reasoning
                | BlockKind::Call(_)
                | BlockKind::Result(_)
                | BlockKind::Attachment
                | BlockKind::Other { .. } => false,
            },
            ThreadItem::Remark { block, .. } => self.again.contains(&block),
            ThreadItem::Quote(_) | ThreadItem::Words(_) => false,
        }
    }
}
