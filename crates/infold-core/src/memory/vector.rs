//! What a text means, as a vector: texts that mean the same have vectors that point the same way.
//!
//! The built-in model is a table of tokens with a vector each (`vector/vectors.bin`, made by `vector/make_vectors.py`); a
//! text's vector is the sum of those of its tokens. That is far weaker than words at finding memories, and a little
//! help beside them; it needs no network and next to no time.
//!
//! What must hold: a vector says of which model it is, and two are compared only if that is the same one.

mod file;
mod pieces;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use file::{FileModel, NotAModel};

/// The name of the built-in model. It changes with the table.
const BUILT_IN: &str = "wordllama-0.4.0-64";
static TABLE: &[u8] = include_bytes!("vector/vectors.bin");
/// What is read of a text.
const TEXT_BYTES_MAX: usize = 6_000;
/// The longest token that is looked for.
const TOKEN_BYTES_MAX: usize = 16;

static MODEL: LazyLock<TokenVectors> = LazyLock::new(|| TokenVectors::read(TABLE).unwrap_or_default());

/// A text's vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextVector {
    model: String,
    values: Vec<i8>,
}

impl TextVector {
    /// The vector of a text by the built-in model; `None` if no token of it is known.
    pub fn built_in(text: &str) -> Option<Self> {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        let mut sum = vec![0.0_f32; MODEL.dimensions];
        MODEL.each_token(text, |vector| {
            sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += f32::from(*value as i8));
        });
        Self::of_numbers(BUILT_IN, &sum)
    }

    /// The name of the built-in model.
    pub fn built_in_name() -> &'static str {
        BUILT_IN
    }

    /// A vector that a model of this name gave; `None` if it has no direction.
    pub fn of_numbers(model: &str, numbers: &[f32]) -> Option<Self> {
        let largest = numbers.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
        if !largest.is_finite() || largest <= 0.0 {
            return None;
        }
        let values = numbers.iter().map(|number| (number / largest * 127.0).round() as i8).collect();
        Some(Self { model: model.to_owned(), values })
    }

    /// A vector as it was stored.
    pub fn from_stored(model: String, bytes: &[u8]) -> Self {
        Self { model, values: bytes.iter().map(|byte| *byte as i8).collect() }
    }

    /// The name of its model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The bytes to be stored.
    pub fn bytes(&self) -> Vec<u8> {
        self.values.iter().map(|value| *value as u8).collect()
    }

    /// How near two texts are, from -1 to 1; `None` if their vectors are of different models.
    pub fn cosine(&self, other: &Self) -> Option<f64> {
        if self.model != other.model || self.values.len() != other.values.len() {
            return None;
        }
        let product = |one: &[i8], other: &[i8]| -> f64 {
            one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum()
        };
        let lengths = (product(&self.values, &self.values) * product(&other.values, &other.values)).sqrt();
        (lengths > 0.0).then(|| (product(&self.values, &other.values) / lengths).clamp(-1.0, 1.0))
    }
}

/// Tokens with their vectors.
#[derive(Default)]
struct TokenVectors {
    dimensions: usize,
    tokens: HashMap<&'static [u8], &'static [u8]>,
}

impl TokenVectors {
    /// Reads a table; `None` if it is not whole.
    fn read(table: &'static [u8]) -> Option<Self> {
        let (count, rest) = number(table)?;
        let (dimensions, mut rest) = number(rest)?;
        let mut names = Vec::with_capacity(count);
        for _ in 0..count {
            let (length, behind) = rest.split_first()?;
            let (name, behind) = behind.split_at_checked(usize::from(*length))?;
            names.push(name);
            rest = behind;
        }
        let is_whole = rest.len() == count * dimensions && dimensions > 0;
        is_whole.then(|| Self { dimensions, tokens: names.into_iter().zip(rest.chunks_exact(dimensions)).collect() })
    }

    /// Calls `see` with the vector of every token of a text: in each word the longest that is known, then on behind it.
    fn each_token(&self, text: &str, mut see: impl FnMut(&[u8])) {
        let mut word = Vec::with_capacity(TOKEN_BYTES_MAX);
        for run in text.as_bytes().chunk_by(|one, next| one.is_ascii_alphabetic() && next.is_ascii_alphabetic()) {
            if !run[0].is_ascii_alphanumeric() {
                continue;
            }
            word.clear();
            word.push(b' ');
            word.extend_from_slice(run);
            let mut rest = word.as_slice();
            while !rest.is_empty() {
                let lengths = (1..=rest.len().min(TOKEN_BYTES_MAX)).rev();
                let known = lengths.filter_map(|length| Some((length, self.tokens.get(&rest[..length])?))).next();
                if let Some((_, vector)) = known {
                    see(vector);
                }
                rest = &rest[known.map_or(1, |(length, _)| length)..];
            }
        }
    }
}

fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*number) as usize, rest))
}

#[cfg(test)]
mod tests;
