//! The first stage: a client that compacted its context has said what came before in a summary, so
//! the fork starts there.
//!
//! What is kept is the summary and everything after it. Of the items from before that the client
//! repeats beside the summary (`kept`) the person's words come behind it, as a message of their own: a
//! fork must not lose what the client did not. The rest of them is what the summary tells of.
//! A compaction whose summary cannot be read is no boundary: cutting there would lose what it stands
//! for.

use super::message::{Message, readable_summary};

/// What the first stage gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sliced {
    /// The summary and what came after it, or everything.
    pub messages: Vec<Message>,
    /// Which message the summary was, counted from 0.
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
pub(super) fn holds_summary(message: &Message) -> bool {
    message.items.iter().any(|item| readable_summary(&item.kind).is_some())
}
