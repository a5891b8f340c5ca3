//! Text without secrets. That it is one is known by its type.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::placeholder;

/// Text that was scrubbed, or was put together of such text and words of our own.
///
/// Two are equal if they read the same, however many secrets were replaced in making them.
#[derive(Debug, Clone, Default)]
pub struct Scrubbed {
    text: String,
    secrets: u32,
}

impl Scrubbed {
    /// What scrubbing made. Only the scrubber calls this.
    pub(super) fn made(text: String, secrets: u32) -> Self {
        Self { text, secrets }
    }

    /// Words of our own, which hold no secret because they are in the source.
    pub fn fixed(words: &'static str) -> Self {
        Self { text: words.to_owned(), secrets: 0 }
    }

    /// A figure of our own with what it counts: `label: count`.
    pub fn count_of(label: &'static str, count: u64) -> Self {
        Self { text: format!("{label}: {count}"), secrets: 0 }
    }

    /// Text that the core has put together of scrubbed text, figures and words of its own. Whoever
    /// calls this vouches that nothing else went in.
    pub(crate) fn composed(text: String) -> Self {
        Self { text, secrets: 0 }
    }

    /// The parts in their order, with `separator` between. Use one that no token contains, such
    /// as a line end: with nothing between, two harmless halves might read as one secret.
    pub fn join(parts: &[&Self], separator: &'static str) -> Self {
        let texts: Vec<&str> = parts.iter().map(|part| part.as_str()).collect();
        Self {
            text: texts.join(separator),
            secrets: parts.iter().fold(0, |sum, part| sum.saturating_add(part.secrets)),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text, given up to somebody who does not need to know where it came from.
    pub fn into_string(self) -> String {
        self.text
    }

    /// How many characters it has.
    pub fn len_chars(&self) -> usize {
        self.text.chars().count()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether nothing but placeholders is left.
    pub fn is_only_placeholders(&self) -> bool {
        let mut left = self.text.clone();
        let spans: Vec<_> = placeholder::find_all(&self.text).collect();
        for span in spans.into_iter().rev() {
            left.replace_range(span, "");
        }
        self.secrets > 0 && left.trim().is_empty()
    }

    /// How many secrets were replaced in making it. Text read back from a store says 0.
    pub fn secrets(&self) -> u32 {
        self.secrets
    }

    /// The first `chars_max` characters, or fewer where the cut would go through a placeholder.
    #[must_use]
    pub fn head_chars(&self, chars_max: usize) -> Self {
        let cut = byte_of_char(&self.text, chars_max);
        let cut = self.placeholder_around(cut).map_or(cut, |standing| standing.start);
        Self { text: self.text[..cut].to_owned(), secrets: self.secrets }
    }

    /// The last `chars_max` characters, or fewer where the cut would go through a placeholder.
    #[must_use]
    pub fn tail_chars(&self, chars_max: usize) -> Self {
        let cut = byte_of_char(&self.text, self.len_chars().saturating_sub(chars_max));
        let cut = self.placeholder_around(cut).map_or(cut, |standing| standing.end);
        Self { text: self.text[cut..].to_owned(), secrets: self.secrets }
    }

    /// The placeholder that a cut at `byte` would go through.
    fn placeholder_around(&self, byte: usize) -> Option<std::ops::Range<usize>> {
        placeholder::find_all(&self.text)
            .take_while(|standing| standing.start < byte)
            .find(|standing| byte < standing.end)
    }
}

/// Where the character after the first `chars` starts; the end, where there are no more.
fn byte_of_char(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(byte, _)| byte)
}

impl PartialEq for Scrubbed {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Scrubbed {}

impl Serialize for Scrubbed {
    /// As a plain string.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Scrubbed {
    /// From a plain string. Only for what a store reads back, which was scrubbed before it was
    /// stored. Never for what a caller sent: that goes through [`Scrubber::scrub`].
    ///
    /// [`Scrubber::scrub`]: super::Scrubber::scrub
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { text: String::deserialize(deserializer)?, secrets: 0 })
    }
}
