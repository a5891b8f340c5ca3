//! The client's preface: what it puts in front of a conversation itself, such as instructions, the project's rules and
//! the environment. Branches begin with it, too.

use std::ops::Range;

use super::spoken::ThreadItem;
use super::{Block, BlockKind, Side, TranscriptStart};
use crate::transcript::Voice;

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
