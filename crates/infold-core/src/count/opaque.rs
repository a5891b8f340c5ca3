//! Tokens of content that is not text: images by their pixels, as providers bill them, and sealed content by its
//! length. Base64 is never counted as text: a picture of a megabyte would weigh as much as a book.
//!
//! Anthropic scales an image down to a longest edge and then counts a token for each 750 pixels, up to a cap; OpenAI
//! counts tiles of 512 pixels. Where the size cannot be read (a URL, a file that only the provider has) a flat
//! figure is taken, and another for a document.

mod pixels;

#[cfg(test)]
mod tests;

use serde_json::Value;

use super::Family;
use pixels::pixels_of_image;
pub use pixels::{Pixels, pixels_of_file};

/// Counted for an image whose size cannot be read: the most that a Claude before 4.7 counts, four tiles of a GPT.
const CLAUDE_IMAGE_TOKENS: u64 = 1_600;
const GPT_IMAGE_TOKENS: u64 = 630;
/// Counted for a document. Only the provider knows how many pages it has; this is about one page, text and picture.
const DOCUMENT_TOKENS: u64 = 3_000;
/// Base64 that is at least this long is no ordinary word or name.
const ENCODED_CHARS_MIN: usize = 256;
/// Sealed text is base64 with a frame around it, of about four bytes a token.
const SEALED_FRAME_BYTES: usize = 650;
const SEALED_BYTES_PER_TOKEN: usize = 4;
/// How the base64 of known files begins: PNG, JPEG, GIF and WebP (RIFF), then PDF.
const IMAGES: [&str; 4] = ["iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR"];
const DOCUMENT: &str = "JVBERi0";

/// What was found in content of another kind than text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Opaque {
    encoded: Vec<Encoded>,
    /// Whether the content says that it is an image.
    is_image: bool,
    /// Strings in it that are text, and long enough to be more than a name.
    texts: Vec<String>,
}

/// Something in base64, by what it decodes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoded {
    Image(Option<Pixels>),
    Document,
    Sealed { chars: usize },
}

impl Opaque {
    /// Looks through content, given as JSON; `None` if there is nothing but text in it.
    pub fn of(json: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(json).ok()?;
        let mut opaque = Self::default();
        let kind = value["type"].as_str().unwrap_or_default();
        opaque.is_image =
            kind.contains("image") || value["mime"].as_str().is_some_and(|mime| mime.starts_with("image/"));
        opaque.collect(&value);
        (opaque.is_image || !opaque.encoded.is_empty()).then_some(opaque)
    }

    fn collect(&mut self, value: &Value) {
        match value {
            Value::String(text) => match encoded(text) {
                Some(found) => self.encoded.push(found),
                None if text.len() >= ENCODED_CHARS_MIN => self.texts.push(text.clone()),
                None => {}
            },
            Value::Array(values) => values.iter().for_each(|value| self.collect(value)),
            Value::Object(fields) => fields.values().for_each(|value| self.collect(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The readable strings, a line each.
    pub fn text(&self) -> String {
        self.texts.join("\n")
    }

    /// Tokens of everything but the readable strings.
    pub fn tokens(&self, family: Family) -> u64 {
        if self.encoded.is_empty() && self.is_image {
            return image_tokens(family, None);
        }
        self.encoded.iter().map(|encoded| encoded.tokens(family)).sum()
    }
}

impl Encoded {
    fn tokens(self, family: Family) -> u64 {
        match self {
            Self::Image(pixels) => image_tokens(family, pixels),
            Self::Document => DOCUMENT_TOKENS,
            Self::Sealed { chars } => sealed_tokens(chars),
        }
    }
}

/// Tokens of sealed content, by the length of its base64.
pub(super) fn sealed_tokens(chars: usize) -> u64 {
    ((chars * 3 / 4).saturating_sub(SEALED_FRAME_BYTES) / SEALED_BYTES_PER_TOKEN) as u64
}

/// What a string encodes, if it is base64, alone or in a `data:` address; `None` if it is text.
fn encoded(text: &str) -> Option<Encoded> {
    let (kind, data) = match text.strip_prefix("data:").and_then(|address| address.split_once(";base64,")) {
        Some((kind, data)) => (kind, data),
        None => ("", text),
    };
    let begins = |with: &[&str]| with.iter().any(|magic| data.starts_with(magic));
    let is_long = data.len() >= ENCODED_CHARS_MIN;
    if !(is_long || begins(&IMAGES) || begins(&[DOCUMENT]) || !kind.is_empty()) || !data.bytes().all(is_base64) {
        return None;
    }
    Some(if begins(&IMAGES) || kind.starts_with("image/") {
        Encoded::Image(pixels_of_image(data))
    } else if begins(&[DOCUMENT]) || !kind.is_empty() {
        Encoded::Document
    } else {
        Encoded::Sealed { chars: data.len() }
    })
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

/// Tokens of an image; of one whose size is not known, a flat figure.
pub(super) fn image_tokens(family: Family, pixels: Option<Pixels>) -> u64 {
    match (family, pixels) {
        (Family::Gpt, None) => GPT_IMAGE_TOKENS,
        (Family::Claude | Family::ClaudeNew, None) => CLAUDE_IMAGE_TOKENS,
        (Family::Gpt, Some(pixels)) => pixels.tiles_tokens(),
        (Family::Claude, Some(pixels)) => pixels.pixels_tokens(1_568, 1_600),
        (Family::ClaudeNew, Some(pixels)) => pixels.pixels_tokens(2_576, 4_784),
    }
}
