//! Rescues a recorded session: reads it, plans, keeps what is moved out, and writes a new recording that
//! the client resumes. The original is only ever read.
//!
//! A recording is gone over a few times, none of which holds it: to find the lines that count, to learn
//! what they are about, to weigh them, to keep what is moved out, and to write. Only what stands in place
//! of moved texts is held in memory.

mod claude;
mod codex;
mod destination;
mod keeping;
mod lines;
mod original;
mod splice;
mod stand_in;
mod weighing;
mod writing;

pub use destination::{Destination, NewSession};
pub use keeping::Keeper;
pub use original::{Original, cannot_read};

use std::collections::HashSet;

use infold_core::rescue::{Piece, Plan, Purpose, Receipt, Room};
use infold_core::{Counter, Family, Mentions};
use infold_wire::Problem;

use crate::failure::Refused;
use original::Span;
use stand_in::{EXAMPLE_HANDLE, Inputs, StandIns};
use weighing::Scales;

/// Most and fewest tokens that are set aside for a receipt.
const RECEIPT_TOKENS_MAX: u64 = 1_500;
const RECEIPT_TOKENS_MIN: u64 = 500;
/// A receipt takes no more of a small window than one part in so many.
const RECEIPT_SHARE: u64 = 10;

/// How much longer a receipt may become than it was thought: its figures and handles differ a little.
const RECEIPT_SLACK_TOKENS: u64 = 100;

/// A client whose sessions can be rescued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

/// A line that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Live {
    /// Its number in the original, counted from 1.
    pub number: u64,
    /// Where it stands there.
    pub span: Span,
}

/// What becomes of one part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// It goes.
    Drop,
    /// Another text stands for a result.
    Result(String),
    /// Another input stands in a call.
    Input(String),
}

impl Edit {
    /// The parts that go.
    fn dropped(edits: &[(u32, Self)]) -> HashSet<usize> {
        edits.iter().filter(|(_, edit)| *edit == Self::Drop).map(|(part, _)| *part as usize).collect()
    }
}

/// Lines that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Broken {
    /// The first of them, and what is wrong with each.
    pub first: Vec<Problem>,
    /// How many there are in all.
    pub total: u64,
}

/// On what terms a session is read.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Whose tokens to count where the recording does not name a model.
    pub family: Family,
    /// The longest line that is read.
    pub line_bytes_max: u64,
    /// Of how many lines that cannot be read it is said what is wrong with them.
    pub problems_max: usize,
    /// How a handle is read back in a shell: the handle goes after it.
    pub reader: String,
    /// What the session is written anew for.
    pub purpose: Purpose,
}

/// A session that has been read and weighed.
#[derive(Debug)]
pub struct Rescue {
    original: Original,
    client: Client,
    counter: Counter,
    live: Vec<Live>,
    pieces: Vec<Piece>,
    old_id: String,
    model: Option<String>,
    broken: Broken,
    stand_ins: StandIns,
    purpose: Purpose,
}

/// How the lines of a client are gone over.
enum Survey {
    ClaudeCode(claude::Survey),
    Codex(codex::Survey),
}

impl Rescue {
    /// Reads a session and weighs what its client would load of it.
    pub fn read(mut original: Original, client: Client, terms: &Terms) -> anyhow::Result<Self> {
        let (survey, broken) = survey(&mut original, client, terms)?;
        let (live, session, model) = match survey {
            Survey::ClaudeCode(survey) => (survey.live(), survey.session, survey.model),
            Survey::Codex(survey) => (survey.live(), survey.session, survey.model),
        };
        let counter = Counter::new(model.as_deref().map_or(terms.family, Family::of_model));
        let mut stand_ins = StandIns { reader: terms.reader.clone(), said: Mentions::default() };
        lines::each_entry(&original, client, &live, |_, entry| {
            lines::flat(&entry.items).into_iter().for_each(|item| stand_ins.note(item));
            Ok(())
        })?;
        let mut scales =
            Scales { client, counter, stand_ins: &stand_ins, inputs: Inputs::default(), last_message: None };
        let mut pieces = Vec::new();
        lines::each_entry(&original, client, &live, |line, entry| {
            pieces.extend(scales.weigh(line.number, entry));
            Ok(())
        })?;
        original.check_unchanged()?;
        if pieces.is_empty() {
            return Err(Refused::new(format!("{} holds no conversation", original.path().display()))
                .hint("is it the right file?")
                .into());
        }
        let old_id = session.unwrap_or_default();
        let purpose = terms.purpose;
        Ok(Self { original, client, counter, live, pieces, old_id, model, broken, stand_ins, purpose })
    }

    /// What the client would load, in tokens.
    pub fn before_tokens(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.tokens).sum()
    }

    /// The session's id.
    pub fn old_id(&self) -> &str {
        &self.old_id
    }

    /// The model that worked in the session.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Whose session it is.
    pub fn client(&self) -> Client {
        self.client
    }

    /// The recording.
    pub fn original(&self) -> &Original {
        &self.original
    }

    /// Lines that could not be read.
    pub fn broken(&self) -> &Broken {
        &self.broken
    }

    /// What a plan does, without the handles of what it moves out.
    pub fn receipt(&self, plan: &Plan) -> Receipt {
        Receipt { unread_lines: self.broken.total, ..Receipt::of(&self.pieces, plan) }
    }

    /// How much of a window there is for a transcript.
    pub fn room(&self, tokens: u64) -> Room {
        Room { tokens, receipt_tokens: (tokens / RECEIPT_SHARE).clamp(RECEIPT_TOKENS_MIN, RECEIPT_TOKENS_MAX) }
    }

    /// What would become of the session. The receipt gets no more of the room than it needs, which is
    /// known once there is a plan.
    pub fn plan(&self, room: Room) -> Result<Plan, Refused> {
        let planned = |room| {
            infold_core::rescue::plan(&self.pieces, room).map_err(|too_small| {
                Refused::new(too_small.to_string()).hint("give a larger --window or a smaller --reserve")
            })
        };
        let roomy = planned(room)?;
        let receipt_tokens = self.receipt_tokens(&roomy, room.receipt_tokens);
        let closer = Room { receipt_tokens: receipt_tokens.min(room.receipt_tokens), ..room };
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

/// Goes over every line once, and finds out how they hang together.
fn survey(original: &mut Original, client: Client, terms: &Terms) -> anyhow::Result<(Survey, Broken)> {
    let mut survey = match client {
        Client::ClaudeCode => Survey::ClaudeCode(claude::Survey::default()),
        Client::Codex => Survey::Codex(codex::Survey::default()),
    };
    let mut broken = Broken::default();
    let mut number = 0;
    original.each_line(terms.line_bytes_max, |span, line| {
        number += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        match checked(line) {
            Err(reason) => {
                broken.total += 1;
                if broken.first.len() < terms.problems_max {
                    broken.first.push(Problem { entry: number, reason });
                }
            }
            Ok(text) => match &mut survey {
                Survey::ClaudeCode(survey) => survey.look(number, span, text),
                Survey::Codex(survey) => survey.look(number, span, text),
            },
        }
        Ok(())
    })?;
    Ok((survey, broken))
}

/// The line as text, if it is whole JSON.
fn checked(line: &[u8]) -> Result<&str, String> {
    let text = str::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?;
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(text),
        Err(error) if error.is_eof() => Err("cut off in the middle".to_owned()),
        Err(error) => Err(format!("not JSON ({error})")),
    }
}
