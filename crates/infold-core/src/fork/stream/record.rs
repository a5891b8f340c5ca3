//! The messages that the streaming fork still holds, and what it takes to let the oldest go.
//!
//! Each item has a weight: the fewest characters that would leave the context with it. A result that
//! answers a call weighs on the call, because the two go together. So the weights of all items from
//! some place on are the least that the context can have if everything before that place is removed;
//! where even that is too long, everything before it is certain to be removed.

use std::collections::VecDeque;

use super::super::budget::Room;
use super::super::pairs::At;
use super::super::tiers::Tier;
use super::slot::{Slot, Sort};

/// A message.
#[derive(Debug, Default)]
pub struct Record {
    /// What it holds; `None` where a result went with its call.
    slots: VecDeque<Option<Slot>>,
    /// How many items have been taken from its front.
    taken: usize,
    /// How many items are there.
    present: usize,
    weight: usize,
    /// Whether it ever had something to show.
    had_content: bool,
    /// Messages with nothing to show between this one and the one before it.
    blank_before: usize,
}

impl Record {
    /// Its items.
    pub fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().flatten()
    }

    /// Forgets the places in front whose results are gone, so that nobody passes over them again.
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
    /// From the oldest; the last is the current message.
    held: VecDeque<Record>,
    /// How many have been taken from the front.
    taken: usize,
    /// Sum of all weights.
    weight: usize,
    /// Messages that are removed for certain.
    removed: usize,
    /// Whether anything has been let go because of the budget.
    letting_go: bool,
    /// Whether the oldest message is too long to be kept whole, so that its items go one by one.
    oldest_is_divided: bool,
}

impl Records {
    /// A message begins.
    pub fn begin(&mut self) {
        match self.held.back_mut() {
            Some(last) if !last.had_content => last.blank_before += 1,
            _ => self.held.push_back(Record::default()),
        }
    }

    /// Adds an item to the current message. One that answers a call which is gone is not kept.
    pub fn add(&mut self, mut slot: Slot, least_chars: usize, call: Option<At>, rank: usize) -> Option<At> {
        let message = self.taken + self.held.len().checked_sub(1)?;
        let last = self.held.back_mut()?;
        last.had_content = true;
        let at = At { message, item: last.taken + last.slots.len() };
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

    fn answer(&mut self, call: At, at: At, result_rank: usize, least_chars: usize) -> Option<()> {
        let record = self.held.get_mut(call.message.checked_sub(self.taken)?)?;
        let slot = record.slots.get_mut(call.item.checked_sub(record.taken)?)?.as_mut()?;
        if let Sort::Call { answer, rank } = &mut slot.sort {
            (*answer, *rank) = (Some(at), result_rank);
        }
        slot.weight += least_chars;
        record.weight += least_chars;
        Some(())
    }

    /// Lets go of what an item does not show in a tier.
    pub fn shrink(&mut self, at: At, tier: Tier) {
        if let Some(slot) = self.slot_mut(at).and_then(Option::as_mut) {
            slot.shrink(tier);
        }
    }

    fn slot_mut(&mut self, at: At) -> Option<&mut Option<Slot>> {
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

    /// Takes out the result of a call that is gone.
    fn take_answer(&mut self, call: &Slot) {
        let Sort::Call { answer: Some(at), .. } = call.sort else { return };
        if self.slot_mut(at).and_then(Option::take).is_some()
            && let Some(record) = at.message.checked_sub(self.taken).and_then(|at| self.held.get_mut(at))
        {
            record.present -= 1;
        }
    }

    /// The messages, from the oldest.
    pub fn iter(&self) -> impl Iterator<Item = &Record> {
        self.held.iter()
    }

    /// Whether anything has been let go because of the budget.
    pub fn has_let_go(&self) -> bool {
        self.letting_go
    }

    /// Whether the oldest message has lost items of its own.
    pub fn oldest_is_divided(&self) -> bool {
        self.oldest_is_divided
    }

    /// How many messages are removed if so many of those still held go as well.
    pub fn removed_with(&self, in_turn: usize) -> usize {
        let gone: usize = self.held.iter().take(in_turn).map(|record| 1 + record.blank_before).sum();
        let emptied = self.held.iter().skip(in_turn).filter(|record| record.is_emptied()).count();
        self.removed + gone + emptied
    }
}
