//! Lines that say how a call went: its exit status and counts.

use std::sync::LazyLock;

use regex::Regex;

use super::kept_lines::KeptLines;

const STATUS_CHARS_MAX: usize = 200;
const COUNTS_CHARS_MAX: usize = 200;
/// An exit status is looked for in this many lines at the front and at the end.
const STATUS_LINES: usize = 30;

static STATUS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:exit(?:ed)?(?: with)?(?: code| status)?|return code|status code|exit_code|killed by signal)\b[^0-9]{0,12}[0-9]+",
    )
    .ok()
});
static COUNTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b[0-9]+\s+(?:passed|failed|failures|failing|passing|errors?|warnings?|files? changed|skipped)\b|^(?:ok|FAIL|PASS)\s",
    )
    .ok()
});

/// Keeps the lines that give an exit status.
pub(super) fn keep_status(kept: &mut KeptLines<'_>) {
    let mut share = kept.share(STATUS_CHARS_MAX);
    let lines = kept.lines();
    let from_end = lines.len().saturating_sub(STATUS_LINES).max(STATUS_LINES);
    for at in (0..lines.len().min(STATUS_LINES)).chain(from_end..lines.len()) {
        let line = lines[at].text;
        if line.len() <= STATUS_CHARS_MAX && is_match(&STATUS, line) && !kept.take(&mut share, at..at + 1) {
            return;
        }
    }
}

/// Keeps counts of what passed, failed or changed, the last ones first.
pub(super) fn keep_counts(kept: &mut KeptLines<'_>) {
    let mut share = kept.share(COUNTS_CHARS_MAX);
    for (at, line) in kept.lines().iter().enumerate().rev() {
        let line = head(line.text, COUNTS_CHARS_MAX);
        if is_match(&COUNTS, line) && !kept.take(&mut share, at..at + 1) {
            return;
        }
    }
}

/// A line with a zero for each run of digits, so that lines which differ by figures alone look alike.
pub(super) fn form(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut in_digits = false;
    for c in line.trim().chars() {
        let is_digit = c.is_ascii_digit();
        if !is_digit {
            out.push(c);
        } else if !in_digits {
            out.push('0');
        }
        in_digits = is_digit;
    }
    out
}

/// The first `chars_max` characters of a text, or all of it.
pub(super) fn head(text: &str, chars_max: usize) -> &str {
    text.char_indices().nth(chars_max).map_or(text, |(at, _)| &text[..at])
}

/// Whether one of these built-in patterns matches. A pattern that did not compile matches nothing; a test makes sure
/// that all compile.
pub(super) fn is_match(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

#[cfg(test)]
pub(super) fn compile() -> bool {
    STATUS.is_some() && COUNTS.is_some()
}
