//! What is held of a transcript while it passes: enough to choose from, and no more.
//!
//! The newest pieces are held, four times what a context can show. In recorded sessions, holding everything
//! would have saved at most two in a thousand more of the names that were needed. The person's words and the
//! latest summary are held apart, so that a flood of results does not wash them away.

use std::collections::VecDeque;

use super::super::pairs::{ItemAt, WaitingCalls};
use super::super::truncate::{count, head, tail};
use super::cut_mark;
use super::piece::{Class, Draft, Link, Piece};
use crate::transcript::{Item, Kind};

/// How many contexts the held pieces could fill.
const WINDOW_CONTEXTS: usize = 4;
/// Characters that a piece counts for besides its text, so that empty ones do not pile up.
const PIECE_CHARS: usize = 64;

/// The pieces that may be shown.
#[derive(Debug)]
pub(super) struct Window {
    budget_chars: usize,
    /// Neither the person's words nor summaries, in order.
    pub pieces: VecDeque<Piece>,
    pieces_chars: usize,
    /// The person's words, in order.
    pub person: VecDeque<Piece>,
    person_chars: usize,
    pub summary: Option<Piece>,
    waiting: WaitingCalls,
    next_seq: u64,
    /// The number of calls so far.
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
            waiting: WaitingCalls::default(),
            next_seq: 0,
            calls: 0,
        }
    }

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
            Class::Client | Class::Model | Class::Call { .. } | Class::View | Class::Edited | Class::Other => {
                self.hold(piece);
            }
        }
    }

    /// The index in `pieces` of the piece with this `seq`; `None` if it is not held.
    pub fn find(&self, seq: u64) -> Option<usize> {
        self.pieces.binary_search_by_key(&seq, |piece| piece.seq).ok()
    }

    fn link(&mut self, kind: &Kind) -> Link {
        match kind {
            Kind::Call { id, .. } => {
                self.calls += 1;
                // Here each piece is a message of its own, which its `seq` names.
                let message = usize::try_from(self.next_seq).unwrap_or(usize::MAX);
                self.waiting.call(id, ItemAt { message, item: 0 });
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

    /// Holds the person's newest words, until a whole context would be full of them.
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
