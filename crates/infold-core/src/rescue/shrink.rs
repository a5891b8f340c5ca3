//! The steps that make a context smaller, and the one that puts back what fits after all. [`super::plan`] says in which
//! order they are taken.

use super::exchanges::Exchanges;
use super::{DropReason, Fate, RescuePart, RescuePiece, RescueRoom};

/// The last results that together take up to this share of the room are the newest: they are offloaded
/// only when the older ones are not enough, because an agent works on with what it saw last.
const NEWEST_PERCENT: u64 = 50;

/// A plan while it is made.
pub(super) struct ShrinkDraft<'a> {
    pieces: &'a [RescuePiece],
    exchanges: &'a Exchanges,
    room_tokens: u64,
    fates: Vec<Fate>,
    tokens: u64,
}

impl<'a> ShrinkDraft<'a> {
    /// Begins with all pieces kept, except for those that are always left out.
    pub fn new(pieces: &'a [RescuePiece], exchanges: &'a Exchanges, room: RescueRoom) -> Self {
        let mut fates: Vec<Fate> = pieces
            .iter()
            .map(|piece| match piece.part {
                RescuePart::Reasoning => Fate::Dropped(DropReason::Reasoning),
                RescuePart::Person | RescuePart::Summary | RescuePart::Client | RescuePart::Model => Fate::Kept,
                RescuePart::Call { .. } | RescuePart::Result { .. } => Fate::Kept,
            })
            .collect();
        for at in &exchanges.unpaired {
            fates[*at] = Fate::Dropped(DropReason::Unpaired);
        }
        let tokens = pieces.iter().zip(&fates).map(|(piece, fate)| tokens_as(piece, *fate)).sum();
        let room_tokens = room.tokens.saturating_sub(room.receipt_tokens);
        Self { pieces, exchanges, room_tokens, fates, tokens }
    }

    /// The size of what is left so far.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    pub fn into_fates(self) -> Vec<Fate> {
        self.fates
    }

    fn fits(&self) -> bool {
        self.tokens <= self.room_tokens
    }

    fn set(&mut self, at: usize, fate: Fate) {
        let piece = &self.pieces[at];
        self.tokens = self.tokens + tokens_as(piece, fate) - tokens_as(piece, self.fates[at]);
        self.fates[at] = fate;
    }

    /// Offloads results, those that free the most first, the newest ones last.
    pub fn offload_results(&mut self) {
        let newest_from = self.newest_from();
        let mut results = self.shrinkable(|part| matches!(part, RescuePart::Result { .. }));
        results.sort_by_key(|at| (*at >= newest_from, std::cmp::Reverse(self.freed_tokens(*at)), *at));
        self.shrink(&results, Fate::Offloaded);
    }

    /// Shortens the inputs of calls, those that free the most first.
    pub fn shorten_inputs(&mut self) {
        let mut calls = self.shrinkable(|part| matches!(part, RescuePart::Call { .. }));
        calls.sort_by_key(|at| (std::cmp::Reverse(self.freed_tokens(*at)), *at));
        self.shrink(&calls, Fate::Shortened);
    }

    /// Leaves out exchanges, the oldest first. The last one stays, and so do those in which a person answers a tool.
    pub fn drop_exchanges(&mut self) {
        for members in self.exchanges.members().split_last().map_or(&[][..], |(_last, older)| older) {
            if self.fits() {
                return;
            }
            if members.first().is_some_and(|at| self.exchanges.is_answered_by_person(*at)) {
                continue;
            }
            for at in members {
                if !matches!(self.fates[*at], Fate::Dropped(_)) {
                    self.set(*at, Fate::Dropped(DropReason::Exchange));
                }
            }
        }
    }

    /// Leaves out what the client said on its own account, the longest first.
    pub fn drop_client_words(&mut self) {
        let mut words: Vec<usize> = (0..self.pieces.len())
            .filter(|at| self.pieces[*at].part == RescuePart::Client && self.fates[*at] == Fate::Kept)
            .collect();
        words.sort_by_key(|at| (std::cmp::Reverse(self.pieces[*at].tokens), *at));
        self.shrink(&words, Fate::Dropped(DropReason::Client));
    }

    /// Puts back what there is room for after all, the newest first: exchanges, then whole inputs, which
    /// agents use again most, then whole results.
    pub fn put_back(&mut self) {
        self.put_back_exchanges();
        for shrunk in [Fate::Shortened, Fate::Offloaded] {
            for at in (0..self.pieces.len()).rev() {
                if self.fates[at] == shrunk && self.tokens + self.freed_tokens(at) <= self.room_tokens {
                    self.set(at, Fate::Kept);
                }
            }
        }
    }

    /// Puts exchanges back at their smallest, up to the first that does not fit: so what is left out is the
    /// oldest part, without gaps.
    fn put_back_exchanges(&mut self) {
        for members in self.exchanges.members().iter().rev() {
            let gone: Vec<usize> =
                members.iter().copied().filter(|at| self.fates[*at] == Fate::Dropped(DropReason::Exchange)).collect();
            let least_tokens: u64 = gone.iter().map(|at| self.pieces[*at].least_tokens()).sum();
            if self.tokens + least_tokens > self.room_tokens {
                return;
            }
            for at in gone {
                let fate = match self.pieces[at].part {
                    RescuePart::Result { .. } if self.freed_tokens(at) > 0 => Fate::Offloaded,
                    RescuePart::Call { .. } if self.freed_tokens(at) > 0 => Fate::Shortened,
                    _ => Fate::Kept,
                };
                self.set(at, fate);
            }
        }
    }

    fn shrink(&mut self, candidates: &[usize], fate: Fate) {
        for at in candidates {
            if self.fits() {
                return;
            }
            self.set(*at, fate);
        }
    }

    /// Pieces that are whole so far and could be shorter.
    fn shrinkable(&self, is_wanted: impl Fn(&RescuePart) -> bool) -> Vec<usize> {
        let is_kept = |at: &usize| self.fates[*at] == Fate::Kept;
        let frees = |at: &usize| is_wanted(&self.pieces[*at].part) && self.freed_tokens(*at) > 0;
        (0..self.pieces.len()).filter(is_kept).filter(frees).collect()
    }

    fn freed_tokens(&self, at: usize) -> u64 {
        self.pieces[at].tokens - self.pieces[at].least_tokens()
    }

    /// The index of the first piece from which on results count as the newest.
    fn newest_from(&self) -> usize {
        let newest_tokens_max = self.room_tokens * NEWEST_PERCENT / 100;
        let mut tokens = 0;
        for (at, piece) in self.pieces.iter().enumerate().rev() {
            if matches!(piece.part, RescuePart::Result { .. }) {
                tokens += piece.tokens;
                if tokens > newest_tokens_max {
                    return at + 1;
                }
            }
        }
        0
    }
}

fn tokens_as(piece: &RescuePiece, fate: Fate) -> u64 {
    match fate {
        Fate::Kept => piece.tokens,
        Fate::Offloaded | Fate::Shortened => piece.least_tokens(),
        Fate::Dropped(_) => 0,
    }
}
