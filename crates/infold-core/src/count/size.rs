//! What of a text decides how many tokens it has, whichever family of models counts it.
//!
//! A size is made once for a text and can be remembered; each family weighs it in its own way ([`super::Family`]).
//! Sizes add up, so a prompt's size is the sum of its parts'.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde_json::{Map, Value};

use super::apart::vocabulary_tokens;
use super::pieces::Pieces;

/// The size of a text, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextSize {
    /// Tokens of the vocabulary in the text as a request has it.
    pub written_tokens: u32,
    /// Tokens of the vocabulary in what a model gets to read: of a call's arguments their names and values, without
    /// the JSON around them. The same as written for everything else.
    pub read_tokens: u32,
    /// Runs of letters.
    pub words: u32,
    /// Letters of any script.
    pub letters: u32,
    /// Characters of ASCII punctuation.
    pub marks: u32,
    /// Calls of tools, each of which has a frame around it and its result.
    pub calls: u32,
    /// Arguments of those calls, each of which has a frame too.
    pub arguments: u32,
    /// Messages of words, each of which has a frame.
    pub messages: u32,
}

impl TextSize {
    /// The size of a text.
    pub fn of(text: &str) -> Self {
        Pieces::of(text).map(Self::of_piece).sum()
    }

    /// The size of a call, by its arguments. They are JSON for most tools; of others the whole is one argument.
    pub fn of_call(arguments: &str) -> Self {
        let written = Self::of(arguments);
        let call = match serde_json::from_str::<Map<String, Value>>(arguments) {
            Ok(arguments) => arguments.iter().map(|(name, value)| Self::of_argument(name, value)).sum(),
            Err(_) => Self { arguments: 1, ..written },
        };
        Self { written_tokens: written.written_tokens, calls: 1, ..call }
    }

    fn of_argument(name: &str, value: &Value) -> Self {
        let value = match value {
            Value::String(text) => Self::of(text),
            other => Self::of(&other.to_string()),
        };
        Self { arguments: 1, ..Self::of(name) + value }
    }

    /// The same, as a message of its own.
    pub fn as_message(self) -> Self {
        Self { messages: 1, ..self }
    }

    /// The size of a piece that is counted by itself.
    pub(super) fn of_piece(piece: &str) -> Self {
        let tokens = u32::try_from(vocabulary_tokens(piece)).unwrap_or(u32::MAX);
        let seen = SeenBytes::of(piece.as_bytes());
        let (words, letters) = if piece.is_ascii() { (seen.words, seen.letters) } else { words_of_any_script(piece) };
        Self { written_tokens: tokens, read_tokens: tokens, words, letters, marks: seen.marks, ..Self::default() }
    }
}

impl Add for TextSize {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            written_tokens: self.written_tokens.saturating_add(other.written_tokens),
            read_tokens: self.read_tokens.saturating_add(other.read_tokens),
            words: self.words.saturating_add(other.words),
            letters: self.letters.saturating_add(other.letters),
            marks: self.marks.saturating_add(other.marks),
            calls: self.calls.saturating_add(other.calls),
            arguments: self.arguments.saturating_add(other.arguments),
            messages: self.messages.saturating_add(other.messages),
        }
    }
}

impl AddAssign for TextSize {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for TextSize {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::default(), Add::add)
    }
}

/// What the bytes of a piece are, as far as they are ASCII.
#[derive(Debug)]
struct SeenBytes {
    words: u32,
    letters: u32,
    marks: u32,
}

impl SeenBytes {
    fn of(bytes: &[u8]) -> Self {
        let after_first = &bytes[1.min(bytes.len())..];
        let first = u32::from(bytes.first().is_some_and(u8::is_ascii_alphabetic));
        // A word begins at a letter that follows none.
        let begins = |(before, byte): (&u8, &u8)| !before.is_ascii_alphabetic() & byte.is_ascii_alphabetic();
        let pairs = bytes.chunks(SUMMED_BYTES).zip(after_first.chunks(SUMMED_BYTES));
        Self {
            words: first + pairs.map(|(befores, all)| summed(befores.iter().zip(all).map(begins))).sum::<u32>(),
            letters: bytes.chunks(SUMMED_BYTES).map(|all| summed(all.iter().map(u8::is_ascii_alphabetic))).sum(),
            marks: bytes.chunks(SUMMED_BYTES).map(|all| summed(all.iter().map(u8::is_ascii_punctuation))).sum(),
        }
    }
}

/// How many bytes are summed up at a time: the sum is a byte too, so that many bytes are added by one instruction.
const SUMMED_BYTES: usize = 255;

/// How many of at most [`SUMMED_BYTES`] are so.
fn summed(are_so: impl Iterator<Item = bool>) -> u32 {
    u32::from(are_so.map(u8::from).fold(0, u8::wrapping_add))
}

fn words_of_any_script(piece: &str) -> (u32, u32) {
    let (mut words, mut letters, mut is_in_word) = (0, 0, false);
    for character in piece.chars() {
        let is_letter = character.is_alphabetic();
        letters += u32::from(is_letter);
        words += u32::from(is_letter && !is_in_word);
        is_in_word = is_letter;
    }
    (words, letters)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{SeenBytes, words_of_any_script};

    proptest! {
        #[test]
        fn ascii_is_counted_like_any_script(text in "[ -~\n]{0,600}") {
            let seen = SeenBytes::of(text.as_bytes());
            prop_assert_eq!((seen.words, seen.letters), words_of_any_script(&text));
            let marks = text.bytes().filter(u8::is_ascii_punctuation).count();
            prop_assert_eq!(seen.marks, marks as u32);
        }
    }
}
