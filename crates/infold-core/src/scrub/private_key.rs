//! Finds private keys in PEM armour: from BEGIN to END, or as much as there is where one end is missing.
//!
//! A key's body is lines of base64, and transcripts put things between the lines: line numbers, quotes, plus signs,
//! `\n` as two characters. The BEGIN and END lines alone are no secret: code and documents name them, and masking
//! those would only hide what they say.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::Regex;

/// The first or the last line of the armour; the group is BEGIN or END.
const PATTERN: &str = r"-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}";

/// Most bytes of a key's body that are masked from one of its ends.
const KEY_BYTES_MAX: usize = 64 << 10;

/// Every line of a key but its last has at least this length. It is shorter than a line of any real key, and longer
/// than almost any word in code that might follow a BEGIN.
const LINE_BYTES_MIN: usize = 40;

/// Where both BEGIN and END are there, shorter runs of base64 count too.
const RUN_BYTES_MIN: usize = 16;

/// Most header lines, such as `Proc-Type: 4,ENCRYPTED`, that may come before the body.
const ARMOUR_LINES_MAX: usize = 8;
const ARMOUR_LINE_BYTES_MAX: usize = 120;

/// The places of private keys in `text`.
pub(super) fn find(text: &[u8]) -> Vec<Range<usize>> {
    static MARKS: OnceLock<Option<Regex>> = OnceLock::new();
    let Some(pattern) = MARKS.get_or_init(|| Regex::new(PATTERN).ok()) else { return Vec::new() };
    let marks: Vec<(Range<usize>, bool)> =
        pattern.captures_iter(text).filter_map(|mark| Some((mark.get(0)?.range(), &mark[1] == b"BEGIN"))).collect();

    let mut keys = Vec::new();
    let mut done = 0;
    for (index, (mark, begins)) in marks.iter().enumerate() {
        if mark.start < done {
            continue;
        }
        let next = marks.get(index + 1);
        let key = if *begins {
            let body = mark.end..next.map_or(text.len(), |(next, _)| next.start);
            match next {
                Some((end, false)) if is_body(&text[body.clone()]) => Some(mark.start..end.end),
                _ => reach(&text[body]).map(|bytes| mark.start..mark.end + bytes),
            }
        } else {
            reach_back(&text[done..mark.start]).map(|bytes| mark.start - bytes..mark.end)
        };
        done = key.as_ref().map_or(mark.end, |key| key.end);
        keys.extend(key);
    }
    keys
}

/// Whether the text between BEGIN and END is a key's body: mostly base64, and not too long.
fn is_body(body: &[u8]) -> bool {
    if body.len() > KEY_BYTES_MAX {
        return false;
    }
    let coded: usize = runs(body).iter().map(Range::len).filter(|&bytes| bytes >= RUN_BYTES_MIN).sum();
    let visible = body.iter().filter(|byte| !byte.is_ascii_whitespace()).count();
    coded >= RUN_BYTES_MIN && coded * 2 >= visible
}

/// How far a key's lines reach from the start of `text`, which is what follows a BEGIN.
fn reach(text: &[u8]) -> Option<usize> {
    let text = &text[..text.len().min(KEY_BYTES_MAX)];
    let body = armour_bytes(text);
    let mut end = None;
    let mut gap_start = 0;
    for run in runs(&text[body..]) {
        if !is_gap(&text[body + gap_start..body + run.start]) {
            break;
        }
        gap_start = run.end;
        match run.len() {
            LINE_BYTES_MIN.. => end = Some(body + run.end),
            _ if is_between(&text[body + run.start..body + run.end]) => {}
            // The last line is short, and nothing after it belongs to the key.
            _ => return end.map(|_| body + run.end),
        }
    }
    end
}

/// How far a key's lines reach back from the end of `text`, which is what comes before an END.
fn reach_back(text: &[u8]) -> Option<usize> {
    let text = &text[text.len().saturating_sub(KEY_BYTES_MAX)..];
    let mut start = None;
    let mut gap_end = text.len();
    let mut last_line_seen = false;
    for run in runs(text).into_iter().rev() {
        if !is_gap(&text[run.end..gap_end]) {
            break;
        }
        gap_end = run.start;
        match run.len() {
            LINE_BYTES_MIN.. => start = Some(text.len() - run.start),
            _ if is_between(&text[run.clone()]) => continue,
            // Read backwards, the short last line comes first.
            _ if last_line_seen => break,
            _ => {}
        }
        last_line_seen = true;
    }
    start
}

/// How many bytes of armour headers and empty lines `text` starts with. A line ends with a line end,
/// or with one written as `\n`.
fn armour_bytes(text: &[u8]) -> usize {
    let mut at = 0;
    for _ in 0..ARMOUR_LINES_MAX {
        let window = &text[at..text.len().min(at + ARMOUR_LINE_BYTES_MAX)];
        let escaped = window.windows(2).position(|pair| pair == b"\\n").map(|end| (end, end + 2));
        let real = window.iter().position(|&byte| byte == b'\n').map(|end| (end, end + 1));
        let Some((end, next)) = [escaped, real].into_iter().flatten().min() else { break };
        let line = &window[..end];
        let is_header = line.windows(2).any(|pair| pair == b": ");
        if !is_header && line.iter().any(u8::is_ascii_alphanumeric) {
            break;
        }
        at += next;
    }
    at
}

/// The runs of base64 characters in a text.
fn runs(text: &[u8]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, byte) in text.iter().enumerate() {
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')) {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.end == at => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// Whether a text between two runs is only what transcripts put there: blanks, quotes, joiners, comment signs, and the
/// arrow after a line number.
fn is_gap(text: &[u8]) -> bool {
    const GAP_BYTES_MAX: usize = 64;
    text.len() <= GAP_BYTES_MAX
        && text.iter().all(|byte| byte.is_ascii_whitespace() || b"\"'`,;:|>#*\\.<-\xe2\x86\x92".contains(byte))
}

/// Whether a short run is not part of the key: a line number, a joiner, or the letter of an escape.
fn is_between(run: &[u8]) -> bool {
    run.len() == 1 || (run.len() <= 6 && run.iter().all(u8::is_ascii_digit))
}
