//! JSON without secrets, as a type: what replaces a result is stored, so nothing that was not scrubbed may be in it.
//!
//! [`ScrubbedJson::put_together`] is the way to make one: each string comes as [`Scrubbed`] text or is plain base64, and
//! between strings JSON has only punctuation and numbers, which is checked.

use std::sync::Arc;

use crate::Scrubbed;

/// Everything that JSON has between its strings.
const BETWEEN: &[u8] = b"{}[]:,+-. \t\r\n0123456789truefalsenullNaNInfinityE";

/// How long the beginning of an address may be that holds a picture in itself, in bytes.
const MEDIA_HEAD_BYTES_MAX: usize = 128;

/// A JSON value in whose strings no secrets are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScrubbedJson(Arc<[u8]>);

/// A string of a JSON value, which goes into a [`ScrubbedJson`].
#[derive(Debug, Clone, Copy)]
pub enum JsonString<'a> {
    /// A string that was scrubbed. `raw` is its JSON as it was before, whose spelling is kept if nothing changed.
    Scrubbed {
        /// The string before, with its quotes.
        raw: &'a str,
        /// What it says now.
        text: &'a Scrubbed,
    },
    /// A picture or the like in base64, with its quotes.
    Media(&'a str),
}

impl ScrubbedJson {
    /// Puts a value together from its strings and what is between them: `between` has one piece more than there are
    /// strings. `None` if a piece has more than punctuation and numbers, or if a picture is none.
    pub fn put_together(between: &[&str], strings: &[JsonString<'_>]) -> Option<Self> {
        let (first, rest) = between.split_first()?;
        if rest.len() != strings.len() || between.iter().any(|piece| piece.bytes().any(|byte| !BETWEEN.contains(&byte)))
        {
            return None;
        }
        let mut json = String::from(*first);
        for (string, after) in strings.iter().zip(rest) {
            match string {
                JsonString::Media(raw) if !is_media(raw) => return None,
                JsonString::Media(raw) => json.push_str(raw),
                JsonString::Scrubbed { raw, text } if says(raw, text.as_str()) => json.push_str(raw),
                JsonString::Scrubbed { text, .. } => json.push_str(&serde_json::to_string(text.as_str()).ok()?),
            }
            json.push_str(after);
        }
        Some(Self(json.into_bytes().into()))
    }

    /// A value that was stored. Only the store calls this: what it holds was scrubbed before.
    pub fn stored(json: String) -> Self {
        Self(json.into_bytes().into())
    }

    /// The value's bytes.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.0
    }
}

fn says(raw: &str, text: &str) -> bool {
    serde_json::from_str::<String>(raw).is_ok_and(|said| said == text)
}

/// Whether the JSON of a string is plain base64, by itself or in an address.
pub fn is_media(raw: &str) -> bool {
    let Some(inside) = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')) else { return false };
    let (head, data) = inside.split_once(";base64,").unwrap_or(("", inside));
    let is_head = |byte: u8| byte.is_ascii_alphanumeric() || b":/;=.+-\\".contains(&byte);
    let is_data = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\\".contains(&byte);
    head.len() <= MEDIA_HEAD_BYTES_MAX && head.bytes().all(is_head) && data.bytes().all(is_data)
}

#[cfg(test)]
mod tests;
