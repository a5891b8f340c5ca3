//! Long lines in pieces: a record, a line of a log that is inside a string, or a tag with what is in it.
//!
//! Servers often answer with one line of JSON or HTML. Taken as one line it could only be shown by its front or its end; in
//! pieces, what is worth showing can be found in it.

use super::NumberedLine;
use super::kept_lines::LINE_CHARS_MAX;

/// A piece has at most this many bytes, and so never more characters than a line that is shown.
const PIECE_BYTES_MAX: usize = LINE_CHARS_MAX;
/// A piece ends at the first end of a record, string line or tag from here on.
const RECORD_BYTES_MIN: usize = 40;
/// If there is none, it ends at the last comma or blank from here on.
const WORD_BYTES_MIN: usize = 150;

/// The lines of a text, long ones in pieces. All pieces of a line have its number.
pub(super) fn pieces_of<'a>(lines: &[NumberedLine<'a>]) -> Vec<NumberedLine<'a>> {
    let mut pieces = Vec::with_capacity(lines.len());
    for line in lines {
        let (mut rest, mut goes_on) = (line.text, false);
        let is_long = rest.len() > PIECE_BYTES_MAX;
        while let Some(end) = is_long.then(|| piece_end(rest)).flatten() {
            let (piece, after) = rest.split_at(end);
            pieces.push(NumberedLine { text: piece, goes_on, ..*line });
            (rest, goes_on) = (after, true);
        }
        pieces.push(NumberedLine { text: rest, goes_on, ..*line });
    }
    pieces
}

/// Where the first piece of a text ends; `None` if that is where the text ends.
fn piece_end(text: &str) -> Option<usize> {
    let bytes = &text.as_bytes()[..text.len().min(PIECE_BYTES_MAX)];
    let ends_record = |at: &usize| {
        matches!((bytes[at - 2], bytes[at - 1]), (b'}', b',') | (b'\\', b'n'))
            || (bytes[at - 1] == b'>' && bytes[*at] == b'<')
    };
    let ends_word = |at: &usize| matches!(bytes[at - 1], b',' | b' ' | b';');
    let end = (RECORD_BYTES_MIN..bytes.len()).find(ends_record);
    if text.len() <= PIECE_BYTES_MAX {
        return end;
    }
    let end = end.or_else(|| (WORD_BYTES_MIN..bytes.len()).rev().find(ends_word));
    Some(end.unwrap_or_else(|| text.floor_char_boundary(PIECE_BYTES_MAX)))
}
