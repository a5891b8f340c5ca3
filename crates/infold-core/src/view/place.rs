//! Anchors: places in a transcript that are found again when it has grown.
//!
//! People say the same words again and again, and so do clients. One time is distinguished from another by the last
//! result in front, whose call's id is used once, and by how often the same was said since.

use super::{Anchor, Block, BlockKey, BlockKind};

pub(super) fn before(blocks: &[Block<'_>], at: usize) -> Anchor {
    Anchor::Before { block: key(blocks, at) }
}

/// `None` if the block is not a result.
pub(super) fn after_result(blocks: &[Block<'_>], at: usize) -> Option<Anchor> {
    let result = blocks[at].kind.result()?;
    Some(Anchor::After { call: result.call.clone().into_owned() })
}

/// Where a transcript ends: in front of the words of its last turn, or behind its last result if that turn has results
/// or no blocks. The place stays where it is when the transcript grows. `last_turn` is the turn's first block.
pub(super) fn end(blocks: &[Block<'_>], last_turn: usize) -> Option<Anchor> {
    let has_results = blocks[last_turn..].iter().any(|block| block.kind.result().is_some());
    let words = (!has_results && last_turn < blocks.len()).then(|| before(blocks, last_turn));
    words.or_else(|| (0..blocks.len()).rev().find_map(|at| after_result(blocks, at)))
}

/// The index of the first block behind a place; `None` if the transcript does not have the place.
pub(super) fn find(blocks: &[Block<'_>], place: &Anchor) -> Option<usize> {
    match place {
        Anchor::After { call } => {
            let is_it = |block: &Block<'_>| matches!(&block.kind, BlockKind::Result(result) if result.call == *call);
            blocks.iter().rposition(is_it).map(|at| at + 1)
        }
        Anchor::Before { block } => (0..blocks.len()).find(|&at| key(blocks, at) == *block),
    }
}

/// Identifies the place in front of a block, among all places of the transcript.
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
