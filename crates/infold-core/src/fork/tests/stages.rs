//! The three stages as the requirement describes them, each a function from messages to messages. The fork that takes
//! items one by one has to give the same.

use super::*;
use crate::fork::budget::{Room, summary_chars_max};
use crate::fork::format::{Frame, context_chars, format_messages_as_context, item_chars};
use crate::fork::message::{readable_summary, text_mut, with_repeated_words};
use crate::fork::pairs::{ItemAt, WaitingCalls};
use crate::fork::tiers::{distribution, passes_unchanged};

/// Runs the three stages over a whole transcript.
pub fn process_messages_for_fork(messages: Vec<Message>, limits: &ForkLimits) -> Forked {
    let original_count = messages.len();
    let sliced = slice_from_compaction_boundary(messages);
    let graduated = apply_graduated_truncation(sliced.messages);
    let budgeted = enforce_character_budget(graduated.messages, limits);

    let stats = ProcessingStats {
        original_count,
        final_count: budgeted.messages.len(),
        total_chars: budgeted.context.chars().count(),
        removed_messages: budgeted.removed_messages,
        compaction_detected: sliced.slice_index.is_some(),
        compaction_slice_index: ProcessingStats::slice_index(sliced.slice_index),
        truncated_results: graduated.truncated_results,
        tier_distribution: graduated.tier_distribution,
        head_tail_applied: graduated.head_tail_applied,
    };
    Forked { context: budgeted.context, preamble: build_fork_preamble(&stats, limits), stats }
}

/// Groups items into messages by their numbers. A compaction is a message of its own, whatever number it
/// carries, because the transcript may be cut there.
pub fn group_messages(items: impl IntoIterator<Item = Item>) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for item in items.into_iter().flat_map(with_repeated_words) {
        match messages.last_mut() {
            Some(message) if message.items.last().is_some_and(|last| belong_together(last, &item)) => {
                message.items.push(item);
            }
            _ => messages.push(Message { items: vec![item] }),
        }
    }
    messages
}

fn belong_together(before: &Item, item: &Item) -> bool {
    let compaction = |item: &Item| matches!(item.kind, Kind::Compaction { .. });
    before.message == item.message && !compaction(before) && !compaction(item)
}

/// The outcome of the first stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sliced {
    /// The summary and what came after it, or everything.
    pub messages: Vec<Message>,
    /// The message that was the summary, counted from 0; `None` if there was none.
    pub slice_index: Option<usize>,
}

/// Drops everything before the latest readable summary.
pub fn slice_from_compaction_boundary(mut messages: Vec<Message>) -> Sliced {
    let slice_index = messages.iter().rposition(holds_summary);
    if let Some(index) = slice_index {
        messages.drain(..index);
    }
    Sliced { messages, slice_index }
}

/// Whether a message is a readable summary.
pub fn holds_summary(message: &Message) -> bool {
    message.items.iter().any(|item| readable_summary(&item.kind).is_some())
}
/// The outcome of the second stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graduated {
    /// The messages, with results and parameters cut to their tiers.
    pub messages: Vec<Message>,
    /// Results that were cut.
    pub truncated_results: usize,
    /// Results of which both ends stayed.
    pub head_tail_applied: usize,
    /// How the results are spread over the tiers.
    pub tier_distribution: TierDistribution,
}

/// Cuts every result and every call's parameters to what their tier allows.
pub fn apply_graduated_truncation(mut messages: Vec<Message>) -> Graduated {
    let links = Links::of(&messages);
    let (mut truncated_results, mut head_tail_applied) = (0, 0);
    for (at, message) in messages.iter_mut().enumerate() {
        for (in_message, item) in message.items.iter_mut().enumerate() {
            match (&mut item.kind, links.at(at, in_message)) {
                (Kind::Call { input, .. }, Link::Call { rank, .. }) => {
                    let limit = Tier::of(links.results - rank).params_limit();
                    if let Some(shorter) = truncate(input, limit, Method::HeadOnly) {
                        *input = shorter;
                    }
                }
                (Kind::Result { tool, text, held, .. }, Link::Result { rank }) => {
                    let limit = Tier::of(links.results - rank).result_limit();
                    if let Some((shorter, method)) = limit.and_then(|limit| truncated_result(tool, text, *held, limit))
                    {
                        *text = shorter;
                        truncated_results += 1;
                        head_tail_applied += usize::from(method == Method::HeadTail);
                    }
                }
                _ => {}
            }
        }
    }
    Graduated { messages, truncated_results, head_tail_applied, tier_distribution: distribution(links.results) }
}

fn truncated_result(tool: &str, text: &str, held: HeldContent, limit: usize) -> Option<(String, Method)> {
    if text.len() <= limit || passes_unchanged(text, held) {
        return None;
    }
    let method = Method::for_result(tool, text);
    Some((truncate(text, limit, method)?, method))
}

/// The outcome of the third stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budgeted {
    /// The messages that are left.
    pub messages: Vec<Message>,
    /// The messages as the child reads them.
    pub context: String,
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

/// The index of the first message that may be removed: a summary at the front stays.
fn first_removable(messages: &[Message]) -> usize {
    usize::from(messages.first().is_some_and(holds_summary))
}

/// What is known about the oldest message that can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oldest {
    /// It is whole: its size decides whether it goes as one.
    Undecided,
    /// It has lost items already, because it did not fit whole; the rest of it goes the same way.
    Divided,
}

/// What is left after messages were removed.
pub struct Removal {
    pub messages: Vec<Message>,
    /// How many messages were removed from the front, after the summary.
    pub in_turn: usize,
    /// How many later ones are gone because they held nothing but results of removed calls.
    pub emptied: usize,
}

/// Removes the oldest messages after the summary until the rest fits.
pub fn remove_oldest(messages: Vec<Message>, room_chars: usize, oldest: Oldest) -> Removal {
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

/// The sizes of the items that are left.
struct Remover {
    links: Links,
    /// Characters of each item; 0 if it is not shown or was removed.
    chars: Vec<Vec<usize>>,
    /// The sum of all characters but the summary's.
    chars_left: usize,
}

impl Remover {
    fn new(messages: &[Message], first: usize) -> Self {
        let sizes = |message: &Message| message.items.iter().map(item_chars).collect();
        let chars: Vec<Vec<usize>> = messages.iter().map(sizes).collect();
        let chars_left = chars[first..].iter().flatten().sum();
        Self { links: Links::of(messages), chars, chars_left }
    }

    /// Characters of a message, and of results in other messages that belong to its calls.
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

/// Which call and result belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// It is neither a call nor a result.
    None,
    /// A call. `rank` is that of its result, or how many results came before it.
    Call { answer: Option<ItemAt>, rank: usize },
    /// A result: the first has rank 1.
    Result { rank: usize },
}

/// The links of all items, by message.
pub struct Links {
    rows: Vec<Vec<Link>>,
    /// How many results the transcript has.
    pub results: usize,
}

impl Links {
    pub fn of(messages: &[Message]) -> Self {
        let mut links = Self { rows: Vec::with_capacity(messages.len()), results: 0 };
        let mut waiting = WaitingCalls::default();
        for (message, content) in messages.iter().enumerate() {
            links.rows.push(Vec::with_capacity(content.items.len()));
            for (item, content) in content.items.iter().enumerate() {
                let link = links.link(&content.kind, ItemAt { message, item }, &mut waiting);
                links.rows[message].push(link);
            }
        }
        links
    }

    fn link(&mut self, kind: &Kind, at: ItemAt, waiting: &mut WaitingCalls) -> Link {
        match kind {
            Kind::Call { id, .. } => {
                waiting.call(id, at);
                Link::Call { answer: None, rank: self.results }
            }
            Kind::Result { id, .. } => {
                self.results += 1;
                if let Some(call) = waiting.answer(id) {
                    self.rows[call.message][call.item] = Link::Call { answer: Some(at), rank: self.results };
                }
                Link::Result { rank: self.results }
            }
            Kind::System { .. }
            | Kind::User { .. }
            | Kind::Assistant { .. }
            | Kind::Reasoning { .. }
            | Kind::Compaction { .. }
            | Kind::Clearing { .. }
            | Kind::Other { .. } => Link::None,
        }
    }

    pub fn at(&self, message: usize, item: usize) -> Link {
        self.rows[message][item]
    }
}
