//! A draft of the new thread: what becomes of each item, and the pieces that this gives.

use super::super::ask::items_text;
use super::super::summary::WordsFate;
use super::super::{CompactedThread, SummaryFacts, ThreadPiece, ToStore};
use super::Chain;
use crate::transcript::{Item, Kind};
use crate::{Counter, grouped};

/// What an offloaded result's reference begins with, and what its first sentence ends with.
const STORED_LEAD: &str = "[Tool result stored — ";
const STORED_END: &str = "to read specific portions.";

/// What becomes of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum ItemFate {
    /// It stays as it is.
    Kept,
    /// It is a result, and a reference replaces its text.
    Referenced,
    /// It is not in the new thread.
    Gone,
}

impl ItemFate {
    pub fn tokens(self, at: usize, chain: &Chain<'_>) -> u64 {
        match self {
            Self::Kept => chain.sizes[at],
            Self::Referenced => chain.old_results[at].as_ref().map_or(chain.sizes[at], |old| old.tokens),
            Self::Gone => 0,
        }
    }
}

/// The reference that would replace a result.
pub(super) struct OldResult {
    pub text: String,
    pub tokens: u64,
    /// Whether the result has to be stored, or is a reference itself.
    has_text: bool,
}

impl OldResult {
    /// The reference for an item; `None` if it is no result, or no smaller with one.
    pub fn of(at: usize, item: &Item, size: u64, counter: Counter) -> Option<Self> {
        let Kind::Result { tool, text, .. } = &item.kind else { return None };
        let (text, has_text) = match earlier_reference(text) {
            Some(reference) => (reference.to_owned(), false),
            None => {
                let (bytes, handle) = (grouped(text.len() as u64), placeholder(at + 1));
                let text = format!(
                    "[Old tool result stored — {bytes} bytes from \"{tool}\". Use the \"read_result\" tool with \
                     ref_id=\"{handle}\" to read it.]"
                );
                (text, true)
            }
        };
        let tokens = counter.count(&text);
        (tokens < size).then_some(Self { text, tokens, has_text })
    }
}

/// The first sentence of a result that is a reference already: what it refers to needs no second copy.
fn earlier_reference(text: &str) -> Option<&str> {
    let end = text.starts_with(STORED_LEAD).then(|| text.find(STORED_END)).flatten()?;
    Some(&text[..end + STORED_END.len()])
}

/// What is in a text until the handle is known: as long as a handle, so that it counts the same.
pub(super) fn placeholder(slot: usize) -> String {
    // Mixed, so that neighbours look as unlike each other as handles do.
    let mixed = (slot as u32).wrapping_mul(0x9E37_79B1);
    format!("res_5e1d07c3-{:04x}-4b9a-8f26-{:04x}b04f71d3", mixed >> 16, mixed & 0xFFFF)
}

/// The summary of a draft.
pub(in super::super) struct DraftSummary {
    pub text: String,
    pub words: WordsFate,
    pub facts: SummaryFacts,
    pub tokens: u64,
}

/// A new thread that is weighed against others.
pub(in super::super) struct Draft {
    pub fates: Vec<ItemFate>,
    pub summary: Option<DraftSummary>,
    /// The size of all pieces.
    pub tokens: u64,
}

impl Draft {
    /// The same with a note that a model's words, which an earlier draft had, found no room.
    pub fn with_words_lost(mut self, earlier: Option<&DraftSummary>, tokens_max: u64) -> Self {
        if let (Some(summary), Some(earlier)) = (&mut self.summary, earlier) {
            summary.words = match &earlier.words {
                WordsFate::Used => WordsFate::NoRoom { summary_tokens: earlier.tokens, tokens_max },
                other => other.clone(),
            };
        }
        self
    }

    /// The pieces of the new thread, and what has to be stored for them.
    pub fn pieces(&self, chain: &Chain<'_>) -> (CompactedThread, Vec<ToStore>) {
        let (mut pieces, mut to_store) = (Vec::new(), Vec::new());
        let items = chain.thread.items;
        if let Some(summary) = &self.summary {
            pieces.push(ThreadPiece::Summary { text: summary.text.clone() });
            let gone = items.iter().zip(&self.fates).filter(|(_, fate)| **fate == ItemFate::Gone);
            to_store.push(ToStore {
                placeholder: placeholder(0),
                what: "the conversation before".to_owned(),
                text: items_text(gone.map(|(item, _)| item)),
            });
        }
        for (at, fate) in self.fates.iter().enumerate() {
            match (fate, &items[at].kind, &chain.old_results[at]) {
                (ItemFate::Referenced, Kind::Result { tool, text, .. }, Some(old)) => {
                    pieces.push(ThreadPiece::Reference { item: at, text: old.text.clone() });
                    if old.has_text {
                        let what = format!("a result of {tool}");
                        to_store.push(ToStore { placeholder: placeholder(at + 1), what, text: text.clone() });
                    }
                }
                (ItemFate::Gone, ..) => {}
                (ItemFate::Kept | ItemFate::Referenced, ..) => pieces.push(ThreadPiece::Kept { item: at }),
            }
        }
        (CompactedThread { pieces }, to_store)
    }
}
