//! Rescue: the largest transcript that fits a window, out of one that does not.
//!
//! [`plan`] looks at what each piece of a context costs and says what becomes of it. The person's
//! words always stay, also where they answer a tool. Reasoning always goes, because it was made on
//! what came before it, and that changes. Then, only as far as needed: the largest results are
//! offloaded, long inputs of calls are shortened, the oldest exchanges are left out, and last what
//! the client said on its own account. What turns out to fit after all is put back.
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
pub use receipt::{LeftOut, OffloadedPiece, Purpose, Receipt, ReceiptWords, Tally};

use crate::transcript::ItemPosition;

/// One item of a context, with what it costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RescuePiece {
    /// Where in the recording it was read.
    pub place: ItemPosition,
    /// Its message: pieces in a row with the same number are one message.
    pub message: u64,
    /// Its size as it is.
    pub tokens: u64,
    /// Who said it, and by how much it can shrink.
    pub part: RescuePart,
}

/// What kind of item a piece is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RescuePart {
    /// The person's words, and what they attached.
    Person,
    /// The summary of what was compacted away.
    Summary,
    /// What the client said on its own account.
    Client,
    /// What the model says to the person.
    Model,
    /// The model's reasoning, which never stays.
    Reasoning,
    /// The model calls a tool.
    Call {
        /// The id that its result names.
        id: String,
        /// The tool's name, as the client spells it.
        tool: String,
        /// Its size with a shortened input; `None` if that would not be smaller.
        short_tokens: Option<u64>,
    },
    /// What a tool gave for a call.
    Result {
        /// The id of its call.
        id: String,
        /// The tool's name, as the client spells it.
        tool: String,
        /// The size of the reference that would replace it; `None` if that would not be smaller.
        short_tokens: Option<u64>,
        /// Whether the tool or a person gave it.
        speaks: Speaks,
    },
}

/// Whose words a result holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// What the tool printed.
    Tool,
    /// A person answers a tool's question, or says why a call was refused: the result stays as it is, and so does the
    /// exchange that it is in.
    Person,
}

impl RescuePiece {
    /// Its size at its smallest, if it stays.
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

/// How large the rescued transcript may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RescueRoom {
    /// The most tokens that it may have, with the receipt.
    pub tokens: u64,
    /// How many of them are reserved for the receipt.
    pub receipt_tokens: u64,
}

/// What becomes of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It stays as it is.
    Kept,
    /// A reference replaces the result, which is stored.
    Offloaded,
    /// A shorter input replaces the call's input, which is stored.
    Shortened,
    /// It is left out.
    Dropped(DropReason),
}

/// Why a piece is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// It is reasoning, made on a context that has changed since.
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
    /// One for each piece, in the same order.
    pub fates: Vec<Fate>,
    /// For each piece its exchange, counted from 0; `None` for the person's turns.
    pub exchanges: Vec<Option<usize>>,
    /// The size of all pieces before.
    pub before_tokens: u64,
    /// The size of what is left of them, without the receipt.
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
    /// The most tokens that the transcript may have.
    pub room_tokens: u64,
    /// The size of the person's turns, and of exchanges in which a person answers a tool.
    pub person_tokens: u64,
    /// The size of the summaries of earlier compactions.
    pub summary_tokens: u64,
    /// The size of the last exchange at its smallest.
    pub last_exchange_tokens: u64,
    /// The tokens that are reserved for the receipt.
    pub receipt_tokens: u64,
}

impl TooSmall {
    /// The size of all that has to stay.
    pub fn floor_tokens(&self) -> u64 {
        self.person_tokens + self.summary_tokens + self.last_exchange_tokens + self.receipt_tokens
    }
}

/// Decides what becomes of each piece, so that as much as possible stays and all of it fits.
///
/// # Errors
///
/// If what has to stay does not fit.
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

/// Checks that the room is enough for what has to stay.
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
