//! The third stage: the context fits the character budget.
//!
//! Up to [`super::FORK_CHAR_NO_REMOVAL`], and between that and the budget, nothing is taken away. Over
//! the budget the oldest messages go, one after another, until the rest fits. What the requirement
//! leaves open is settled so:
//!
//! - A call and its result go together, wherever the two stand.
//! - The summary of a compaction is the oldest message there is, and the one whose loss would cost
//!   most. It stays, and the budget is for it and for what follows; it may take up half of it.
//! - A text that would not fit by itself is shortened to both its ends before anything is removed.
//!   It then takes up half of what there is, so that what came before it has room too.
//! - A message that does not fit with what belongs to it, though each of its items would, loses its
//!   oldest items instead of going whole.
//!
//! So the newest item is always there. (Not so under a budget of a few hundred characters, where the
//! headings alone may be too long.)

use super::boundary::holds_summary;
use super::constants::ForkLimits;
use super::format::{Frame, context_chars, format_messages_as_context, item_chars, room_for};
use super::message::{Message, text_mut};
use super::pairs::{Link, Links};
use super::truncate::{Method, truncate, truncated_chars};
use crate::transcript::{HeldContent, Kind};

/// More characters than a call with its heading has, and the heading of its result.
const CALL_CHARS_MAX: usize = 1_000;

/// What the third stage gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budgeted {
    /// The messages that are left.
    pub messages: Vec<Message>,
    /// Their text.
    pub context: String,
    /// How many were removed.
    pub removed_messages: usize,
}

/// Removes the oldest messages until the rest fits, if it does not fit as it is.
pub fn enforce_character_budget(mut messages: Vec<Message>, limits: &ForkLimits) -> Budgeted {
    let items_chars: usize = messages.iter().flat_map(|message| &message.items).map(item_chars).sum();
    if context_chars(items_chars) <= limits.untouched_chars_max() {
        let context = format_messages_as_context(&messages);
        return Budgeted { messages, context, removed_messages: 0 };
    }

    let room = shorten_oversized(&mut messages, limits);
    let removal = remove_oldest(messages, room.chars, Oldest::Undecided);

    let context = format_messages_as_context(&removal.messages);
    Budgeted { messages: removal.messages, context, removed_messages: removal.in_turn + removal.emptied }
}

/// What there is room for beside the summary.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Characters of items.
    pub chars: usize,
    /// An item with more is shortened.
    item_chars_max: usize,
    /// Characters that are kept of the text of an item that is shortened.
    pub shortened_chars: usize,
}

impl Room {
    /// The room beside a summary whose item has so many characters.
    pub fn beside(summary_chars: usize, limits: &ForkLimits) -> Self {
        let chars = room_for(limits.char_budget).saturating_sub(summary_chars);
        // A result must fit together with its call.
        let item_chars_max = chars - CALL_CHARS_MAX.min(chars / 4);
        Self { chars, item_chars_max, shortened_chars: chars / 2 }
    }

    /// Whether the text of an item is shortened.
    pub fn shortens(&self, kind: &Kind, frame_chars: usize, text_chars: usize) -> bool {
        let has_text = match kind {
            Kind::User { .. } | Kind::Assistant { .. } | Kind::Result { held: HeldContent::Whole, .. } => true,
            Kind::Result { held: HeldContent::Cleared, .. }
            | Kind::System { .. }
            | Kind::Reasoning { .. }
            | Kind::Call { .. }
            | Kind::Compaction { .. }
            | Kind::Clearing { .. }
            | Kind::Other { .. } => false,
        };
        has_text
            && frame_chars + text_chars > self.item_chars_max
            && truncated_chars(text_chars, self.shortened_chars, Method::HeadTail) < text_chars
    }

    /// Characters of an item once it has been shortened, if that was called for.
    pub fn shown_chars(&self, kind: &Kind, frame_chars: usize, text_chars: usize) -> usize {
        if self.shortens(kind, frame_chars, text_chars) {
            frame_chars + truncated_chars(text_chars, self.shortened_chars, Method::HeadTail)
        } else {
            frame_chars + text_chars
        }
    }
}

/// Characters that are kept of a summary when the context does not fit as it is.
pub(super) fn summary_chars_max(limits: &ForkLimits) -> usize {
    limits.char_budget / 2
}

fn shorten_oversized(messages: &mut [Message], limits: &ForkLimits) -> Room {
    let mut summary_chars = 0;
    let (summary, rest) = messages.split_at_mut(first_removable(messages));
    for item in summary.iter_mut().flat_map(|message| &mut message.items) {
        shorten(&mut item.kind, summary_chars_max(limits));
        summary_chars += item_chars(item);
    }

    let room = Room::beside(summary_chars, limits);
    for item in rest.iter_mut().flat_map(|message| &mut message.items) {
        let frame_chars = Frame::of(&item.kind).map_or(0, |frame| frame.chars());
        if room.shortens(&item.kind, frame_chars, item_chars(item).saturating_sub(frame_chars)) {
            shorten(&mut item.kind, room.shortened_chars);
        }
    }
    room
}

fn shorten(kind: &mut Kind, limit: usize) {
    if let Some(text) = text_mut(kind)
        && let Some(shorter) = truncate(text, limit, Method::HeadTail)
    {
        *text = shorter;
    }
}

/// The summary stays, if there is one: it is the first message.
fn first_removable(messages: &[Message]) -> usize {
    usize::from(messages.first().is_some_and(holds_summary))
}

/// What is known about the oldest message that can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Oldest {
    /// Nothing: its size decides.
    Undecided,
    /// It has lost items already, because it did not fit whole; the rest of it goes the same way.
    Divided,
}

/// What was removed.
pub(super) struct Removal {
    /// What is left.
    pub messages: Vec<Message>,
    /// How many messages went from the front, after the summary.
    pub in_turn: usize,
    /// How many of those behind them are gone because nothing but results of removed calls was in
    /// them.
    pub emptied: usize,
}

/// Removes the oldest messages after the summary until the rest has at most so many characters.
pub(super) fn remove_oldest(messages: Vec<Message>, room_chars: usize, oldest: Oldest) -> Removal {
    let first = first_removable(&messages);
    let mut remover = Remover::new(&messages, first);
    let mut cut = first;
    for (at, message) in messages.iter().enumerate().skip(first) {
        if remover.chars_left <= room_chars {
            break;
        }
        let weight = remover.weight(at);
        // A message that shows nothing makes no difference; it goes when one after it does.
        if weight == 0 {
            continue;
        }
        let divided = weight > room_chars || (at == first && oldest == Oldest::Divided);
        for item in 0..message.items.len() {
            if divided && remover.chars_left <= room_chars {
                break;
            }
            remover.remove(at, item);
        }
        if remover.chars[at].iter().all(|chars| *chars == 0) {
            cut = at + 1;
        }
    }
    remover.take_out(messages, first, cut)
}

/// The sizes of what is still there.
struct Remover {
    links: Links,
    /// Characters of each item; 0 if it is not shown or was removed.
    chars: Vec<Vec<usize>>,
    /// Their sum, without the summary.
    chars_left: usize,
}

impl Remover {
    fn new(messages: &[Message], first: usize) -> Self {
        let sizes = |message: &Message| message.items.iter().map(item_chars).collect();
        let chars: Vec<Vec<usize>> = messages.iter().map(sizes).collect();
        let chars_left = chars[first..].iter().flatten().sum();
        Self { links: Links::of(messages), chars, chars_left }
    }

    /// Characters of a message and of the results elsewhere that belong to its calls.
    fn weight(&self, message: usize) -> usize {
        let items = self.chars[message].iter().enumerate();
        items
            .map(|(item, chars)| match self.links.at(message, item) {
                Link::Call { answer: Some(answer), .. } if answer.message != message => {
                    chars + self.chars[answer.message][answer.item]
                }
                _ => *chars,
            })
            .sum()
    }

    fn remove(&mut self, message: usize, item: usize) {
        self.chars_left -= std::mem::take(&mut self.chars[message][item]);
        if let Link::Call { answer: Some(answer), .. } = self.links.at(message, item) {
            self.chars_left -= std::mem::take(&mut self.chars[answer.message][answer.item]);
        }
    }

    fn take_out(self, messages: Vec<Message>, first: usize, cut: usize) -> Removal {
        let mut left = Vec::with_capacity(messages.len() - (cut - first));
        let mut emptied = 0;
        for (at, (mut message, chars)) in messages.into_iter().zip(self.chars).enumerate() {
            if at >= first && at < cut {
                continue;
            }
            let items = message.items.len();
            let mut sizes = chars.iter();
            message
                .items
                .retain(|item| sizes.next().is_some_and(|chars| *chars > 0) || Frame::of(&item.kind).is_none());
            if message.items.len() < items && chars.iter().all(|chars| *chars == 0) {
                emptied += 1;
            } else {
                left.push(message);
            }
        }
        Removal { messages: left, in_turn: cut - first, emptied }
    }
}
