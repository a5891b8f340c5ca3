//! A model of the user's in two files: a table with a vector for each token (`model.safetensors`), and how a text is taken
//! apart into tokens (`tokenizer.json`). Static embedding models are published in this form. A text's vector is the sum of
//! those of its tokens.
//!
//! What must hold: a broken file is an error that says what is wrong with it, and never a panic; the name of a model changes
//! with its files.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::TextVector;
use super::pieces::TextPieces;

/// What is read of a text.
const TEXT_BYTES_MAX: usize = 6_000;
/// The longest head of a table, and the most numbers of a vector.
const HEAD_BYTES_MAX: usize = 1 << 20;
const DIMENSIONS_MAX: usize = 4_096;

/// Why two files are no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAModel {
    /// The table is not in the form of safetensors, or is not whole.
    #[error("model.safetensors {0}")]
    Table(&'static str),
    /// How texts are taken apart cannot be read, or is not known here.
    #[error("tokenizer.json {0}")]
    Tokens(&'static str),
}

/// A model of the user's.
pub struct FileModel {
    name: String,
    table: VectorTable,
    pieces: TextPieces,
}

impl FileModel {
    /// Reads a model from its two files. `label` is what people call it.
    pub fn read(label: &str, table: Vec<u8>, tokenizer: &[u8]) -> Result<Self, NotAModel> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&table).update(tokenizer);
        let name = format!("{label}-{}", &hasher.finalize().to_hex()[..12]);
        let pieces = TextPieces::read(tokenizer)?;
        let table = VectorTable::read(table)?;
        if pieces.tokens() > table.rows {
            return Err(NotAModel::Table("has fewer rows than tokenizer.json has tokens"));
        }
        Ok(Self { name, table, pieces })
    }

    /// The name that its vectors are stored under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The vector of a text; `None` if no token of it is known.
    pub fn vector(&self, text: &str) -> Option<TextVector> {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        let mut sum = vec![0.0_f32; self.table.dimensions];
        self.pieces.each_token(text, |token| self.table.add(token, &mut sum));
        TextVector::of_numbers(&self.name, &sum)
    }
}

impl std::fmt::Debug for FileModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FileModel({})", self.name)
    }
}

/// How a number of a table is written.
#[derive(Clone, Copy)]
enum NumberForm {
    Single,
    Half,
    Brain,
}

/// A table with a vector for each token.
struct VectorTable {
    bytes: Vec<u8>,
    /// Where the numbers begin.
    begin: usize,
    form: NumberForm,
    rows: usize,
    dimensions: usize,
}

/// What the head of a table says of its numbers.
#[derive(Deserialize)]
struct TensorHead {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl VectorTable {
    fn read(bytes: Vec<u8>) -> Result<Self, NotAModel> {
        let wrong = NotAModel::Table;
        let length = bytes.first_chunk::<8>().ok_or(wrong("is not whole"))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok().filter(|length| *length <= HEAD_BYTES_MAX);
        let length = length.ok_or(wrong("does not begin like a file of safetensors"))?;
        let head = bytes.get(8..8 + length).ok_or(wrong("is not whole"))?;
        let head: Map<String, Value> =
            serde_json::from_slice(head).map_err(|_| wrong("does not begin like a file of safetensors"))?;
        let mut tensors = head.into_iter().filter(|(name, _)| name != "__metadata__");
        let (Some((_, tensor)), None) = (tensors.next(), tensors.next()) else {
            return Err(wrong("must have one tensor: a row of numbers for each token"));
        };
        let TensorHead { dtype, shape, data_offsets: (from, to) } =
            TensorHead::deserialize(tensor).map_err(|_| wrong("describes its tensor in an unknown way"))?;
        let (form, width) = match dtype.as_str() {
            "F32" => (NumberForm::Single, 4),
            "F16" => (NumberForm::Half, 2),
            "BF16" => (NumberForm::Brain, 2),
            _ => return Err(wrong("must have numbers of the kind F32, F16 or BF16")),
        };
        let [rows, dimensions] = shape[..] else { return Err(wrong("must have a tensor of two dimensions")) };
        if dimensions == 0 || dimensions > DIMENSIONS_MAX {
            return Err(wrong("has vectors of no usual length"));
        }
        let begin = from.saturating_add(8 + length);
        let expected = rows.checked_mul(dimensions).and_then(|numbers| numbers.checked_mul(width));
        let is_whole = to.checked_sub(from) == expected && bytes.len().checked_sub(begin) >= expected;
        if !is_whole {
            return Err(wrong("is not whole"));
        }
        Ok(Self { bytes, begin, form, rows, dimensions })
    }

    /// Adds a token's vector to a sum.
    fn add(&self, token: usize, sum: &mut [f32]) {
        let number = |at: usize| -> f32 {
            let at = token * self.dimensions + at;
            let bytes = &self.bytes[self.begin..];
            match self.form {
                NumberForm::Single => f32::from_le_bytes(std::array::from_fn(|byte| bytes[at * 4 + byte])),
                NumberForm::Half => of_half(u16::from_le_bytes(std::array::from_fn(|byte| bytes[at * 2 + byte]))),
                NumberForm::Brain => {
                    let half = u16::from_le_bytes(std::array::from_fn(|byte| bytes[at * 2 + byte]));
                    f32::from_bits(u32::from(half) << 16)
                }
            }
        };
        if token < self.rows {
            sum.iter_mut().enumerate().for_each(|(at, sum)| *sum += number(at));
        }
    }
}

/// The number in sixteen bits: one for the sign, five for the exponent, ten for the fraction.
fn of_half(half: u16) -> f32 {
    let (exponent, fraction) = ((half >> 10) & 0x1f, f32::from(half & 0x3ff) / 1024.0);
    let size = match exponent {
        0 => fraction * 2.0_f32.powi(-14),
        31 => f32::INFINITY,
        _ => (1.0 + fraction) * 2.0_f32.powi(i32::from(exponent) - 15),
    };
    if half >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests;
