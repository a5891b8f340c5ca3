//! Reads lines without what tools put before each: a line number, the sign of a diff, a mark of a quote or a comment, the
//! name of a file or a service. A secret that goes over several lines is found by what its lines begin with.
//!
//! Only what is around words that such a secret begins with is read again.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::Regex;

use super::Reading;
use super::wraps::line_end;

/// How much before and behind such a word is read.
const BEFORE_BYTES_MAX: usize = 1 << 10;
const BEHIND_BYTES_MAX: usize = 8 << 10;

/// What may be before each line.
const PREFIX: &str = concat!(
    r"(?-u)^(?:",
    // A line number: `12→`, `12<tab>`, `12:`, `12 | `, `L12: `.
    r"[ \t]{0,8}L?[0-9]{1,6}(?:\xe2\x86\x92|\t|: ?| ?\| ?|-)",
    // A file and a line number.
    r"|[^\s:]{1,120}[:-][0-9]{1,6}[:-]",
    // A service, as compose has it.
    r"|[0-9A-Za-z_.-]{1,40}[ \t]{0,20}\| ",
    r"|[+-]|> ?|// ?|# )",
);

/// Calls `look` with a reading of every stretch of lines that all begin in such a way, near one of these words.
pub(super) fn each<E>(
    text: &[u8],
    words: &[Range<usize>],
    look: &mut impl FnMut(Reading) -> Result<(), E>,
) -> Result<(), E> {
    let mut part: Option<Range<usize>> = None;
    for word in words {
        let around = word.start.saturating_sub(BEFORE_BYTES_MAX)..text.len().min(word.end + BEHIND_BYTES_MAX);
        match &mut part {
            Some(part) if around.start <= part.end => part.end = around.end,
            _ => {
                if let Some(part) = part.replace(around) {
                    each_stretch(text, words, part, look)?;
                }
            }
        }
    }
    part.map_or(Ok(()), |part| each_stretch(text, words, part, look))
}

/// Calls `look` with a reading of every stretch in a part of the text. What is cut off at its edges is left out.
fn each_stretch<E>(
    text: &[u8],
    words: &[Range<usize>],
    part: Range<usize>,
    look: &mut impl FnMut(Reading) -> Result<(), E>,
) -> Result<(), E> {
    let Some(prefix) = prefix() else { return Ok(()) };
    let mut at = line_end(text, part.clone()).filter(|_| part.start > 0).map_or(part.start, |end| end.end);
    let mut stretch = Stretch::default();
    let mut is_written_out = false;
    while at < part.end {
        let end = line_end(text, at..part.end);
        let line = at..end.clone().map_or(part.end, |end| end.start);
        let before = prefix.find(&text[line.clone()]).map_or(0, |found| found.len());
        let goes_on = before > 0 || is_written_out;
        is_written_out = end.as_ref().is_some_and(|end| end.len() > 1);
        if !goes_on {
            std::mem::take(&mut stretch).show(words, look)?;
        }
        if goes_on || is_written_out {
            stretch.lines += 1;
            stretch.start.get_or_insert(line.start);
            stretch.end = line.end;
            stretch.reading.push_same(text, line.start + before..line.end);
            stretch.reading.push_escape(b"\n", end.clone().unwrap_or(line.end..line.end));
        }
        let Some(end) = end else { break };
        at = end.end;
    }
    stretch.show(words, look)
}

/// Lines, one behind the other, without what is before them.
#[derive(Default)]
struct Stretch {
    reading: Reading,
    lines: usize,
    start: Option<usize>,
    end: usize,
}

impl Stretch {
    /// Calls `look` with it if one of the words is in it.
    fn show<E>(self, words: &[Range<usize>], look: &mut impl FnMut(Reading) -> Result<(), E>) -> Result<(), E> {
        let Some(start) = self.start.filter(|_| self.lines > 1) else { return Ok(()) };
        let next = words.partition_point(|word| word.start < start);
        let has_word = words.get(next).is_some_and(|word| word.start < self.end);
        if has_word { look(self.reading) } else { Ok(()) }
    }
}

fn prefix() -> Option<&'static Regex> {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    PATTERN.get_or_init(|| Regex::new(PREFIX).ok()).as_ref()
}
