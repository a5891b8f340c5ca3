//! Which of the held pieces are shown: first the latest summary and the person's words, then whole pieces
//! of the kinds that agents were found to use again most for their length, then of the rest the lines that
//! name something new.

use std::collections::HashMap;

use super::lines::{Key, Line, Numbers, Rendered, Shown, render};
use super::outline::{Named, outline};
use super::piece::{Alone, Class, Link, Piece};
use super::window::Window;
use super::{LEGEND, LEGEND_BUDGET_CHARS_MIN, cut_mark, left_out_note};
use crate::fork::truncate::{count, head};

/// The budget divided by this is what the person's words may take, and what the summary may take.
const FIRST_SHARE: usize = 4;
/// Percent of the budget for pieces that are shown whole; the rest is for outlines.
const WHOLE_PERCENT: usize = 85;
/// A piece's worth is divided by the number of calls after it, plus this.
const AGE_CALLS: u64 = 2;
/// In longer pieces a character is worth less, by the root of their length.
const USUAL_CHARS: f64 = 1_500.0;
/// Line numbers in pieces with more calls after them are thinned.
const FRESH_CALLS: u64 = 20;
/// With less room than this, no beginning of a piece is shown, or no outline.
const BEGINNING_ROOM_MIN: i64 = 2_000;
const BEGINNING_CHARS_MIN: i64 = 1_000;
const OUTLINE_ROOM_MIN: i64 = 400;
/// The longest outline.
const OUTLINE_CHARS_MAX: i64 = 1_200;
/// Room for the mark behind a text that was cut.
const CUT_CHARS: usize = 24;
/// Characters around a block: an empty line between blocks, and perhaps a mark before one.
const BLOCK_CHARS: usize = 4;

/// How much of a piece is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    Part,
}

/// What is shown of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub text: String,
    pub extent: Extent,
}

/// By the `seq` of the piece.
pub(super) type Choices = HashMap<u64, Choice>;

pub(super) fn choose(window: &Window, budget_chars: usize) -> Choices {
    // Signed, because taking a result gives back what the note in its place had cost.
    let budget = i64::try_from(budget_chars).unwrap_or(i64::MAX / 2).min(i64::MAX / 2);
    let legend_chars = if budget_chars < LEGEND_BUDGET_CHARS_MIN { 0 } else { count(LEGEND) + 2 };
    let mut chooser =
        Chooser { window, budget, used: length(legend_chars), choices: Choices::new(), shown: Shown::default() };
    chooser.take_first(budget_chars / FIRST_SHARE);
    let left =
        chooser.take_whole(length(budget_chars / 100 * WHOLE_PERCENT + budget_chars % 100 * WHOLE_PERCENT / 100));
    chooser.take_outlines(&left);
    chooser.choices
}

/// A length as a signed number, so that differences can be negative.
pub(super) fn length(chars: usize) -> i64 {
    i64::try_from(chars).unwrap_or(i64::MAX / 2)
}

struct Chooser<'a> {
    window: &'a Window,
    budget: i64,
    used: i64,
    choices: Choices,
    shown: Shown,
}

/// A piece that could be shown, and what it would cost.
struct Offer<'a> {
    piece: &'a Piece,
    rendered: Rendered,
    /// The call that must be shown with it, if that is not shown yet.
    call: Option<(&'a Piece, Rendered)>,
    /// What the offer costs besides the text of the piece.
    around: i64,
}

impl<'a> Chooser<'a> {
    /// Takes the latest summary and the person's words, the newest first, as they are.
    fn take_first(&mut self, share_chars: usize) {
        let window = self.window;
        let room = |used: i64, budget: i64| share_chars.min(usize::try_from(budget - used).unwrap_or(0));
        if let Some(summary) = &window.summary {
            self.take_beginning(summary, room(self.used, self.budget));
        }
        let mut left = room(self.used, self.budget);
        for piece in window.person.iter().rev() {
            left = self.take_beginning(piece, left);
            if left == 0 {
                break;
            }
        }
    }

    /// Takes as much of a piece as there is room for. Gives the room that is left.
    fn take_beginning(&mut self, piece: &Piece, room_chars: usize) -> usize {
        let around = count(&piece.heading(Alone::Yes)) + BLOCK_CHARS;
        let Some(room) = room_chars.checked_sub(around).filter(|room| *room > 0) else { return room_chars };
        let (text, left) = if piece.chars <= room {
            (piece.text.clone(), room - piece.chars)
        } else if let Some(kept) = room.checked_sub(CUT_CHARS) {
            (format!("{}\n{}", head(&piece.text, kept), cut_mark(piece.chars - kept)), 0)
        } else {
            return room_chars;
        };
        self.used += length(around + count(&text));
        self.shown.add_text(&text);
        let extent = if piece.chars <= room { Extent::Whole } else { Extent::Part };
        self.choices.insert(piece.seq, Choice { text, extent });
        left
    }

    /// Takes whole pieces, the worthiest first. Gives those that found no room, in the same order.
    fn take_whole(&mut self, room_end: i64) -> Vec<&'a Piece> {
        let window = self.window;
        let mut ranked: Vec<(f64, &Piece)> =
            window.pieces.iter().map(|piece| (worth(piece, window.calls), piece)).collect();
        ranked.sort_by(|(one, piece), (other, than)| other.total_cmp(one).then(than.seq.cmp(&piece.seq)));

        let mut left = Vec::new();
        let mut beginning_taken = false;
        for (_, piece) in ranked {
            if self.choices.contains_key(&piece.seq) {
                continue;
            }
            let offer = self.offer(piece);
            let room = room_end - self.used - offer.around;
            if length(count(&offer.rendered.text)) <= room {
                self.take(offer, Extent::Whole);
            } else if !beginning_taken && is_worth_beginning(&offer, room_end - self.used) {
                beginning_taken = true;
                match beginning_of(&offer, room) {
                    Some(rendered) => self.take(Offer { rendered, ..offer }, Extent::Part),
                    None => left.push(piece),
                }
            } else {
                left.push(piece);
            }
        }
        left
    }

    /// Takes, of pieces that found no room, the lines that name something that nothing shown names.
    fn take_outlines(&mut self, left: &[&'a Piece]) {
        let mut named = Named::default();
        if !left.is_empty() {
            self.choices.values().for_each(|choice| named.add(&choice.text));
        }
        for piece in left {
            if self.budget - self.used < OUTLINE_ROOM_MIN {
                break;
            }
            if piece.class == Class::Client || self.choices.contains_key(&piece.seq) {
                continue;
            }
            let mut offer = self.offer(piece);
            if offer.call.as_ref().is_some_and(|(call, with)| self.call_cost(call, with) > OUTLINE_CHARS_MAX) {
                continue;
            }
            let room = self.budget - self.used - offer.around - length(CUT_CHARS);
            if let Some(outline) = outline(piece, room.min(OUTLINE_CHARS_MAX), &self.shown, &mut named) {
                offer.rendered = outline;
                self.take(offer, Extent::Part);
            }
        }
    }

    fn offer(&self, piece: &'a Piece) -> Offer<'a> {
        let around = length(count(&piece.heading(self.alone(piece))));
        let rendered = self.render(piece);
        match self.call_of(piece) {
            None => {
                Offer { piece, rendered, call: None, around: around + length(BLOCK_CHARS) + length(note_chars(piece)) }
            }
            Some(call) => {
                let around = around + 1 - length(note_chars(call));
                if self.choices.contains_key(&call.seq) {
                    return Offer { piece, rendered, call: None, around };
                }
                let with = self.render(call);
                Offer { piece, rendered, around: around + self.call_cost(call, &with), call: Some((call, with)) }
            }
        }
    }

    /// What a call costs, with the note that replaces its result.
    fn call_cost(&self, call: &Piece, rendered: &Rendered) -> i64 {
        length(BLOCK_CHARS + note_chars(call) + count(&rendered.text))
    }

    fn render(&self, piece: &Piece) -> Rendered {
        let is_fresh = self.window.calls - piece.calls <= FRESH_CALLS;
        let wanted = if is_fresh { Numbers::All } else { Numbers::Thinned };
        render(&piece.text, numbers(piece, wanted), &self.shown)
    }

    fn take(&mut self, offer: Offer<'a>, extent: Extent) {
        self.used += offer.around + length(count(&offer.rendered.text));
        if let Some((call, rendered)) = offer.call {
            self.insert(call, rendered, Extent::Whole);
        }
        self.insert(offer.piece, offer.rendered, extent);
    }

    fn insert(&mut self, piece: &Piece, rendered: Rendered, extent: Extent) {
        self.shown.add(rendered.keys);
        self.choices.insert(piece.seq, Choice { text: rendered.text, extent });
    }

    fn call_of(&self, piece: &Piece) -> Option<&'a Piece> {
        call_of(self.window, piece)
    }

    fn alone(&self, piece: &Piece) -> Alone {
        if self.call_of(piece).is_some() { Alone::No } else { Alone::Yes }
    }
}

/// The call that a result answers; `None` if it is no longer held.
pub(super) fn call_of<'a>(window: &'a Window, piece: &Piece) -> Option<&'a Piece> {
    match piece.link {
        Link::Result { call: Some(call) } => window.find(call).map(|at| &window.pieces[at]),
        Link::None | Link::Call { .. } | Link::Result { call: None } => None,
    }
}

/// The square of what a character of the piece is worth, by how much recorded sessions used again of such
/// pieces and how many calls had come since.
fn worth(piece: &Piece, calls: u64) -> f64 {
    let weight = match piece.class {
        Class::Call { .. } | Class::View => 5.0,
        Class::Edited => 1.0,
        Class::Model => 0.6,
        Class::Other => 0.4,
        Class::Client => 0.15,
        // These are taken before anything is ranked.
        Class::Person | Class::Summary => 0.0,
    };
    let by_age = weight / (AGE_CALLS + calls - piece.calls) as f64;
    by_age * by_age / (piece.chars as f64 / USUAL_CHARS).max(1.0)
}

/// How the numbers before a piece's lines are shown: as wanted, if its lines have any.
pub(super) fn numbers(piece: &Piece, wanted: Numbers) -> Numbers {
    if piece.class.is_numbered() { wanted } else { Numbers::None }
}

/// Characters of the note that replaces a call's result while that is left out; 0 if the piece is no call.
fn note_chars(piece: &Piece) -> usize {
    match piece.link {
        Link::Call { result } => 1 + count(&left_out_note(result.map(|(_, chars)| chars))),
        Link::None | Link::Result { .. } => 0,
    }
}

fn is_worth_beginning(offer: &Offer<'_>, room: i64) -> bool {
    let is_call = matches!(offer.piece.class, Class::Call { .. });
    !is_call && room > BEGINNING_ROOM_MIN && offer.around + BEGINNING_CHARS_MIN < room
}

/// The first lines of an offer, as many as fit; `None` if none does.
fn beginning_of(offer: &Offer<'_>, room: i64) -> Option<Rendered> {
    let room = usize::try_from(room).ok()?.checked_sub(CUT_CHARS)?;
    let text = &offer.rendered.text;
    let (mut bytes, mut chars) = (0, 0);
    for line in text.split_inclusive('\n') {
        let line_chars = count(line);
        if chars + line_chars > room {
            break;
        }
        bytes += line.len();
        chars += line_chars;
    }
    let kept = text[..bytes].strip_suffix('\n')?;
    let keys: Vec<Key> =
        kept.split('\n').map(|line| Line::of(line, numbers(offer.piece, Numbers::All)).key()).collect();
    Some(Rendered { text: format!("{kept}\n{}", cut_mark(count(text) - chars)), keys })
}
