//! The messages that the streaming fork still holds, and what it takes to let the oldest go.
//!
//! Each item has a weight: the fewest characters that would leave the context with it. A result that
//! answers a call weighs on the call, because the two go together. So the weights of all items from
//! some place on are the least that the context can have if everything before that place is removed;
//! where even that is too long, everything before it is certain to be removed.

use std::collections::VecDeque;

use super::super::budget::Room;
use super::super::constants::{FORK_PARAMS_TIER1, FORK_TIER2_LIMIT, FORK_TIER3_LIMIT, ForkLimits};
use super::super::format::Frame;
use super::super::message::text_mut;
use super::super::pairs::ItemAt;
use super::super::tiers::{Tier, passes_unchanged};
use super::super::truncate::{Excerpt, Method, truncated_chars};
use crate::transcript::{CLEARED, HeldContent, Item, Kind};

/// What is held of a message.
#[derive(Debug, Default)]
pub struct Record {
    /// Its items; `None` where a result went with its call.
    slots: VecDeque<Option<Slot>>,
    /// How many items have been taken from its front.
    taken: usize,
    /// How many items are left.
    present: usize,
    /// The sum of its items' weights.
    weight: usize,
    /// Whether it ever had something to show.
    had_content: bool,
    /// Messages with nothing to show between this one and the one before it.
    blank_before: usize,
}

impl Record {
    pub fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().flatten()
    }

    /// Drops the empty slots at the front, so that nobody has to pass over them again.
    fn skip_gaps(&mut self) {
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.taken += 1;
        }
    }

    fn is_emptied(&self) -> bool {
        self.had_content && self.present == 0
    }
}

/// The messages since the latest summary that may still be shown.
#[derive(Debug, Default)]
pub struct Records {
    /// Oldest first; the last is the current message.
    held: VecDeque<Record>,
    /// How many have been taken from the front.
    taken: usize,
    /// The sum of all weights.
    weight: usize,
    /// Messages that are certain not to be shown.
    removed: usize,
    /// Whether anything has been let go because of the budget.
    letting_go: bool,
    /// Whether the oldest message is too long to stay whole, so that its items go one by one.
    oldest_is_divided: bool,
}

impl Records {
    /// Begins a message. One that had nothing to show is only counted.
    pub fn begin(&mut self) {
        match self.held.back_mut() {
            Some(last) if !last.had_content => last.blank_before += 1,
            _ => self.held.push_back(Record::default()),
        }
    }

    /// Adds an item to the current message. `None` if it answers a call that was let go: then the item goes, too.
    pub fn add(&mut self, mut slot: Slot, least_chars: usize, call: Option<ItemAt>, rank: usize) -> Option<ItemAt> {
        let message = self.taken + self.held.len().checked_sub(1)?;
        let last = self.held.back_mut()?;
        last.had_content = true;
        let at = ItemAt { message, item: last.taken + last.slots.len() };
        match call {
            None => {
                slot.weight = least_chars;
                last.weight += least_chars;
            }
            Some(call) => self.answer(call, at, rank, least_chars)?,
        }
        self.weight += least_chars;
        let last = self.held.back_mut()?;
        last.slots.push_back(Some(slot));
        last.present += 1;
        Some(at)
    }

    fn answer(&mut self, call: ItemAt, at: ItemAt, result_rank: usize, least_chars: usize) -> Option<()> {
        let record = self.held.get_mut(call.message.checked_sub(self.taken)?)?;
        let slot = record.slots.get_mut(call.item.checked_sub(record.taken)?)?.as_mut()?;
        if let Sort::Call { answer, rank } = &mut slot.sort {
            (*answer, *rank) = (Some(at), result_rank);
        }
        slot.weight += least_chars;
        record.weight += least_chars;
        Some(())
    }

    /// Lets go of the text that an item does not show in a tier, nor in a later one.
    pub fn shrink(&mut self, at: ItemAt, tier: Tier) {
        if let Some(slot) = self.slot_mut(at).and_then(Option::as_mut) {
            slot.shrink(tier);
        }
    }

    fn slot_mut(&mut self, at: ItemAt) -> Option<&mut Option<Slot>> {
        let record = self.held.get_mut(at.message.checked_sub(self.taken)?)?;
        record.slots.get_mut(at.item.checked_sub(record.taken)?)
    }

    /// Lets go of the oldest messages, or of the oldest items of a message that is too long for the
    /// room, as long as they are certain to be removed. Nothing is removed before all items have more
    /// than `untouched_chars_max` characters.
    pub fn let_go(&mut self, room: &Room, untouched_chars_max: usize) {
        while let Some(oldest) = self.held.front_mut() {
            oldest.skip_gaps();
            let first_weight = oldest.slots().next().map_or(0, |slot| slot.weight);
            let (is_empty, weight) = (oldest.present == 0, oldest.weight);
            if is_empty {
                // The current message may yet get more.
                if self.held.len() == 1 {
                    return;
                }
                self.take_empty();
                continue;
            }
            if !self.letting_go && self.weight <= untouched_chars_max {
                return;
            }
            if self.weight - weight > room.chars {
                self.take_oldest();
                continue;
            }
            self.oldest_is_divided |= weight > room.chars;
            if !self.oldest_is_divided || self.weight - first_weight <= room.chars {
                return;
            }
            self.take_first_item();
        }
    }

    fn take_empty(&mut self) {
        let Some(record) = self.held.pop_front() else { return };
        self.taken += 1;
        // The items of a divided message were removed in their turn, and what showed nothing before
        // them went with them.
        let in_turn = std::mem::take(&mut self.oldest_is_divided);
        self.removed += usize::from(record.had_content);
        if in_turn {
            self.removed += record.blank_before;
        } else if let Some(next) = self.held.front_mut() {
            next.blank_before += record.blank_before;
        }
    }

    fn take_oldest(&mut self) {
        let Some(record) = self.held.pop_front() else { return };
        self.taken += 1;
        self.weight -= record.weight;
        self.removed += 1 + record.blank_before;
        self.letting_go = true;
        self.oldest_is_divided = false;
        for slot in record.slots() {
            self.take_answer(slot);
        }
    }

    fn take_first_item(&mut self) {
        let Some(record) = self.held.front_mut() else { return };
        let Some(slot) = record.slots.pop_front().flatten() else { return };
        record.taken += 1;
        record.present -= 1;
        record.weight -= slot.weight;
        self.weight -= slot.weight;
        self.letting_go = true;
        self.take_answer(&slot);
    }

    /// Takes out the result of a call that was let go.
    fn take_answer(&mut self, call: &Slot) {
        let Sort::Call { answer: Some(at), .. } = call.sort else { return };
        if self.slot_mut(at).and_then(Option::take).is_some()
            && let Some(record) = at.message.checked_sub(self.taken).and_then(|at| self.held.get_mut(at))
        {
            record.present -= 1;
        }
    }

    /// The messages, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Record> {
        self.held.iter()
    }

    pub fn has_let_go(&self) -> bool {
        self.letting_go
    }

    /// Weighs every item again, by its characters in the form in which it is shown.
    pub fn weigh(&mut self, shown_chars: impl Fn(&Slot) -> usize) {
        let first = self.taken;
        let mut pairs = Vec::new();
        for (message, record) in self.held.iter_mut().enumerate() {
            for (item, slot) in record.slots.iter_mut().enumerate() {
                let Some(slot) = slot else { continue };
                slot.weight = shown_chars(slot);
                if let Sort::Call { answer: Some(answer), .. } = slot.sort {
                    pairs.push((ItemAt { message: first + message, item: record.taken + item }, answer));
                }
            }
        }
        for (call, answer) in pairs {
            let answer = self.slot_mut(answer).and_then(Option::as_mut);
            let weight = answer.map_or(0, |answer| std::mem::take(&mut answer.weight));
            if let Some(call) = self.slot_mut(call).and_then(Option::as_mut) {
                call.weight += weight;
            }
        }
        for record in &mut self.held {
            record.weight = record.slots().map(|slot| slot.weight).sum();
        }
        self.weight = self.held.iter().map(|record| record.weight).sum();
    }

    /// Removes the oldest messages until the rest fits. One that would not fit by itself goes item by item. Gives the
    /// number of messages that are removed in all.
    pub fn remove_until_fits(&mut self, room_chars: usize) -> usize {
        while let Some(oldest) = self.held.front_mut() {
            oldest.skip_gaps();
            let (is_empty, weight) = (oldest.present == 0, oldest.weight);
            if is_empty {
                self.take_empty();
                continue;
            }
            if self.weight <= room_chars {
                break;
            }
            self.oldest_is_divided |= weight > room_chars;
            if self.oldest_is_divided { self.take_first_item() } else { self.take_oldest() }
        }
        self.removed + self.held.iter().filter(|record| record.is_emptied()).count()
    }
}

/// What decides how much of an item is shown.
#[derive(Debug, Clone, Copy)]
pub enum Sort {
    /// Its length alone.
    Plain,
    /// For a call, the tier of its result. `rank` is that of its result, or, as long as it has none, the
    /// number of results before it.
    Call { answer: Option<ItemAt>, rank: usize },
    /// For a result, its tier. Ranks count results from 1, the oldest first.
    Result { rank: usize, method: Method },
}

/// An item that will be shown, unless it is removed.
#[derive(Debug)]
pub struct Slot {
    /// The item without its text.
    item: Item,
    /// Its text: whole, or beginning and end with a mark between them.
    pub text: Excerpt,
    /// Characters before and after the text.
    pub frame_chars: usize,
    pub sort: Sort,
    /// The fewest characters that the context loses with this item: its own and, for a call, those of
    /// its result. 0 for a result that has a call.
    pub weight: usize,
}

impl Slot {
    /// `None` if the item is not shown.
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

    /// A slot for a result; `None` if the item is none.
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

    /// How its tier cuts it; `None` if tiers make no difference to it.
    pub fn tier_method(&self) -> Option<Method> {
        match self.sort {
            Sort::Result { method, .. } => Some(method),
            Sort::Plain | Sort::Call { .. } => None,
        }
    }

    /// Its tier, where `results` is the number of results in the transcript.
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

    /// Its characters in its smallest form.
    pub fn least_chars(&self, room: &Room) -> usize {
        let in_tier = |tier| room.shown_chars(&self.item.kind, self.frame_chars, self.tier_chars(tier));
        Tier::ALL.into_iter().map(in_tier).min().unwrap_or(0)
    }

    pub fn shrink(&mut self, tier: Tier) {
        if let Some((limit, method)) = self.cut_in(tier) {
            self.text.shrink(limit, method);
        }
    }

    /// The item as it is shown, where `results` is the number of results in the transcript. With `room`,
    /// it is shortened if it has to be.
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

    pub fn item_with(&self, text: String) -> Item {
        let mut item = self.item.clone();
        if let Some(place) = text_mut(&mut item.kind) {
            *place = text;
        }
        item
    }
}
