//! The `recall` profile: a fork that spends its budget on what agents were found to use again.
//!
//! Unlike the `seed` profile, it ranks pieces by their worth and not by their place. A compaction's
//! summary stays, but what came before it can still be shown, because it is used again too. Results
//! are not cut by their age alone: calls keep all their parameters, files that were looked at outlast
//! other output, a line is shown once, and of what finds no room the lines with new names stay.
//! `infold replay` measures this profile against a plain tail of the same size.
//!
//! What must hold: the context is never longer than the budget; the person's words stay as they are,
//! within a quarter of it; no call is shown without its result or a note in its place; nothing is
//! cut inside a character; the memory held depends on the budget and not on the transcript.

mod choose;
mod lines;
mod outline;
mod piece;
mod preamble;
mod window;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use self::choose::{Choices, Extent, call_of, choose};
use self::lines::MARK;
use self::piece::{Alone, Link, Piece};
use self::window::Window;
use super::truncate::count;
use crate::transcript::{Item, Kind};

pub use preamble::build_recall_preamble;

/// The first line of a context, which explains the marks in it.
const LEGEND: &str = "(…: left out here, or standing elsewhere in this text. …[N chars]: so much left out. \
                      →: what the call gave. Of older line numbers every fifth is kept.)";
/// A smaller budget goes without the legend.
const LEGEND_BUDGET_CHARS_MIN: usize = 2_000;

/// What a fork of this profile did to a transcript, in figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecallStats {
    /// Messages of the transcript.
    pub messages: usize,
    /// Messages of which something is shown.
    pub messages_shown: usize,
    /// Characters of the context.
    pub total_chars: usize,
    /// The message with the latest summary, counted from 0; `None` if there was none.
    pub summary_message: Option<usize>,
    /// Results of the transcript.
    pub results: usize,
    /// Results shown whole, except for lines that another piece of the context shows.
    pub results_whole: usize,
    /// Results of which a part is shown.
    pub results_in_part: usize,
}

/// What a child gets to see of the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallContext {
    /// The chosen pieces as text, without a preamble.
    pub context: String,
    /// How much of the transcript is in it.
    pub stats: RecallStats,
}

/// A fork of this profile in the making: give it the items of a transcript in order.
#[derive(Debug)]
pub struct Recall {
    budget_chars: usize,
    window: Window,
    /// The transcript's number for the current message; `None` behind a compaction.
    current: Option<u64>,
    stats: RecallStats,
}

impl Recall {
    /// Begins a fork whose context may have this many characters.
    pub fn new(budget_chars: usize) -> Self {
        Self { budget_chars, window: Window::new(budget_chars), current: None, stats: RecallStats::default() }
    }

    /// Takes the next item of the transcript.
    pub fn push(&mut self, item: Item) {
        // A compaction is a message of its own, whatever number it carries, as in the other profile.
        let number = (!matches!(item.kind, Kind::Compaction { .. })).then_some(item.message);
        if number.is_none() || number != self.current {
            self.stats.messages += 1;
            self.current = number;
        }
        match &item.kind {
            Kind::Result { .. } => self.stats.results += 1,
            Kind::Compaction { summary: Some(summary), .. } if !summary.trim().is_empty() => {
                self.stats.summary_message = Some(self.stats.messages - 1);
            }
            _ => {}
        }
        self.window.push(Item { message: self.stats.messages as u64 - 1, ..item });
    }

    /// Chooses what is shown, and writes it.
    pub fn finish(self) -> RecallContext {
        let choices = choose(&self.window, self.budget_chars);
        let mut context = Context::new(&self.window, &choices, self.stats);
        if self.budget_chars >= LEGEND_BUDGET_CHARS_MIN && !choices.is_empty() {
            context.text.push_str(LEGEND);
        }
        in_order(&self.window).into_iter().for_each(|piece| context.add(piece));
        let mut stats = context.stats;
        stats.total_chars = count(&context.text);
        RecallContext { context: context.text, stats }
    }
}

/// All held pieces, in the order of the transcript.
fn in_order(window: &Window) -> Vec<&Piece> {
    let mut pieces: Vec<&Piece> = window.pieces.iter().chain(&window.person).chain(&window.summary).collect();
    pieces.sort_by_key(|piece| piece.seq);
    pieces
}

/// The context while it is written.
struct Context<'a> {
    window: &'a Window,
    choices: &'a Choices,
    text: String,
    stats: RecallStats,
    /// The `seq` that the next piece has, if none is missing between.
    next_seq: u64,
    /// Whether something before the next block was left out.
    gap: bool,
    last_message: Option<u64>,
}

impl<'a> Context<'a> {
    fn new(window: &'a Window, choices: &'a Choices, stats: RecallStats) -> Self {
        Self { window, choices, text: String::new(), stats, next_seq: 0, gap: false, last_message: None }
    }

    /// Adds the block of a piece, if it is shown. A result is written with its call, not here.
    fn add(&mut self, piece: &Piece) {
        self.gap |= piece.seq != self.next_seq;
        self.next_seq = piece.seq + 1;
        self.count(piece);
        if call_of(self.window, piece).is_some() {
            return;
        }
        let Some(choice) = self.choices.get(&piece.seq) else {
            self.gap = true;
            return;
        };

        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        if self.gap {
            self.text.extend([MARK, "\n"]);
        }
        self.gap = false;
        self.text.push_str(&piece.heading(Alone::Yes));
        self.text.push_str(&choice.text);
        if let Link::Call { result } = piece.link {
            self.add_result(result);
        }
    }

    fn add_result(&mut self, result: Option<(u64, usize)>) {
        self.text.push('\n');
        let piece = result.and_then(|(seq, _)| self.window.find(seq)).map(|at| &self.window.pieces[at]);
        match piece.and_then(|piece| Some((piece, self.choices.get(&piece.seq)?))) {
            Some((piece, choice)) => {
                self.text.push_str(&piece.heading(Alone::No));
                self.text.push_str(&choice.text);
            }
            None => self.text.push_str(&left_out_note(result.map(|(_, chars)| chars))),
        }
    }

    fn count(&mut self, piece: &Piece) {
        let Some(choice) = self.choices.get(&piece.seq) else { return };
        if self.last_message != Some(piece.message) {
            self.stats.messages_shown += 1;
            self.last_message = Some(piece.message);
        }
        match (piece.link, choice.extent) {
            (Link::Result { .. }, Extent::Whole) => self.stats.results_whole += 1,
            (Link::Result { .. }, Extent::Part) => self.stats.results_in_part += 1,
            (Link::None | Link::Call { .. }, _) => {}
        }
    }
}

/// Says how much of a text is missing.
fn cut_mark(chars: usize) -> String {
    format!("{MARK}[{chars} chars]")
}

/// What is written in place of a call's result that is left out; `chars` is `None` if no result has come.
fn left_out_note(chars: Option<usize>) -> String {
    match chars {
        Some(chars) => format!("→ {}", cut_mark(chars)),
        None => format!("→ {MARK}"),
    }
}
