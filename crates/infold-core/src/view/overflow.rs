//! Overflow: which results are offloaded from a view that does not fit the model's window.
//!
//! Only results are offloaded, and the results of one round go together: half an answer misleads more than a
//! reference does. The largest rounds go first, the newest last. The person's words, what branches returned and
//! results that loaded tools always stay. Offloading changes the middle of a thread, so the engine stores a restart
//! behind it and puts in a receipt.

use std::collections::HashMap;
use std::fmt::Write;

use super::{BlockKind, ResultBlock, ViewPiece, ViewRequest};
use crate::ToolEffect;
use crate::grouped;

/// How many results a receipt lists. The references in the view name the others.
const LISTED_MAX: usize = 24;

/// A view that does not fit the model's window.
#[derive(Debug)]
pub struct Overflow<'a> {
    /// The request whose blocks the pieces name.
    pub request: &'a ViewRequest<'a>,
    /// The view, as it was planned.
    pub pieces: &'a [ViewPiece],
    /// The size of each piece, in the same order.
    pub tokens: &'a [u64],
    /// The size of a reference, which replaces a result.
    pub reference_tokens: u64,
    /// By how much the view is too long.
    pub excess_tokens: u64,
}

/// Which results are to be offloaded, and what that gains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relief {
    /// The results, as indices of blocks, in order.
    pub results: Vec<usize>,
    /// By how much the view shrinks.
    pub freed_tokens: u64,
    /// By how much the view is still too long. Above 0, it does not fit even without all results that may leave it.
    pub excess_tokens: u64,
}

/// A result that was offloaded, as a receipt lists it.
#[derive(Debug, Clone, Copy)]
pub struct OffloadedResult<'a> {
    /// The tool that gave it.
    pub tool: &'a str,
    /// The `ref_id` by which it can be read.
    pub handle: &'a str,
    /// Its size in the view before.
    pub tokens: u64,
}

/// The results of one round that may leave the view.
#[derive(Debug, Default)]
struct ResultRound {
    results: Vec<usize>,
    gain_tokens: u64,
    is_newest: bool,
}

/// Chooses the results to offload.
pub fn overflow(overflow: &Overflow<'_>) -> Relief {
    let mut rounds = rounds(overflow);
    rounds.sort_by_key(|round| (round.is_newest, std::cmp::Reverse(round.gain_tokens), round.results.first().copied()));

    let mut freed_tokens = 0;
    let mut leaving = Vec::new();
    for round in rounds {
        if freed_tokens >= overflow.excess_tokens {
            break;
        }
        freed_tokens += round.gain_tokens;
        leaving.push(round);
    }
    // The last one may have freed so much that smaller ones before it can stay.
    leaving.sort_by_key(|round| (std::cmp::Reverse(round.is_newest), round.gain_tokens));
    leaving.retain(|round| {
        let can_stay = freed_tokens - round.gain_tokens >= overflow.excess_tokens;
        freed_tokens -= if can_stay { round.gain_tokens } else { 0 };
        !can_stay
    });

    let mut results: Vec<usize> = leaving.into_iter().flat_map(|round| round.results).collect();
    results.sort_unstable();
    Relief { results, freed_tokens, excess_tokens: overflow.excess_tokens.saturating_sub(freed_tokens) }
}

/// The rounds of a view that offloading would shrink.
fn rounds(overflow: &Overflow<'_>) -> Vec<ResultRound> {
    let mut rounds = vec![ResultRound::default()];
    let blocks = overflow.request.blocks;
    let calls: HashMap<&str, &str> = blocks.iter().filter_map(|block| called(&block.kind)).collect();
    for (piece, tokens) in overflow.pieces.iter().zip(overflow.tokens) {
        let (ViewPiece::Keep(at) | ViewPiece::Content { block: at, .. }) = piece else { continue };
        let block = &blocks[*at];
        match &block.kind {
            BlockKind::Result(result) if can_leave(result, calls.get(&*result.call)) => {
                if let Some(round) = rounds.last_mut().filter(|_| *tokens > overflow.reference_tokens) {
                    round.gain_tokens += tokens - overflow.reference_tokens;
                    round.results.push(*at);
                }
            }
            kind if kind.side() == super::Side::Model => rounds.push(ResultRound::default()),
            _ => {}
        }
    }
    if let Some(newest) = rounds.last_mut() {
        newest.is_newest = true;
    }
    rounds.retain(|round| round.gain_tokens > 0);
    rounds
}

/// Whether a result may be offloaded: not if it loaded tools, or says what became of a branch.
fn can_leave(result: &ResultBlock<'_>, tool: Option<&&str>) -> bool {
    let effect = tool.and_then(|tool| ToolEffect::of(tool));
    result.loads.is_empty() && matches!(effect, None | Some(ToolEffect::Read))
}

/// The id and the tool of a call.
fn called<'a>(kind: &'a BlockKind<'_>) -> Option<(&'a str, &'a str)> {
    match kind {
        BlockKind::Call(call) => Some((&call.id, &call.tool)),
        BlockKind::Instruction
        | BlockKind::User { .. }
        | BlockKind::Assistant
        | BlockKind::Reasoning
        | BlockKind::Result(_)
        | BlockKind::Attachment
        | BlockKind::Other { .. } => None,
    }
}

/// Writes the receipt, which lets the model know what was offloaded. `reader` is the tool that reads results back, as
/// the client spells it.
pub fn receipt(offloaded: &[OffloadedResult<'_>], reader: &str) -> String {
    let tokens: u64 = offloaded.iter().map(|one| one.tokens).sum();
    let mut text = format!(
        "[infold] This conversation no longer fitted the model's window. Results of {} calls ({} tokens) were moved \
         out of it; references stand in their places. Nothing is lost: call {reader} with a ref_id to read one.",
        offloaded.len(),
        grouped(tokens)
    );
    for one in offloaded.iter().take(LISTED_MAX) {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- {}: {}, {} tokens", one.handle, one.tool, grouped(one.tokens));
    }
    if let Some(more) = offloaded.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
        let _ = write!(text, "\nand {more} more");
    }
    text
}
