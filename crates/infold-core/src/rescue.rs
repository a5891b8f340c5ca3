//! Rescue: the largest transcript that fits a window, out of one that does not.
//!
//! [`plan`] looks at what each piece of a context costs and says what becomes of it. The person's
//! words always stay, also where they answer a tool. Reasoning always goes, because it was made on what stood before it and that
//! changes. Then, only as far as needed: the largest results are offloaded, long inputs of calls are
//! shortened, the oldest exchanges are left out, and last what the client said on its own account.
//! What turns out to fit after all is put back.
//!
//! What must hold: a plan fits, or there is none and [`TooSmall`] says what cannot shrink; a call and
//! its result stay or go together; the order never changes; the same pieces give the same plan.

mod exchanges;
mod input;
mod receipt;
mod shrink;

#[cfg(test)]
mod tests;

pub use input::shorten_input;
pub use receipt::{LeftOut, Moved, Purpose, Receipt, ReceiptWords, Tally};

use crate::transcript::ItemPosition;

/// One item of a context, by what it costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RescuePiece {
    /// Where it was read.
    pub place: ItemPosition,
    /// Which message it is in: pieces in a row with the same number are one.
    pub message: u64,
    /// What it takes as it is.
    pub tokens: u64,
    /// What it is.
    pub part: RescuePart,
}

/// What a piece is, as far as a rescue cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RescuePart {
    /// The person's words, and what they attached.
    Person,
    /// The summary of what was compacted away.
    Summary,
    /// What the client said on its own account.
    Client,
    /// What the model said.
    Model,
    /// What the model thought.
    Reasoning,
    /// A call.
    Call {
        /// Its id.
        id: String,
        /// The tool.
        tool: String,
        /// What it takes with its input shortened, if that helps.
        short_tokens: Option<u64>,
    },
    /// A result.
    Result {
        /// The id of its call.
        id: String,
        /// The tool.
        tool: String,
        /// What the reference takes that would stand for it, if that helps.
        short_tokens: Option<u64>,
        /// Who speaks in it: a person who answers a tool's question or says why a call was refused.
        speaks: Speaks,
    },
}

/// Who speaks in a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// The tool.
    Tool,
    /// A person: the result stays as it is, and so does the exchange that it is in.
    Person,
}

impl RescuePiece {
    /// What it takes at its smallest, if it stays.
    fn least_tokens(&self) -> u64 {
        match &self.part {
            RescuePart::Call { short_tokens, .. } | RescuePart::Result { short_tokens, .. } => {
                short_tokens.map_or(self.tokens, |short_tokens| short_tokens.min(self.tokens))
            }
            RescuePart::Person
            | RescuePart::Summary
            | RescuePart::Client
            | RescuePart::Model
            | RescuePart::Reasoning => self.tokens,
        }
    }
}

/// How much there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RescueRoom {
    /// What the transcript may take in all.
    pub tokens: u64,
    /// What of it is for the receipt.
    pub receipt_tokens: u64,
}

/// What becomes of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It stays as it is.
    Kept,
    /// A result is kept elsewhere, and a reference stands for it.
    Offloaded,
    /// A call's input is kept elsewhere, and a shorter one stands for it.
    Shortened,
    /// It goes.
    Dropped(Why),
}

/// Why a piece goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It is reasoning, made on a context that is no longer what it was.
    Reasoning,
    /// It is a call without a result, or a result without a call.
    Unpaired,
    /// There was no room for its exchange.
    Exchange,
    /// There was no room for what the client said on its own account.
    Client,
}

/// What becomes of every piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// For each piece, in their order.
    pub fates: Vec<Fate>,
    /// Which exchange each piece belongs to, counted from 0; none for the person's turns.
    pub exchanges: Vec<Option<usize>>,
    /// What the pieces took before.
    pub before_tokens: u64,
    /// What they take now, without the receipt.
    pub after_tokens: u64,
}

/// The window is too small for what has to stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{room_tokens} tokens are left for the transcript, and what has to stay needs {}: the user's turns {person_tokens}, \
     summaries of what was compacted before {summary_tokens}, the last exchange {last_exchange_tokens}, the receipt \
     {receipt_tokens}",
    self.floor_tokens()
)]
pub struct TooSmall {
    /// What there is.
    pub room_tokens: u64,
    /// What the person's turns take.
    pub person_tokens: u64,
    /// What summaries take.
    pub summary_tokens: u64,
    /// What the last exchange takes at its smallest.
    pub last_exchange_tokens: u64,
    /// What the receipt takes.
    pub receipt_tokens: u64,
}

impl TooSmall {
    /// What has to stay, in all.
    pub fn floor_tokens(&self) -> u64 {
        self.person_tokens + self.summary_tokens + self.last_exchange_tokens + self.receipt_tokens
    }
}

/// Says what becomes of each piece, so that as much as possible stays and all of it fits.
///
/// # Errors
///
/// Where what has to stay does not fit.
pub fn plan(pieces: &[RescuePiece], room: RescueRoom) -> Result<Plan, TooSmall> {
    let exchanges = exchanges::find(pieces);
    check_floor(pieces, &exchanges, room)?;

    let mut draft = shrink::ShrinkDraft::new(pieces, &exchanges, room);
    draft.offload_results();
    draft.shorten_inputs();
    draft.drop_exchanges();
    draft.drop_client_words();
    draft.put_back();

    Ok(Plan {
        before_tokens: pieces.iter().map(|piece| piece.tokens).sum(),
        after_tokens: draft.tokens(),
        fates: draft.into_fates(),
        exchanges: exchanges.of_piece,
    })
}

/// Whether the least that can be kept fits.
fn check_floor(pieces: &[RescuePiece], exchanges: &exchanges::Exchanges, room: RescueRoom) -> Result<(), TooSmall> {
    let mut floor = TooSmall {
        room_tokens: room.tokens,
        person_tokens: 0,
        summary_tokens: 0,
        last_exchange_tokens: 0,
        receipt_tokens: room.receipt_tokens,
    };
    for (at, piece) in pieces.iter().enumerate() {
        match piece.part {
            RescuePart::Person => floor.person_tokens += piece.tokens,
            RescuePart::Summary => floor.summary_tokens += piece.tokens,
            RescuePart::Reasoning | RescuePart::Client => {}
            RescuePart::Model | RescuePart::Call { .. } | RescuePart::Result { .. } if exchanges.is_last(at) => {
                floor.last_exchange_tokens += piece.least_tokens();
            }
            RescuePart::Model | RescuePart::Call { .. } | RescuePart::Result { .. }
                if exchanges.is_answered_by_person(at) =>
            {
                floor.person_tokens += piece.least_tokens();
            }
            RescuePart::Model | RescuePart::Call { .. } | RescuePart::Result { .. } => {}
        }
    }
    if floor.floor_tokens() <= room.tokens { Ok(()) } else { Err(floor) }
}
