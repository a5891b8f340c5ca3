//! Overflow: what has to leave a view that does not fit the model's window.
//!
//! Only results leave, and the results of one round leave together: half an answer misleads more than a
//! reference does. The largest go first, those of the newest round last. The person's words, what branches
//! returned and what made tools known always stay. Moving them out edits the middle of a thread, so the
//! thread is started anew behind it, with a receipt.

use std::collections::HashMap;
use std::fmt::Write;

use super::{BlockKind, ResultBlock, ViewPiece, ViewRequest};
use crate::ToolEffect;
use crate::grouped;

/// How many results a receipt lists. The others can be seen where they stood.
const LISTED_MAX: usize = 24;

/// A view that does not fit.
#[derive(Debug)]
pub struct Overflow<'a> {
    /// The request.
    pub request: &'a ViewRequest<'a>,
    /// What is sent of it.
    pub pieces: &'a [ViewPiece],
    /// What each of these takes.
    pub tokens: &'a [u64],
    /// What a reference takes that stands for a result.
    pub reference_tokens: u64,
    /// What there is too much.
    pub excess_tokens: u64,
}

/// What leaves a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relief {
    /// The results, as indices of blocks, in order.
    pub results: Vec<usize>,
    /// By how much the view shrinks.
    pub freed_tokens: u64,
    /// What there is still too much: the view does not fit without its newest words, its tools or what
    /// branches returned.
    pub excess_tokens: u64,
}

/// A result that was moved out.
#[derive(Debug, Clone, Copy)]
pub struct MovedOut<'a> {
    /// The tool that gave it.
    pub tool: &'a str,
    /// Where it is.
    pub handle: &'a str,
    /// What it took.
    pub tokens: u64,
}

/// The results of one round.
#[derive(Debug, Default)]
struct ResultRound {
    results: Vec<usize>,
    gain_tokens: u64,
    is_newest: bool,
}

/// Chooses what leaves.
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

/// The rounds of a view, each with the results that can leave.
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

/// Whether a result may be moved out: not if a branch could no longer be told from it, or a tool called.
fn can_leave(result: &ResultBlock<'_>, tool: Option<&&str>) -> bool {
    let verb = tool.and_then(|tool| ToolEffect::of(tool));
    result.loads.is_empty() && matches!(verb, None | Some(ToolEffect::Read))
}

/// A call's id and tool.
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

/// What the model is told of it. `reader` is the tool that reads results back, as the client spells it.
pub fn receipt(moved: &[MovedOut<'_>], reader: &str) -> String {
    let tokens: u64 = moved.iter().map(|one| one.tokens).sum();
    let mut text = format!(
        "[infold] This conversation no longer fitted the model's window. Results of {} calls ({} tokens) were moved \
         out of it; references stand in their places. Nothing is lost: call {reader} with a ref_id to read one.",
        moved.len(),
        grouped(tokens)
    );
    for one in moved.iter().take(LISTED_MAX) {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- {}: {}, {} tokens", one.handle, one.tool, grouped(one.tokens));
    }
    if let Some(more) = moved.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
        let _ = write!(text, "\nand {more} more");
    }
    text
}
