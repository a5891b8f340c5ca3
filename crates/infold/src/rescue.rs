//! Rescues a recorded session: reads it, plans, offloads long texts, and writes a new recording that the client
//! resumes. The original is only ever read.
//!
//! A recording is read several times, and never held as a whole: to find the lines that the client loads, to learn
//! which names they mention, to weigh them, to offload texts, and to write. Memory holds only the stand-ins of
//! offloaded texts.

mod destination;
mod lines;
mod offload;
mod original;
mod stand_in;
mod weighing;
mod writing;

pub use destination::Destination;
pub use offload::Offloader;
pub use original::Original;

use infold_core::rescue::{Plan, Purpose, Receipt, RescuePiece, RescueRoom};
use infold_core::{Counter, Family, Mentions};
use infold_wire::{Format, ReadLimits, RescueClient, ResumedSession};

use crate::failure::Refused;
use stand_in::{EXAMPLE_HANDLE, Inputs, StandIns};
use weighing::Scales;

/// Most and fewest tokens that are reserved for a receipt.
const RECEIPT_TOKENS_MAX: u64 = 1_500;
const RECEIPT_TOKENS_MIN: u64 = 500;
/// A receipt takes at most this fraction of the room, as a divisor: a tenth.
const RECEIPT_SHARE: u64 = 10;

/// How much longer a receipt may be than estimated, because its figures and handles differ a little.
const RECEIPT_SLACK_TOKENS: u64 = 100;

/// How a session is read, and what for.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The form of the recording, if the user named one; otherwise it is detected.
    pub format: Option<Format>,
    /// The family whose tokens are counted if the recording does not name a model.
    pub family: Family,
    /// The longest line that is read, and for how many unreadable lines the problem is reported.
    pub limits: ReadLimits,
    /// The shell command that reads a handle back, without the handle itself.
    pub reader: String,
    /// Why a new recording is written: to fit the window, or to get rid of reasoning.
    pub purpose: Purpose,
}

/// A session that has been read and weighed.
#[derive(Debug)]
pub struct Rescue {
    original: Original,
    client: RescueClient,
    counter: Counter,
    session: ResumedSession,
    pieces: Vec<RescuePiece>,
    stand_ins: StandIns,
    purpose: Purpose,
}

impl Rescue {
    /// Reads a session and weighs what its client would load of it.
    pub fn read(original: Original, terms: Terms) -> anyhow::Result<Self> {
        let (client, session) = original.session(terms.format, terms.limits)?;
        let counter = Counter::new(session.model.as_deref().map_or(terms.family, Family::of_model));
        let mut stand_ins = StandIns { reader: terms.reader, mentions: Mentions::default() };
        lines::each_entry(&original, client, &session.lines, |_, entry| {
            lines::flat(&entry.items).into_iter().for_each(|item| stand_ins.note(item));
            Ok(())
        })?;
        let mut scales =
            Scales { client, counter, stand_ins: &stand_ins, inputs: Inputs::default(), last_message: None };
        let mut pieces = Vec::new();
        lines::each_entry(&original, client, &session.lines, |line, entry| {
            pieces.extend(scales.weigh(line.number, entry));
            Ok(())
        })?;
        original.check_unchanged()?;
        if pieces.is_empty() {
            return Err(Refused::new(format!("{} holds no conversation", original.path().display()))
                .hint("is it the right file?")
                .into());
        }
        Ok(Self { original, client, counter, session, pieces, stand_ins, purpose: terms.purpose })
    }

    /// Tokens of everything that the client would load from the original.
    pub fn before_tokens(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.tokens).sum()
    }

    /// Which lines the client loads, and what is known of the session.
    pub fn session(&self) -> &ResumedSession {
        &self.session
    }

    /// The client that recorded the session.
    pub fn client(&self) -> RescueClient {
        self.client
    }

    /// The recording that is rescued.
    pub fn original(&self) -> &Original {
        &self.original
    }

    /// The receipt of a plan, without the handles of what it offloads.
    pub fn receipt(&self, plan: &Plan) -> Receipt {
        Receipt { unread_lines: self.session.problems_total, ..Receipt::of(&self.pieces, plan) }
    }

    /// Divides the tokens that are left of a window between the transcript and the receipt.
    pub fn room(&self, tokens: u64) -> RescueRoom {
        RescueRoom { tokens, receipt_tokens: (tokens / RECEIPT_SHARE).clamp(RECEIPT_TOKENS_MIN, RECEIPT_TOKENS_MAX) }
    }

    /// Plans what becomes of each piece. The receipt gets no more of the room than it needs, which is known only once
    /// there is a plan, so a second plan is made with that.
    pub fn plan(&self, room: RescueRoom) -> Result<Plan, Refused> {
        let planned = |room| {
            infold_core::rescue::plan(&self.pieces, room).map_err(|too_small| {
                Refused::new(too_small.to_string()).hint("give a larger --window or a smaller --reserve")
            })
        };
        let roomy = planned(room)?;
        let receipt_tokens = self.receipt_tokens(&roomy, room.receipt_tokens);
        let closer = RescueRoom { receipt_tokens: receipt_tokens.min(room.receipt_tokens), ..room };
        let close = planned(closer)?;
        // With more room the plan is another one, and its receipt can be longer.
        let left_tokens = room.tokens.saturating_sub(close.after_tokens);
        let fits = self.receipt_tokens(&close, left_tokens.saturating_sub(RECEIPT_SLACK_TOKENS)) <= left_tokens;
        Ok(if fits { close } else { roomy })
    }

    /// About how many tokens the receipt of a plan takes, if it may take at most `tokens_max`.
    fn receipt_tokens(&self, plan: &Plan, tokens_max: u64) -> u64 {
        let mut receipt = self.receipt(plan);
        for moved in receipt.offloaded.iter_mut().chain(&mut receipt.shortened) {
            moved.handle = EXAMPLE_HANDLE.to_owned();
        }
        self.counter.count(&self.receipt_text(&receipt, tokens_max)) + RECEIPT_SLACK_TOKENS
    }
}
