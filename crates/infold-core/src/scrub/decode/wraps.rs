//! Joins tokens that a line end cuts in two: a terminal that is too narrow, a mail, a continued string. Only the
//! surroundings of such a place are read again.

use std::ops::Range;

use super::{Reading, ReadingKind};

/// How much before and behind a wrap is read.
const AROUND_BYTES_MAX: usize = 1024;
/// Fewest bytes of a token before and behind a wrap.
const PART_BYTES_MIN: usize = 4;
/// Fewest bytes of a line that is wrapped because it is too long.
const WRAPPED_BYTES_MIN: usize = 60;
/// Most wraps that are joined into one reading: as many as a long key has lines.
const WRAPS_MAX: usize = 1_024;

/// Calls `look` with a reading of every place where a token may go on in the next line.
pub(super) fn each<E>(text: &[u8], look: &mut impl FnMut(Reading) -> Result<(), E>) -> Result<(), E> {
    let mut done = 0;
    while let Some(newline) = line_end(text, done..text.len()) {
        done = newline.end;
        let Some(first) = gap(text, newline) else { continue };
        if !is_token_start(&text[..first.start]) {
            continue;
        }
        let (reading, end) = joined(text, first);
        done = done.max(end);
        look(reading)?;
    }
    Ok(())
}

/// The reading around a first gap, and where its last line begins.
fn joined(text: &[u8], first: Range<usize>) -> (Reading, usize) {
    let from = first.start.saturating_sub(AROUND_BYTES_MAX);
    let begin = memchr::memrchr(b'\n', &text[from..first.start]).map_or(from, |at| from + at + 1);
    let is_long = first.start - begin >= WRAPPED_BYTES_MIN;
    let kind = if is_long { ReadingKind::Wrapped } else { ReadingKind::Joined };
    let mut reading = Reading { kind, ..Reading::default() };
    reading.push_same(text, begin..first.start);
    let mut at = first.end;
    for _ in 0..WRAPS_MAX {
        let near = at..text.len().min(at + AROUND_BYTES_MAX);
        match line_end(text, near).and_then(|line| gap(text, line)).filter(|gap| gap.start > at) {
            // A line that is a token from its beginning to its end: the next one may go on with it.
            Some(gap) if text[at..gap.start].iter().all(|byte| is_token_byte(*byte)) => {
                reading.push_same(text, at..gap.start);
                at = gap.end;
            }
            _ => break,
        }
    }
    let near = at..text.len().min(at + AROUND_BYTES_MAX);
    let end = line_end(text, near.clone()).map_or(near.end, |line| line.start);
    reading.push_same(text, at..end);
    (reading, at)
}

/// The first line end in a part of the text: one byte, or two where it is written as `\n`.
pub(super) fn line_end(text: &[u8], part: Range<usize>) -> Option<Range<usize>> {
    let mut marks = memchr::memchr2_iter(b'\n', b'\\', &text[part.clone()]).map(|at| part.start + at);
    marks.find_map(|at| match &text[at..part.end] {
        [b'\n', ..] => Some(at..at + 1),
        [b'\\', b'n', ..] => Some(at..at + 2),
        _ => None,
    })
}

/// What a wrap put between two parts of a token: the line end, with a backslash before it and blanks behind, or with a
/// string that ends before it and another that begins behind it.
fn gap(text: &[u8], newline: Range<usize>) -> Option<Range<usize>> {
    const GAP_BYTES_MAX: usize = 64;
    let before = &text[newline.start.saturating_sub(GAP_BYTES_MAX)..newline.start];
    let behind = &text[newline.end..text.len().min(newline.end + GAP_BYTES_MAX)];
    let trailing =
        before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\\' | b'+' | b'.')).count();
    let leading = behind.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'>' | b'|' | b'+')).count();
    let closed = before[..before.len() - trailing].last().filter(|byte| is_quote(**byte));
    let opened = behind.get(leading).filter(|byte| is_quote(**byte));
    let quotes = match (closed, opened) {
        (None, None) => 0,
        (Some(closed), Some(opened)) if closed == opened => 1,
        _ => return None,
    };
    let start = newline.end + leading + quotes;
    goes_on(&text[start..]).then_some(newline.start - trailing - quotes..start)
}

/// Whether a text begins with what may be the rest of a token, and nothing that is assigned follows it.
fn goes_on(text: &[u8]) -> bool {
    const LONG_BYTES_MIN: usize = 16;
    let near = &text[..text.len().min(AROUND_BYTES_MAX)];
    let bytes = near.iter().take_while(|byte| is_token_byte(**byte)).count();
    if bytes < PART_BYTES_MIN {
        return false;
    }
    let (run, behind) = near.split_at(bytes);
    let has_digit = run.iter().any(u8::is_ascii_digit);
    let has_case = run.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let is_assigned = run.split(|byte| matches!(byte, b'=' | b':')).filter(|part| !part.is_empty()).count() > 1;
    let ends =
        behind.first().is_none_or(|next| next.is_ascii_whitespace() || is_quote(*next) || b"\\,;)<".contains(next));
    let is_number = run.iter().all(u8::is_ascii_digit);
    ends && !is_number && !is_assigned && (has_digit || has_case || bytes >= LONG_BYTES_MIN)
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// Whether a text ends with what may be the beginning of a token: letters with a digit, a hyphen or an underscore, or
/// with a change of case inside.
fn is_token_start(text: &[u8]) -> bool {
    let near = &text[text.len().saturating_sub(AROUND_BYTES_MAX)..];
    let bytes = near.iter().rev().take_while(|byte| is_token_byte(**byte)).count();
    let run = &near[near.len() - bytes..];
    let has_sign = run.iter().any(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'-'));
    let has_case = run.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    bytes >= PART_BYTES_MIN && (has_sign || has_case || run.iter().all(u8::is_ascii_uppercase))
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'+' | b'=' | b'~' | b':' | b'%')
}
