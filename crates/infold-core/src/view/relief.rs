//! Relief: which results are offloaded from a view, because it does not fit the model's window or because its agent
//! asked for it.
//!
//! Only results are offloaded, and the results of one round go together: half an answer misleads more than a
//! reference does. The person's words, what branches returned and results that loaded tools always stay. Offloading
//! changes the middle of a thread, so the engine stores a restart behind it and puts in a receipt.

use std::collections::HashMap;
use std::fmt::Write;

use super::{BlockKind, ResultBlock, ViewPiece, ViewRequest};
use crate::ToolEffect;
use crate::grouped;

/// How many results a receipt lists. The references in the view name the others.
const LISTED_MAX: usize = 24;
/// How every receipt begins, and no other words of infold's.
const RECEIPT: &str = "[infold] ";

/// A view from which results are to be offloaded.
#[derive(Debug)]
pub struct Burden<'a> {
    /// The request whose blocks the pieces name.
    pub request: &'a ViewRequest<'a>,
    /// The view, as it was planned.
    pub pieces: &'a [ViewPiece],
    /// The size of each piece, in the same order.
    pub tokens: &'a [u64],
    /// The size of a reference, which replaces a result.
    pub reference_tokens: u64,
    /// How much is to be offloaded.
    pub goal: OffloadGoal,
}

/// How much is to be offloaded from a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffloadGoal {
    /// Enough that the view fits: the largest rounds go first, the newest last.
    Fit {
        /// By how much the view is too long.
        excess_tokens: u64,
    },
    /// All that is older: the newest rounds stay as long as there is room for them.
    Older {
        /// How many tokens of results stay.
        keep_tokens: u64,
        /// Whether the model knows the last round.
        last_round: LastRound,
    },
}

/// Whether the model has been sent the last round of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastRound {
    /// It has, so the round may go like any other.
    Seen,
    /// It has not, so the round stays, however long it is.
    Unseen,
}

/// Which results are to be offloaded, and what that gains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relief {
    /// The results, as indices of blocks, in order.
    pub results: Vec<usize>,
    /// By how much the view shrinks.
    pub freed_tokens: u64,
    /// By how much the view is still too long. Above 0, it does not fit even without all results that may leave it.
    /// Always 0 if the goal was another.
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
    tokens: u64,
    gain_tokens: u64,
    is_newest: bool,
}

/// Chooses the results to offload.
pub fn relieve(burden: &Burden<'_>) -> Relief {
    let rounds = rounds(burden);
    let (leaving, excess_tokens) = match burden.goal {
        OffloadGoal::Fit { excess_tokens } => (largest(rounds, excess_tokens), excess_tokens),
        OffloadGoal::Older { keep_tokens, last_round } => (older(rounds, keep_tokens, last_round), 0),
    };
    let freed_tokens = leaving.iter().map(|round| round.gain_tokens).sum();
    let mut results: Vec<usize> = leaving.into_iter().flat_map(|round| round.results).collect();
    results.sort_unstable();
    Relief { results, freed_tokens, excess_tokens: excess_tokens.saturating_sub(freed_tokens) }
}

/// Takes as many rounds as it needs to free so much.
fn largest(mut rounds: Vec<ResultRound>, excess_tokens: u64) -> Vec<ResultRound> {
    rounds.sort_by_key(|round| (round.is_newest, std::cmp::Reverse(round.gain_tokens), round.results.first().copied()));
    let mut freed_tokens = 0;
    let mut leaving = Vec::new();
    for round in rounds {
        if freed_tokens >= excess_tokens {
            break;
        }
        freed_tokens += round.gain_tokens;
        leaving.push(round);
    }
    // The last one may have freed so much that smaller ones before it can stay.
    leaving.sort_by_key(|round| (std::cmp::Reverse(round.is_newest), round.gain_tokens));
    leaving.retain(|round| {
        let can_stay = freed_tokens - round.gain_tokens >= excess_tokens;
        freed_tokens -= if can_stay { round.gain_tokens } else { 0 };
        !can_stay
    });
    leaving
}

/// Takes all rounds but the newest ones, as far as these take no more than `keep_tokens`.
fn older(mut rounds: Vec<ResultRound>, keep_tokens: u64, last_round: LastRound) -> Vec<ResultRound> {
    if last_round == LastRound::Unseen {
        rounds.retain(|round| !round.is_newest);
    }
    let mut kept_tokens = 0;
    let fits = |round: &ResultRound| {
        kept_tokens += round.tokens;
        kept_tokens <= keep_tokens
    };
    let staying = rounds.iter().rev().map(fits).take_while(|fits| *fits).count();
    rounds.truncate(rounds.len() - staying);
    rounds
}

/// The rounds of a view that offloading would shrink.
fn rounds(burden: &Burden<'_>) -> Vec<ResultRound> {
    let mut rounds = vec![ResultRound::default()];
    let blocks = burden.request.blocks;
    let calls: HashMap<&str, &str> = blocks.iter().filter_map(|block| called(&block.kind)).collect();
    for (piece, tokens) in burden.pieces.iter().zip(burden.tokens) {
        let (ViewPiece::Keep(at) | ViewPiece::Content { block: at, .. }) = piece else { continue };
        let block = &blocks[*at];
        match &block.kind {
            BlockKind::Result(result) if can_leave(result, calls.get(&*result.call)) => {
                if let Some(round) = rounds.last_mut().filter(|_| *tokens > burden.reference_tokens) {
                    round.tokens += tokens;
                    round.gain_tokens += tokens - burden.reference_tokens;
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

/// Why results were offloaded, as a receipt says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptCause {
    /// The conversation did not fit the model's window.
    TooLong,
    /// The thread's agent asked for it.
    Asked {
        /// Tokens of the prompt with the results.
        before_tokens: u64,
        /// Tokens of the prompt without them.
        after_tokens: u64,
    },
}

/// Writes the receipt, which lets the model know what was offloaded. `reader` is the tool that reads results back, as
/// the client spells it.
pub fn receipt(offloaded: &[OffloadedResult<'_>], reader: &str, cause: ReceiptCause) -> String {
    let tokens: u64 = offloaded.iter().map(|one| one.tokens).sum();
    let moved = format!("esults of {} calls ({} tokens) were moved out of it", offloaded.len(), grouped(tokens));
    let mut text = match cause {
        ReceiptCause::TooLong => {
            format!("{RECEIPT}This conversation no longer fitted the model's window. R{moved}; ")
        }
        ReceiptCause::Asked { before_tokens, after_tokens } => format!(
            "{RECEIPT}You asked for space in this conversation: r{moved}, and reasoning from before is no longer sent. It \
             had {} tokens and has {} now; ",
            grouped(before_tokens),
            grouped(after_tokens)
        ),
    };
    // Writing to a string cannot fail.
    let _ = write!(text, "references stand in their places. Nothing is lost: call {reader} with a ref_id to read one.");
    for one in offloaded.iter().take(LISTED_MAX) {
        let _ = write!(text, "\n- {}: {}, {} tokens", one.handle, one.tool, grouped(one.tokens));
    }
    if let Some(more) = offloaded.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
        let _ = write!(text, "\nand {more} more");
    }
    text
}

/// Whether words of infold's are a receipt.
pub fn is_receipt(text: &str) -> bool {
    text.starts_with(RECEIPT)
}
