//! Sizes a text that comes in pieces, as if it had come whole.
//!
//! Adding up the counts of what a stream delivers is far off, because tokens go across its borders. So only what lies
//! in front of a safe place is counted for good, and the rest is kept until more has come; it is never longer than a
//! piece and what was pushed last.

use super::TextSize;
use super::pieces::{PIECE_BYTES_MAX, first_piece};

/// The size of a text so far.
#[derive(Debug, Clone, Default)]
pub struct StreamSize {
    counted: TextSize,
    rest: String,
}

impl StreamSize {
    /// Takes the next piece, wherever it was cut.
    pub fn push(&mut self, text: &str) {
        self.rest.push_str(text);
        let mut start = 0;
        while self.rest.len() - start > PIECE_BYTES_MAX {
            let piece = first_piece(&self.rest[start..]);
            self.counted += TextSize::of_piece(piece);
            start += piece.len();
        }
        self.rest.drain(..start);
    }

    /// The size of all that has come: the same as [`TextSize::of`] of the whole.
    pub fn size(&self) -> TextSize {
        self.counted + TextSize::of(&self.rest)
    }
}
