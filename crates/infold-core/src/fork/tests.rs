//! Forks as text: a transcript goes in, the child's context comes out.

mod boundary;
mod budget;
mod constants;
mod format;
mod same_as_whole;
mod stages;
mod stream;
mod tiers;
mod truncation;
mod whole;

use super::*;
use crate::transcript::{CallOutcome, HeldContent, ItemPosition, Kind, Voice};
use stages::*;

fn item(message: u64, kind: Kind) -> Item {
    Item { place: ItemPosition::default(), message, kind }
}

fn user(message: u64, text: &str) -> Item {
    item(message, Kind::User { text: text.to_owned(), voice: Voice::Person })
}

fn assistant(message: u64, text: &str) -> Item {
    item(message, Kind::Assistant { text: text.to_owned() })
}

fn reasoning(message: u64, text: &str) -> Item {
    item(message, Kind::Reasoning { text: text.to_owned(), sealed_bytes: 0 })
}

fn call(message: u64, id: &str, tool: &str, input: &str) -> Item {
    item(message, Kind::Call { id: id.to_owned(), tool: tool.to_owned(), input: input.to_owned() })
}

fn result(message: u64, id: &str, tool: &str, text: &str) -> Item {
    let (id, tool, text) = (id.to_owned(), tool.to_owned(), text.to_owned());
    item(message, Kind::Result { id, tool, text, outcome: CallOutcome::Unsaid, held: HeldContent::Whole })
}

fn compaction(message: u64, summary: Option<&str>) -> Item {
    item(message, Kind::Compaction { summary: summary.map(str::to_owned), kept: Vec::new() })
}

/// A transcript with so many calls, each answered by `text` in the message after it.
fn calls(count: usize, tool: &str, input: &str, text: &str) -> Vec<Item> {
    let pair = |at: usize| {
        let (message, id) = (at as u64 * 2, format!("c{at}"));
        [call(message, &id, tool, input), result(message + 1, &id, tool, text)]
    };
    (0..count).flat_map(pair).collect()
}

/// The texts of all results, in order.
fn results(messages: &[Message]) -> Vec<&str> {
    let items = messages.iter().flat_map(|message| &message.items);
    items.filter(|item| matches!(item.kind, Kind::Result { .. })).map(Item::text).collect()
}

/// The parameters of all calls, in order.
fn params(messages: &[Message]) -> Vec<&str> {
    let items = messages.iter().flat_map(|message| &message.items);
    items.filter(|item| matches!(item.kind, Kind::Call { .. })).map(Item::text).collect()
}

fn fork(items: Vec<Item>) -> Forked {
    process_messages_for_fork(group_messages(items), &ForkLimits::default())
}

fn fork_within(char_budget: usize, items: Vec<Item>) -> Forked {
    process_messages_for_fork(group_messages(items), &ForkLimits::with_char_budget(char_budget))
}

fn streamed(limits: ForkLimits, items: Vec<Item>) -> Forked {
    let mut fork = Fork::new(Profile::Seed, limits);
    items.into_iter().for_each(|item| fork.push(item));
    fork.finish()
}
