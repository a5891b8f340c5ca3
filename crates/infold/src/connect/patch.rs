//! Undoes a change byte for byte. For that it keeps the old text between the first and the last difference.

use serde::{Deserialize, Serialize};

/// Turns a changed text back into what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// Whether the file existed before the change.
    existed: bool,
    /// Hash of the changed text. A text with another hash is not turned back.
    after_hash: String,
    /// Bytes at the front that are the same in both texts.
    front_bytes: usize,
    /// Bytes at the end that are the same in both texts.
    end_bytes: usize,
    /// The old text between them.
    middle: String,
}

impl Patch {
    /// The patch that turns `after` back into `before`.
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

    /// The old text; `None` if `now` is not the changed text, `Some(None)` if the file did not exist before.
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
