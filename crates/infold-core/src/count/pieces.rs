//! Cuts text into pieces that can be counted one by one.
//!
//! The vocabulary's own splitting rules put a boundary at certain places whatever is around them. Cutting there
//! changes no count. A text without such a place, such as a megabyte of one letter, is cut at the bound: that may add
//! a token or two per cut, and it bounds the work.

/// The longest piece. Long enough that ordinary text always has a safe place in it.
pub(super) const PIECE_BYTES_MAX: usize = 4096;

/// The pieces of a text, in order; together they are the text.
pub(super) struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Pieces<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { rest: text }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let piece = first_piece(self.rest);
        self.rest = &self.rest[piece.len()..];
        Some(piece)
    }
}

/// The first piece of a text, which only what lies within the bound and one byte behind it decides.
pub(super) fn first_piece(text: &str) -> &str {
    &text[..cut(text)]
}

/// Where the first piece of a text ends: never at 0, never past the bound.
fn cut(text: &str) -> usize {
    if text.len() <= PIECE_BYTES_MAX {
        return text.len();
    }
    let bytes = text.as_bytes();
    (1..=PIECE_BYTES_MAX)
        .rev()
        .find(|&at| is_safe(bytes[at - 1], bytes[at]))
        .unwrap_or_else(|| text.floor_char_boundary(PIECE_BYTES_MAX))
}

/// Whether the vocabulary always splits between these two bytes.
///
/// Words, numbers and punctuation take no blank after them, so a blank after any of them starts a new token. Line ends
/// join with what is before them, so visible text after one starts a new token; except a slash, which joins punctuation
/// even across a line end.
fn is_safe(before: u8, after: u8) -> bool {
    let blank_after_visible = before.is_ascii_graphic() && matches!(after, b' ' | b'\t');
    let visible_after_line = before == b'\n' && after.is_ascii_graphic() && after != b'/';
    blank_after_visible || visible_after_line
}
