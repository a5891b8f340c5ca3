//! Items on their way into a fork, some at a time: their texts are scrubbed before anything of them is cut,
//! because half a secret is no longer recognised as one.
//!
//! Scrubbing is bounded in time, so how much of a transcript is scrubbed in one go is bounded here.

use crate::Scrubbed;
use crate::transcript::{Item, Kind};

/// Texts that are scrubbed in one go, in bytes: each go has the scrubber's whole time.
const BATCH_BYTES: usize = 1 << 20;

/// Items that wait to be scrubbed together.
#[derive(Debug, Default)]
pub struct ForkBatch {
    items: Vec<Item>,
    bytes: usize,
}

impl ForkBatch {
    /// Adds an item. If the batch is full with it, it is given back, to be scrubbed, and the next one begins.
    #[must_use]
    pub fn push(&mut self, mut item: Item) -> Option<Self> {
        self.bytes += texts_of(&mut item).iter().map(|text| text.len()).sum::<usize>();
        self.items.push(item);
        (self.bytes >= BATCH_BYTES).then(|| std::mem::take(self))
    }

    /// The texts that may hold a secret. They are not in the items until they are put back.
    pub fn take_texts(&mut self) -> Vec<String> {
        self.items.iter_mut().flat_map(texts_of).map(std::mem::take).collect()
    }

    /// The items, with the texts that were taken put back without their secrets.
    pub fn with_texts(mut self, scrubbed: Vec<Scrubbed>) -> Vec<Item> {
        for (text, scrubbed) in self.items.iter_mut().flat_map(texts_of).zip(scrubbed) {
            *text = scrubbed.into_string();
        }
        self.items
    }

    /// The items as they are.
    pub fn into_items(self) -> Vec<Item> {
        self.items
    }
}

/// The texts of an item of which a part may be cut off.
fn texts_of(item: &mut Item) -> Vec<&mut String> {
    match &mut item.kind {
        Kind::System { text } | Kind::User { text, .. } | Kind::Assistant { text } | Kind::Reasoning { text, .. } => {
            vec![text]
        }
        Kind::Result { text, tool, .. } => vec![text, tool],
        Kind::Call { input, tool, .. } => vec![input, tool],
        Kind::Compaction { summary, kept } => summary.iter_mut().chain(kept.iter_mut().flat_map(texts_of)).collect(),
        Kind::Clearing { .. } => Vec::new(),
        Kind::Other { json, name } => vec![json, name],
    }
}
