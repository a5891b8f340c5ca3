//! Messages: the items that a client sent together. The stages count and remove whole messages.

use crate::transcript::{Item, Kind, Voice};

/// Items of a transcript that came in one message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// Its items, in the order of the transcript.
    pub items: Vec<Item>,
}

/// A compaction, followed by the person's words that the client repeats beside it. They are left out beside a summary
/// that cannot be read: no fork starts there, so all that it was made of comes before it.
pub(super) fn with_repeated_words(mut item: Item) -> Vec<Item> {
    let message = item.message;
    let is_start = readable_summary(&item.kind).is_some();
    let repeated = match &mut item.kind {
        Kind::Compaction { kept, .. } => std::mem::take(kept),
        _ => Vec::new(),
    };
    let is_person = |item: &Item| is_start && matches!(item.kind, Kind::User { voice: Voice::Person, .. });
    let words = repeated.into_iter().filter(is_person).map(|words| Item { message, ..words });
    std::iter::once(item).chain(words).collect()
}

/// The summary of a compaction from which a fork can start. `None` if it is sealed or empty.
pub(super) fn readable_summary(kind: &Kind) -> Option<&str> {
    match kind {
        Kind::Compaction { summary: Some(summary), .. } if !summary.trim().is_empty() => Some(summary),
        _ => None,
    }
}

/// The text of an item that can be cut; `None` if it has none.
pub(super) fn text_mut(kind: &mut Kind) -> Option<&mut String> {
    match kind {
        Kind::System { text }
        | Kind::User { text, .. }
        | Kind::Assistant { text }
        | Kind::Reasoning { text, .. }
        | Kind::Result { text, .. } => Some(text),
        Kind::Call { input, .. } => Some(input),
        Kind::Compaction { summary, .. } => summary.as_mut(),
        Kind::Other { json, .. } => Some(json),
        Kind::Clearing { .. } => None,
    }
}
