//! What is held of a transcript while it passes: enough to choose from, and no more.
//!
//! Held are the newest pieces, four times what a context can show; of the names that recorded sessions
//! needed, holding everything would have kept at most two in a thousand more. The person's words and the
//! latest summary are held apart, so that a flood of results does not wash them away.

use std::collections::VecDeque;

use super::super::pairs::{At, Waiting};
use super::super::truncate::{count, head};
use super::cut_mark;
use super::piece::{Class, Draft, Link, Piece};
use crate::transcript::{Item, Kind};

/// How many contexts the held pieces could fill.
const WINDOW_CONTEXTS: usize = 4;
/// What a piece counts besides its text, so that empty ones do not pile up.
const PIECE_CHARS: usize = 64;

/// The pieces that may come to be shown.
#[derive(Debug)]
pub(super) struct Window {
    budget_chars: usize,
    /// Neither the person's words nor summaries, in order.
    pub pieces: VecDeque<Piece>,
    pieces_chars: usize,
    /// The person's words, in order.
    pub person: VecDeque<Piece>,
    person_chars: usize,
    /// The latest summary.
    pub summary: Option<Piece>,
    waiting: Waiting,
    next_seq: u64,
    /// Calls so far.
    pub calls: u64,
}

impl Window {
    pub fn new(budget_chars: usize) -> Self {
        Self {
            budget_chars,
            pieces: VecDeque::new(),
            pieces_chars: 0,
            person: VecDeque::new(),
            person_chars: 0,
            summary: None,
            waiting: Waiting::default(),
            next_seq: 0,
            calls: 0,
        }
    }

    /// The next item.
    pub fn push(&mut self, item: Item) {
        let message = item.message;
        let link = self.link(&item.kind);
        let call = match link {
            Link::Result { call: Some(call) } => self.find(call).map(|at| self.pieces[at].class),
            _ => None,
        };
        let Some(draft) = Draft::of(item, call) else { return };
        let piece = self.piece(draft, link, message);
        match piece.class {
            Class::Person => self.hold_person(piece),
            Class::Summary => self.summary = Some(piece),
            Class::Client | Class::Said | Class::Call { .. } | Class::View | Class::Edited | Class::Other => {
                self.hold(piece);
            }
        }
    }

    /// Where in the window the piece with this place is.
    pub fn find(&self, seq: u64) -> Option<usize> {
        self.pieces.binary_search_by_key(&seq, |piece| piece.seq).ok()
    }

    fn link(&mut self, kind: &Kind) -> Link {
        match kind {
            Kind::Call { id, .. } => {
                self.calls += 1;
                self.waiting.call(id, At { message: usize::try_from(self.next_seq).unwrap_or(usize::MAX), item: 0 });
                Link::Call { result: None }
            }
            Kind::Result { id, .. } => Link::Result { call: self.waiting.answer(id).map(|at| at.message as u64) },
            Kind::System { .. }
            | Kind::User { .. }
            | Kind::Assistant { .. }
            | Kind::Reasoning { .. }
            | Kind::Compaction { .. }
            | Kind::Clearing { .. }
            | Kind::Other { .. } => Link::None,
        }
    }

    fn piece(&mut self, draft: Draft, link: Link, message: u64) -> Piece {
        let seq = self.next_seq;
        self.next_seq += 1;
        let chars = count(&draft.text);
        if let Link::Result { call: Some(call) } = link
            && let Some(at) = self.find(call)
        {
            self.pieces[at].link = Link::Call { result: Some((seq, chars)) };
        }
        let text = self.held_text(draft.text, chars);
        let Draft { class, tool, outcome, .. } = draft;
        Piece { seq, message, class, link, calls: self.calls, tool, outcome, text, chars }
    }

    /// The text, or both ends of one that no context could show.
    fn held_text(&self, mut text: String, chars: usize) -> String {
        let end_chars = self.budget_chars / 2;
        if chars > self.budget_chars {
            let between = cut_mark(chars - 2 * end_chars);
            text = [head(&text, end_chars), "\n", &between, "\n", tail(&text, end_chars)].concat();
        }
        text.shrink_to_fit();
        text
    }

    fn hold(&mut self, piece: Piece) {
        self.pieces_chars += self.held_chars(&piece);
        self.pieces.push_back(piece);
        let chars_max = self.budget_chars.saturating_mul(WINDOW_CONTEXTS);
        while self.pieces_chars > chars_max {
            let Some(oldest) = self.pieces.pop_front() else { break };
            self.pieces_chars -= self.held_chars(&oldest);
        }
    }

    /// Of the person's words those stay that a context can hold, and the beginning of the next older.
    fn hold_person(&mut self, piece: Piece) {
        self.person_chars += self.held_chars(&piece);
        self.person.push_back(piece);
        while let Some(oldest) = self.person.front() {
            let oldest_chars = self.held_chars(oldest);
            if self.person.len() == 1 || self.person_chars - oldest_chars < self.budget_chars {
                break;
            }
            self.person_chars -= oldest_chars;
            self.person.pop_front();
        }
    }

    fn held_chars(&self, piece: &Piece) -> usize {
        piece.chars.min(self.budget_chars) + PIECE_CHARS
    }
}

/// The last characters of a text.
fn tail(text: &str, chars: usize) -> &str {
    match chars.checked_sub(1).map(|last| text.char_indices().nth_back(last)) {
        Some(Some((start, _))) => &text[start..],
        Some(None) => text,
        None => "",
    }
}
