//! Reads lines without what tools put before each: a line number, the sign of a diff, a mark of a quote or a comment, the
//! name of a file or a service. A secret that goes over several lines is found by what its lines begin with.
//!
//! Only what is around words that such a secret begins with is read again.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use regex::bytes::Regex;

use super::Reading;
use super::wraps::line_end;

/// Words that are in or before every secret that goes over several lines.
const WORDS: [&str; 8] =
    ["password", "passwd", "passphrase", "kind: secret", "secret", "private key", "token", "api key"];
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

/// Calls `look` with a reading of the surroundings of each such word, if their lines begin in that way.
pub(super) fn each<E>(text: &[u8], look: &mut impl FnMut(Reading) -> Result<(), E>) -> Result<(), E> {
    let mut part: Option<Range<usize>> = None;
    for word in words().into_iter().flat_map(|words| words.find_iter(text)) {
        let around = word.start().saturating_sub(BEFORE_BYTES_MAX)..text.len().min(word.end() + BEHIND_BYTES_MAX);
        match &mut part {
            Some(part) if around.start <= part.end => part.end = around.end,
            _ => {
                if let Some(reading) = part.replace(around).and_then(|part| read(text, part)) {
                    look(reading)?;
                }
            }
        }
    }
    part.and_then(|part| read(text, part)).map_or(Ok(()), look)
}

/// A part of the text without what is before its lines; `None` if that is nothing.
fn read(text: &[u8], part: Range<usize>) -> Option<Reading> {
    // What is cut off at the edges is left out.
    let first = line_end(text, part.clone()).filter(|_| part.start > 0).map_or(part.start, |end| end.end);
    let mut reading = Reading::default();
    let mut begun = 0;
    let mut at = first;
    while at < part.end {
        let end = line_end(text, at..part.end);
        let line = at..end.clone().map_or(part.end, |end| end.start);
        let prefix = prefix()?.find(&text[line.clone()]).map_or(0, |found| found.len());
        begun += usize::from(prefix > 0);
        reading.push_same(text, line.start + prefix..line.end);
        let Some(end) = end else { break };
        begun += usize::from(end.len() > 1);
        reading.push_escape(b"\n", end.clone());
        at = end.end;
    }
    (begun > 1).then_some(reading)
}

fn words() -> Option<&'static AhoCorasick> {
    static MATCHER: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    MATCHER.get_or_init(|| AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS).ok()).as_ref()
}

fn prefix() -> Option<&'static Regex> {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    PATTERN.get_or_init(|| Regex::new(PREFIX).ok()).as_ref()
}
