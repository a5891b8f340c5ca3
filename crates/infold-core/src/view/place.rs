//! Places in front of words, found again in a transcript that has grown.
//!
//! People say the same words again and again, and so do clients. What tells one time from another is the last
//! result in front, whose call's id is used once, and how often the same was said since.

use super::{Anchor, Block, BlockKey, BlockKind};

/// The place in front of a block.
pub(super) fn before(blocks: &[Block<'_>], at: usize) -> Anchor {
    Anchor::Before { block: key(blocks, at) }
}

/// Where a transcript ends whose last turn begins at a block: behind its last result, unless the model has said
/// something since. The place stays where it is when the transcript grows.
pub(super) fn end(blocks: &[Block<'_>], last_turn: usize) -> Option<Anchor> {
    let last = blocks.iter().rev().find_map(|block| match &block.kind {
        BlockKind::Result(result) => Some(Anchor::After { call: result.call.clone().into_owned() }),
        _ => None,
    });
    let has_results = blocks[last_turn..].iter().any(|block| matches!(block.kind, BlockKind::Result(_)));
    let said = (!has_results && last_turn < blocks.len()).then(|| before(blocks, last_turn));
    said.or(last)
}

/// The first block behind a place, if the transcript has it.
pub(super) fn find(blocks: &[Block<'_>], place: &Anchor) -> Option<usize> {
    match place {
        Anchor::After { call } => {
            let is_it = |block: &Block<'_>| matches!(&block.kind, BlockKind::Result(result) if result.call == *call);
            blocks.iter().rposition(is_it).map(|at| at + 1)
        }
        Anchor::Before { block } => (0..blocks.len()).find(|&at| key(blocks, at) == *block),
    }
}

/// What tells the place in front of a block from all others.
pub(super) fn key(blocks: &[Block<'_>], at: usize) -> BlockKey {
    let mut said_before: u64 = 0;
    let mut last_result = None;
    for block in blocks[..at].iter().rev() {
        if let BlockKind::Result(result) = &block.kind {
            last_result = Some(result);
            break;
        }
        said_before += u64::from(block.key == blocks[at].key);
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(&blocks[at].key.0);
    hasher.update(&said_before.to_le_bytes());
    last_result.into_iter().for_each(|result| {
        hasher.update(result.call.as_bytes());
    });
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    BlockKey(bytes)
}
