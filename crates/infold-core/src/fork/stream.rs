//! The three stages in one pass, in memory that depends on the budget and not on the transcript.
//!
//! Items come one by one, and what cannot be shown any more is let go at once: everything before a
//! summary; the middle of a text that is longer than a whole context; what a result loses by falling
//! into its next tier; and the oldest messages, once the later ones are too long for the budget even
//! in their smallest form. At the end the same is done with what is left, in the form in which it is
//! shown; the outcome is, to the character, what the stages would make of a whole transcript.

mod records;

use std::collections::VecDeque;

use self::records::{Records, Slot, Sort};
use super::budget::{Room, summary_chars_max};
use super::constants::{FORK_TIER1_COUNT, FORK_TIER2_COUNT, ForkLimits};
use super::format::{context_chars, format_messages_as_context, item_chars, room_for};
use super::message::{Message, readable_summary, with_repeated_words};
use super::pairs::{ItemAt, WaitingCalls};
use super::stats::ProcessingStats;
use super::tiers::{Tier, distribution};
use super::truncate::{Method, truncated_chars};
use crate::transcript::{Item, Kind};

/// A fork in the making, by the rules of the requirement.
#[derive(Debug)]
pub struct SeedFork {
    limits: ForkLimits,
    /// Messages so far, of the whole transcript.
    original_count: usize,
    /// The number that the current message carries; `None` where the next item starts a message.
    current: Option<u64>,
    /// The message of the latest summary, counted from 0.
    slice_index: Option<usize>,
    summary: Option<Slot>,
    room: Room,
    since_summary: SinceSummary,
}

/// The items after the latest summary, or all if there is none.
#[derive(Debug, Default)]
struct SinceSummary {
    records: Records,
    waiting: WaitingCalls,
    results: usize,
    /// The results that are not in the last tier yet, oldest first. Some may have been let go; they
    /// count all the same.
    recent: VecDeque<Recent>,
    truncated_results: usize,
    head_tail_applied: usize,
}

/// What ageing and the statistics need to know of a result.
#[derive(Debug, Clone, Copy)]
struct Recent {
    /// `None` if it was not held, because its call had been let go.
    at: Option<ItemAt>,
    /// Its length and how tiers cut it; `None` if they do not.
    cut: Option<(usize, Method)>,
}

impl SeedFork {
    pub fn new(limits: ForkLimits) -> Self {
        Self {
            limits,
            original_count: 0,
            current: None,
            slice_index: None,
            summary: None,
            room: Room::beside(0, &limits),
            since_summary: SinceSummary::default(),
        }
    }

    pub fn push(&mut self, item: Item) {
        if matches!(item.kind, Kind::Compaction { .. }) {
            with_repeated_words(item).into_iter().for_each(|item| self.push_alone(item));
        } else {
            self.push_alone(item);
        }
    }

    fn push_alone(&mut self, item: Item) {
        if matches!(item.kind, Kind::Compaction { .. }) {
            self.begin_message(None);
            if readable_summary(&item.kind).is_some() {
                self.start_from(item);
            }
            return;
        }
        if self.current != Some(item.message) {
            self.begin_message(Some(item.message));
        }

        match &item.kind {
            Kind::Call { .. } => self.push_call(item),
            Kind::Result { .. } => self.push_result(item),
            _ => {
                self.add(item, Sort::Plain);
            }
        }
        self.since_summary.records.let_go(&self.room, self.untouched_items_chars_max());
    }

    fn begin_message(&mut self, number: Option<u64>) {
        self.original_count += 1;
        self.current = number;
        self.since_summary.records.begin();
    }

    /// Lets go of everything before a summary.
    fn start_from(&mut self, item: Item) {
        self.slice_index = Some(self.original_count - 1);
        self.since_summary = SinceSummary::default();
        self.summary = Slot::new(item, Sort::Plain, &self.limits);
        self.room = Room::beside(self.summary_chars_min(), &self.limits);
    }

    /// Characters of the summary if it has to be cut because the context does not fit as it is.
    fn summary_chars_min(&self) -> usize {
        self.summary.as_ref().map_or(0, |summary| {
            summary.frame_chars
                + truncated_chars(summary.text.chars(), summary_chars_max(&self.limits), Method::HeadTail)
        })
    }

    /// The most characters that the items after the summary can have without anything being removed.
    fn untouched_items_chars_max(&self) -> usize {
        let summary_chars = self
            .summary
            .as_ref()
            .map_or(0, |summary| summary.frame_chars + summary.text.chars().min(summary_chars_max(&self.limits)));
        room_for(self.limits.untouched_chars_max()).saturating_sub(summary_chars)
    }

    fn push_call(&mut self, item: Item) {
        let Kind::Call { id, .. } = &item.kind else { return };
        let id = id.clone();
        if let Some(at) = self.add(item, Sort::Call { answer: None, rank: self.since_summary.results }) {
            self.since_summary.waiting.call(&id, at);
        }
    }

    fn push_result(&mut self, item: Item) {
        let Kind::Result { id, .. } = &item.kind else { return };
        let call = self.since_summary.waiting.answer(id);
        self.since_summary.results += 1;
        let rank = self.since_summary.results;
        let Some(slot) = Slot::result(item, rank, &self.limits) else { return };

        let cut = slot.tier_method().map(|method| (slot.text.chars(), method));
        let least_chars = slot.least_chars(&self.room);
        let at = self.since_summary.records.add(slot, least_chars, call, rank);
        self.since_summary.recent.push_back(Recent { at, cut });
        self.since_summary.age();
    }

    fn add(&mut self, item: Item, sort: Sort) -> Option<ItemAt> {
        let slot = Slot::new(item, sort, &self.limits)?;
        let least_chars = slot.least_chars(&self.room);
        self.since_summary.records.add(slot, least_chars, None, 0)
    }

    /// Writes the context, and says what was done to it.
    pub fn finish(mut self) -> (String, ProcessingStats) {
        let mut stats = self.stats();
        let removing =
            self.since_summary.records.has_let_go() || self.whole_chars() > self.limits.untouched_chars_max();
        let (results, room) = (self.since_summary.results, removing.then_some(self.room));
        let records = &mut self.since_summary.records;
        if let Some(room) = &room {
            records.weigh(|slot| item_chars(&slot.shown(results, Some(room))));
            stats.removed_messages = records.remove_until_fits(room.chars);
        }

        let summary_limit = if removing { summary_chars_max(&self.limits) } else { usize::MAX };
        let summary =
            self.summary.iter().map(|summary| summary.item_with(summary.text.cut(summary_limit, Method::HeadTail)));
        let slots = records.iter().flat_map(|record| record.slots());
        let items = summary.chain(slots.map(|slot| slot.shown(results, room.as_ref()))).collect();
        let context = format_messages_as_context(&[Message { items }]);
        stats.total_chars = context.chars().count();
        stats.final_count = self.original_count - self.slice_index.unwrap_or(0) - stats.removed_messages;
        (context, stats)
    }

    /// Length of the context if nothing more is removed or shortened.
    fn whole_chars(&self) -> usize {
        let slots = self.since_summary.records.iter().flat_map(|record| record.slots());
        let results = self.since_summary.results;
        let items: usize = slots.map(|slot| slot.frame_chars + slot.tier_chars(slot.tier(results))).sum();
        let summary = self.summary.as_ref().map_or(0, |summary| summary.frame_chars + summary.text.chars());
        context_chars(items + summary)
    }

    fn stats(&self) -> ProcessingStats {
        let since = &self.since_summary;
        let mut stats = ProcessingStats {
            original_count: self.original_count,
            final_count: 0,
            total_chars: 0,
            removed_messages: 0,
            compaction_detected: self.slice_index.is_some(),
            compaction_slice_index: ProcessingStats::slice_index(self.slice_index),
            truncated_results: since.truncated_results,
            tier_distribution: distribution(since.results),
            head_tail_applied: since.head_tail_applied,
        };
        for (newer_results, recent) in since.recent.iter().rev().enumerate() {
            if let Some(method) = recent.truncated_in(Tier::of(newer_results)) {
                stats.truncated_results += 1;
                stats.head_tail_applied += usize::from(method == Method::HeadTail);
            }
        }
        stats
    }

    /// Bytes of text that are held.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.since_summary
            .records
            .iter()
            .flat_map(|record| record.slots())
            .map(|slot| slot.text.held_bytes() + size_of::<Slot>())
            .sum()
    }
}

impl SinceSummary {
    /// The newest result makes all others one older: one may fall into the second tier, and one into
    /// the last.
    fn age(&mut self) {
        let into_second = self.recent.len().checked_sub(FORK_TIER1_COUNT + 1).and_then(|at| self.recent.get(at));
        if let Some(at) = into_second.and_then(|recent| recent.at) {
            self.records.shrink(at, Tier::Two);
        }
        if self.recent.len() > FORK_TIER1_COUNT + FORK_TIER2_COUNT
            && let Some(recent) = self.recent.pop_front()
        {
            if let Some(method) = recent.truncated_in(Tier::Three) {
                self.truncated_results += 1;
                self.head_tail_applied += usize::from(method == Method::HeadTail);
            }
            if let Some(at) = recent.at {
                self.records.shrink(at, Tier::Three);
            }
        }
    }
}

impl Recent {
    /// How a tier cuts the result; `None` if it fits the tier.
    fn truncated_in(&self, tier: Tier) -> Option<Method> {
        let (chars, method) = self.cut?;
        (chars > tier.result_limit()?).then_some(method)
    }
}
