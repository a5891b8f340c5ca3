//! What a client says, inside a result, about that result: that it was cut, how long it was, and which file has all of
//! it.

use std::sync::LazyLock;

use regex::Regex;

use super::NumberedLine;
use super::kept_lines::split_number;
use super::kind::ResultKind;

/// A longer line is not taken for a notice.
const NOTICE_BYTES_MAX: usize = 600;
const NOTICES_CHARS_MAX: usize = 1_200;
/// In the text of a file, only lines this close to the front or the end are taken for notices.
const EDGE_LINES: usize = 8;
/// If more than one line in this many matches, they are the text's own lines and no notices; a few always count.
const MATCHES_SHARE: usize = 20;
const MATCHES_MIN: usize = 3;

/// The words that Claude Code, Codex, OpenCode, Gemini CLI and others use.
pub(super) static NOTICE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let saved = r"\b(?:full|complete|entire|whole) (?:output|result|content|response)s?\b.{0,40}\b(?:saved|written|stored|available|at|in)\b|\boutput (?:has been |was |is )?(?:saved|written) (?:to|in)\b";
    let cut = r"\b(?:output|result|response|content|file)s?\b.{0,30}\b(?:truncated|too (?:large|long)|exceed(?:s|ed))\b|\btruncated (?:output|result)|\b[0-9][0-9,.]*\s*(?:more )?(?:tokens|lines|characters|chars|bytes|[KM]i?B)\s+(?:were |are )?(?:truncated|omitted|not shown|more)\b|\b(?:truncated|omitted)\b.{0,12}\b[0-9][0-9,.]* (?:tokens|lines|characters|chars|bytes)\b";
    let size = r"^(?:Total output lines|Original token count): [0-9]+";
    Regex::new(&format!("(?i){saved}|{cut}|{size}")).ok()
});

/// The notices in a text, a line each.
pub(super) fn notices(lines: &[NumberedLine<'_>], kind: ResultKind) -> String {
    let Some(pattern) = NOTICE.as_ref() else { return String::new() };
    let is_edge = |at: usize| at < EDGE_LINES || at + EDGE_LINES >= lines.len();
    let may_be = |at: usize, line: &str| match kind {
        ResultKind::File => split_number(line).is_none(),
        ResultKind::Text => is_edge(at),
        ResultKind::Search | ResultKind::Output => true,
    };
    let (mut left_chars, mut matches) = (NOTICES_CHARS_MAX, 0);
    let mut found: Vec<&str> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let line = line.text.trim();
        let is_notice = line.len() <= NOTICE_BYTES_MAX && may_be(at, line) && pattern.is_match(line);
        let chars = if is_notice { line.chars().count() + 1 } else { continue };
        matches += 1;
        if chars <= left_chars && !found.contains(&line) {
            left_chars -= chars;
            found.push(line);
        }
    }
    // A text that is about cut output has many lines like that.
    let is_few = matches * MATCHES_SHARE <= lines.len().max(MATCHES_SHARE * MATCHES_MIN);
    if is_few { found.join("\n") } else { String::new() }
}
