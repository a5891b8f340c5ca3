//! The way back, byte for byte: what stood between the first and the last place that was changed.

use serde::{Deserialize, Serialize};

/// Takes a changed text back to what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// Whether there was a file at all.
    existed: bool,
    /// Which text it takes back.
    after_hash: String,
    /// Bytes at the front that are the same.
    front_bytes: usize,
    /// Bytes at the end that are the same.
    end_bytes: usize,
    /// What stood in between.
    middle: String,
}

impl Patch {
    /// From what a text was to what it is.
    pub fn between(before: Option<&str>, after: &str) -> Self {
        let text = before.unwrap_or_default();
        let front_bytes = text.chars().zip(after.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
        let (text_rest, after_rest) = (&text[front_bytes..], &after[front_bytes..]);
        let ends = text_rest.chars().rev().zip(after_rest.chars().rev());
        let end_bytes: usize = ends.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
        Self {
            existed: before.is_some(),
            after_hash: hash(after),
            front_bytes,
            end_bytes,
            middle: text_rest[..text_rest.len() - end_bytes].to_owned(),
        }
    }

    /// What the text was, if it is still what it was made: `Some(None)` for a file that was not there.
    pub fn reversed(&self, now: &str) -> Option<Option<String>> {
        if hash(now) != self.after_hash {
            return None;
        }
        if !self.existed {
            return Some(None);
        }
        let front = now.get(..self.front_bytes)?;
        let end = now.get(now.len().checked_sub(self.end_bytes)?..)?;
        Some(Some(format!("{front}{}{end}", self.middle)))
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}
