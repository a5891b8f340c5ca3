//! Rescues a recorded session: reads it, plans, keeps what is moved out, and writes a new recording that
//! the client resumes. The original is only ever read.
//!
//! A recording is gone over a few times, none of which holds it: to find the lines that count, to learn
//! what they are about, to weigh them, to keep what is moved out, and to write. Only what stands in place
//! of moved texts is held in memory.

mod destination;
mod keeping;
mod lines;
mod original;
mod stand_in;
mod weighing;
mod writing;

pub use destination::Destination;
pub use keeping::Keeper;
pub use original::Original;

use infold_core::rescue::{Plan, Purpose, Receipt, RescuePiece, RescueRoom};
use infold_core::{Counter, Family, Mentions};
use infold_wire::{Format, ReadLimits, RescueClient, ResumedSession};

use crate::failure::Refused;
use stand_in::{EXAMPLE_HANDLE, Inputs, StandIns};
use weighing::Scales;

/// Most and fewest tokens that are set aside for a receipt.
const RECEIPT_TOKENS_MAX: u64 = 1_500;
const RECEIPT_TOKENS_MIN: u64 = 500;
/// A receipt takes no more of a small window than one part in so many.
const RECEIPT_SHARE: u64 = 10;

/// How much longer a receipt may become than it was thought: its figures and handles differ a little.
const RECEIPT_SLACK_TOKENS: u64 = 100;

/// On what terms a session is read.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The form that the recording is said to have.
    pub format: Option<Format>,
    /// Whose tokens to count where the recording does not name a model.
    pub family: Family,
    /// The longest line that is read, and of how many lines that cannot be read it is said what is wrong.
    pub limits: ReadLimits,
    /// How a handle is read back in a shell: the handle goes after it.
    pub reader: String,
    /// What the session is written anew for.
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
        let mut stand_ins = StandIns { reader: terms.reader, said: Mentions::default() };
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

    /// What the client would load, in tokens.
    pub fn before_tokens(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.tokens).sum()
    }

    /// The session.
    pub fn session(&self) -> &ResumedSession {
        &self.session
    }

    /// Whose session it is.
    pub fn client(&self) -> RescueClient {
        self.client
    }

    /// The recording.
    pub fn original(&self) -> &Original {
        &self.original
    }

    /// What a plan does, without the handles of what it moves out.
    pub fn receipt(&self, plan: &Plan) -> Receipt {
        Receipt { unread_lines: self.session.problems_total, ..Receipt::of(&self.pieces, plan) }
    }

    /// How much of a window there is for a transcript.
    pub fn room(&self, tokens: u64) -> RescueRoom {
        RescueRoom { tokens, receipt_tokens: (tokens / RECEIPT_SHARE).clamp(RECEIPT_TOKENS_MIN, RECEIPT_TOKENS_MAX) }
    }

    /// What would become of the session. The receipt gets no more of the room than it needs, which is
    /// known once there is a plan.
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
        // With more room other things happen, and their receipt can be longer.
        let left_tokens = room.tokens.saturating_sub(close.after_tokens);
        let fits = self.receipt_tokens(&close, left_tokens.saturating_sub(RECEIPT_SLACK_TOKENS)) <= left_tokens;
        Ok(if fits { close } else { roomy })
    }

    /// What the receipt of a plan takes, about, if it is kept to `tokens_max`.
    fn receipt_tokens(&self, plan: &Plan, tokens_max: u64) -> u64 {
        let mut receipt = self.receipt(plan);
        for moved in receipt.offloaded.iter_mut().chain(&mut receipt.shortened) {
            moved.handle = EXAMPLE_HANDLE.to_owned();
        }
        self.counter.count(&self.receipt_text(&receipt, tokens_max)) + RECEIPT_SLACK_TOKENS
    }
}
