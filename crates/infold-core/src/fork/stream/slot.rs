//! One item as the streaming fork holds it: its text apart from the rest, and no more of the text
//! than can still be shown.

use super::super::budget::Room;
use super::super::constants::{FORK_PARAMS_TIER1, FORK_TIER2_LIMIT, FORK_TIER3_LIMIT, ForkLimits};
use super::super::format::Frame;
use super::super::message::text_mut;
use super::super::pairs::At;
use super::super::tiers::{Tier, passes_unchanged};
use super::super::truncate::{Excerpt, Method, truncated_chars};
use crate::transcript::{CLEARED, HeldContent, Item, Kind};

/// What decides how much of an item is shown.
#[derive(Debug, Clone, Copy)]
pub enum Sort {
    /// Its length alone.
    Plain,
    /// A call: the tier of its result, once it has one. `rank` as in [`super::super::pairs::Link`].
    Call { answer: Option<At>, rank: usize },
    /// A result: its tier.
    Result { rank: usize, method: Method },
}

/// An item that will be shown, unless it is removed.
#[derive(Debug)]
pub struct Slot {
    /// The item without its text.
    item: Item,
    pub text: Excerpt,
    /// Characters around the text.
    pub frame_chars: usize,
    pub sort: Sort,
    /// The fewest characters that go with this item: its own, if it is not a result that goes with
    /// its call, and those of its result, if it is a call.
    pub weight: usize,
}

impl Slot {
    /// An item, or `None` if it is not shown.
    pub fn new(mut item: Item, sort: Sort, limits: &ForkLimits) -> Option<Self> {
        let frame_chars = Frame::of(&item.kind)?.chars();
        let text = match &mut item.kind {
            // Only its name is shown.
            Kind::Other { json, .. } => {
                *json = String::new();
                String::new()
            }
            kind => text_mut(kind).map(std::mem::take).unwrap_or_default(),
        };
        let text = match sort {
            Sort::Call { .. } => Excerpt::new(text, FORK_PARAMS_TIER1, FORK_PARAMS_TIER1),
            // Half of the budget is the most that is shown of a text that is too long to be shown whole.
            Sort::Plain | Sort::Result { .. } => {
                Excerpt::new(text, limits.untouched_chars_max(), (limits.char_budget / 2 + 1).max(FORK_TIER2_LIMIT))
            }
        };
        Some(Self { item, text, frame_chars, sort, weight: 0 })
    }

    /// A result.
    pub fn result(mut item: Item, rank: usize, limits: &ForkLimits) -> Option<Self> {
        let Kind::Result { tool, text, held, .. } = &mut item.kind else { return None };
        if *held == HeldContent::Cleared {
            *text = CLEARED.to_owned();
        }
        // A text that no tier would cut need not be looked through.
        let sort = if text.len() <= FORK_TIER3_LIMIT {
            Sort::Result { rank, method: Method::HeadOnly }
        } else if passes_unchanged(text, *held) {
            Sort::Plain
        } else {
            Sort::Result { rank, method: Method::for_result(tool, text) }
        };
        Self::new(item, sort, limits)
    }

    /// How its tier cuts it, if tiers make a difference to it.
    pub fn tier_method(&self) -> Option<Method> {
        match self.sort {
            Sort::Result { method, .. } => Some(method),
            Sort::Plain | Sort::Call { .. } => None,
        }
    }

    /// Its tier when there are so many results in all.
    pub fn tier(&self, results: usize) -> Tier {
        match self.sort {
            Sort::Plain => Tier::One,
            Sort::Call { rank, .. } | Sort::Result { rank, .. } => Tier::of(results - rank),
        }
    }

    fn cut_in(&self, tier: Tier) -> Option<(usize, Method)> {
        match self.sort {
            Sort::Plain => None,
            Sort::Call { .. } => Some((tier.params_limit(), Method::HeadOnly)),
            Sort::Result { method, .. } => tier.result_limit().map(|limit| (limit, method)),
        }
    }

    /// Characters of its text in a tier.
    pub fn tier_chars(&self, tier: Tier) -> usize {
        match self.cut_in(tier) {
            Some((limit, method)) => truncated_chars(self.text.chars(), limit, method),
            None => self.text.chars(),
        }
    }

    /// The fewest characters that it can come to have.
    pub fn least_chars(&self, room: &Room) -> usize {
        let in_tier = |tier| room.shown_chars(&self.item.kind, self.frame_chars, self.tier_chars(tier));
        Tier::ALL.into_iter().map(in_tier).min().unwrap_or(0)
    }

    /// Lets go of what is not shown in a tier, nor in a later one.
    pub fn shrink(&mut self, tier: Tier) {
        if let Some((limit, method)) = self.cut_in(tier) {
            self.text.shrink(limit, method);
        }
    }

    /// The item as it is shown when there are so many results in all; with `room`, shortened to what
    /// there is room for.
    pub fn shown(&self, results: usize, room: Option<&Room>) -> Item {
        let tier = self.tier(results);
        let shortened = room.filter(|room| room.shortens(&self.item.kind, self.frame_chars, self.tier_chars(tier)));
        let (tier_limit, method) = self.cut_in(tier).unwrap_or((usize::MAX, Method::HeadTail));
        let Some(room) = shortened else { return self.item_with(self.text.cut(tier_limit, method)) };
        // What a tier has cut already is short, and is cut once more as the text that it now is. Any
        // other text may be held by its ends alone, and is cut as the one that it was.
        let text = if self.text.chars() > tier_limit {
            let text = self.text.cut(tier_limit, method);
            Excerpt::new(text, usize::MAX, 0).cut(room.shortened_chars, Method::HeadTail)
        } else {
            self.text.cut(room.shortened_chars, Method::HeadTail)
        };
        self.item_with(text)
    }

    /// The item with a text.
    pub fn item_with(&self, text: String) -> Item {
        let mut item = self.item.clone();
        if let Some(place) = text_mut(&mut item.kind) {
            *place = text;
        }
        item
    }
}
