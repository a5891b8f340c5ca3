//! Lines that say how a call went: its exit status, errors and counts.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::kept_lines::{KeptLines, LINE_CHARS_MAX};

const STATUS_CHARS_MAX: usize = 200;
const FLAGGED_CHARS_MAX: usize = 500;
const COUNTS_CHARS_MAX: usize = 200;
/// An exit status is looked for in this many lines at the front and at the end.
const STATUS_LINES: usize = 30;

static STATUS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:exit(?:ed)?(?: with)?(?: code| status)?|return code|status code|exit_code|killed by signal)\b[^0-9]{0,12}[0-9]+",
    )
    .ok()
});
/// Error messages as compilers, test runners, interpreters and loggers write them. The word `error` alone does not
/// count: source code and prose speak of errors all the time.
static ERRORS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let starts = r"(?i:error|fatal|panic|failed|failure|fail|exception|traceback)\b(?:\[[^\]]{1,40}\])?\]?\s*[:(]";
    let others =
        r"FAIL\b|FAILED\b|ERROR\b|not ok\b|Traceback \(|E\s{3}|--- FAIL|✗|✘|×|❌|\w*(?:Error|Exception)(?::|$|\s\()";
    let within = r"\bpanicked at\b|: (?:error|fatal error|fatal)\b|\b(?:ERR!|FATAL|CRITICAL)|\s(?:ERROR|FAIL|FAILED)\b|: \*\*\* ";
    let level = r#""?level"?[=:]\s*"?(?i:error|fatal)\b"#;
    let said = r"(?i:command not found|no such file|permission denied|timed out|segmentation fault|out of memory|cannot find|undefined reference)";
    Regex::new(&format!(r"^\s*(?:\S+:\d+(?::\d+)?:?\s+)?(?:\[?{starts}|{others})|{within}|{level}|{said}")).ok()
});
static WARNINGS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:\S+ )?(?i:warn|warning)\b(?:\[[^\]]{1,40}\])?\s*[: ]|: warning\b|\s(?:WARN|WARNING)\b").ok()
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

/// Keeps error messages and then warnings, each form once, with the line after it: compilers name the place there.
pub(super) fn keep_flagged(kept: &mut KeptLines<'_>) {
    let mut share = kept.share(FLAGGED_CHARS_MAX);
    for pattern in [&ERRORS, &WARNINGS] {
        let mut forms = HashSet::new();
        for (at, line) in kept.lines().iter().enumerate() {
            let line = head(line.text, LINE_CHARS_MAX);
            if !is_match(pattern, line) || !forms.insert(form(line)) {
                continue;
            }
            let after = kept.lines().get(at + 1).is_some_and(|line| !line.text.trim().is_empty());
            let fits = (after && kept.take(&mut share, at..at + 2)) || kept.take(&mut share, at..at + 1);
            if !fits {
                return;
            }
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
    STATUS.is_some() && ERRORS.is_some() && WARNINGS.is_some() && COUNTS.is_some()
}
