//! Messages: the items that a client sent together. They are what is counted and removed.

use crate::transcript::{Item, Kind, Voice};

/// A message of the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// What it holds, in order.
    pub items: Vec<Item>,
}

/// A compaction and, if it can be started from, the person's words that the client repeats beside it. One that
/// cannot be read stands behind everything that it was made of.
pub(super) fn with_kept_words(mut item: Item) -> Vec<Item> {
    let message = item.message;
    let is_start = readable_summary(&item.kind).is_some();
    let kept = match &mut item.kind {
        Kind::Compaction { kept, .. } => std::mem::take(kept),
        _ => Vec::new(),
    };
    let is_said = |item: &Item| is_start && matches!(item.kind, Kind::User { voice: Voice::Person, .. });
    let words = kept.into_iter().filter(is_said).map(|words| Item { message, ..words });
    std::iter::once(item).chain(words).collect()
}

/// The summary of a compaction from which a fork can start. One that is sealed or empty is none.
pub(super) fn readable_summary(kind: &Kind) -> Option<&str> {
    match kind {
        Kind::Compaction { summary: Some(summary), .. } if !summary.trim().is_empty() => Some(summary),
        _ => None,
    }
}

/// The text by which an item can be made shorter.
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
