//! Text without secrets, as a type: a function that takes `Scrubbed` cannot be given anything else.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::placeholder;

/// Text that was scrubbed, or was put together from such text and words of infold's own.
///
/// Two are equal if they read the same, however many secrets were replaced in making them.
#[derive(Debug, Clone, Default)]
pub struct Scrubbed {
    text: String,
    secrets: u32,
}

impl Scrubbed {
    /// The outcome of scrubbing. Only the scrubber calls this.
    pub(super) fn made(text: String, secrets: u32) -> Self {
        Self { text, secrets }
    }

    /// Words from infold's own source, which hold no secret.
    pub fn fixed(words: &'static str) -> Self {
        Self { text: words.to_owned(), secrets: 0 }
    }

    /// Text that the core has put together from scrubbed text, figures and words of its own. Whoever calls this must
    /// see to it that nothing else goes in.
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

    /// The text, with placeholders where secrets were.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The plain text, for a place where the type is not needed any more.
    pub fn into_string(self) -> String {
        self.text
    }

    /// Its length in characters, not bytes; goes through all of it.
    pub fn len_chars(&self) -> usize {
        self.text.chars().count()
    }

    /// Whether it has no characters at all.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether secrets were replaced in it, and nothing but placeholders and blanks is left.
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
        let cut = self.placeholder_around(cut).map_or(cut, |around| around.start);
        Self { text: self.text[..cut].to_owned(), secrets: self.secrets }
    }

    /// The last `chars_max` characters, or fewer where the cut would go through a placeholder.
    #[must_use]
    pub fn tail_chars(&self, chars_max: usize) -> Self {
        let cut = byte_of_char(&self.text, self.len_chars().saturating_sub(chars_max));
        let cut = self.placeholder_around(cut).map_or(cut, |around| around.end);
        Self { text: self.text[cut..].to_owned(), secrets: self.secrets }
    }

    /// The placeholder that a cut at `byte` would go through.
    fn placeholder_around(&self, byte: usize) -> Option<std::ops::Range<usize>> {
        placeholder::find_all(&self.text)
            .take_while(|placeholder| placeholder.start < byte)
            .find(|placeholder| byte < placeholder.end)
    }
}

/// The byte at which the character after the first `chars` starts; the end of the text if there is none.
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
    /// Writes a plain string, without the number of secrets.
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
