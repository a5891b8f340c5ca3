//! What is shown of a long line in which something was found: the text around each place, and where the next one is if there
//! are more than fit.

use std::ops::Range;

use regex::Regex;

/// A longer line is shown around its matches only.
const LINE_BYTES_MAX: usize = 2_000;
/// How much is shown on each side of a match.
const BESIDE_BYTES: usize = 150;
/// How much of a match is shown.
const MATCH_BYTES_MAX: usize = 300;
const GAP: &str = "…";

/// The parts of a line around its matches, within `bytes_max`, if it is long; `None` if it is shown as it is. `line_offset` is
/// where the line begins in its text, to say where to read on.
pub fn around_matches(line: &str, pattern: &Regex, line_offset: usize, bytes_max: usize) -> Option<String> {
    if line.len() <= LINE_BYTES_MAX {
        return None;
    }
    let mut shown = String::new();
    let mut parts: Vec<Range<usize>> = Vec::new();
    let (mut bytes, mut more, mut next) = (0, 0, None);
    for found in pattern.find_iter(line) {
        let start = line.floor_char_boundary(found.start().saturating_sub(BESIDE_BYTES));
        let found_end = found.end().min(found.start() + MATCH_BYTES_MAX);
        let end = line.ceil_char_boundary((found_end + BESIDE_BYTES).min(line.len()));
        let last_end = parts.last().map_or(0, |part| part.end);
        let new_bytes = end.saturating_sub(start.max(last_end)) + 2 * GAP.len();
        if next.is_some() || (bytes + new_bytes > bytes_max && !parts.is_empty()) {
            next.get_or_insert(line_offset + found.start());
            more += 1;
            continue;
        }
        bytes += new_bytes;
        match parts.last_mut() {
            Some(part) if part.end >= start => part.end = part.end.max(end),
            Some(_) | None => parts.push(start..end),
        }
    }
    for part in &parts {
        shown.push_str(if part.start > 0 { GAP } else { "" });
        shown.push_str(&line[part.clone()]);
    }
    let is_cut = parts.last().is_some_and(|part| part.end < line.len());
    shown.push_str(if is_cut { GAP } else { "" });
    if let Some(next) = next {
        shown.push_str(&format!("\n[{more} more places in this line: the next is at offset {next}]"));
    }
    Some(shown)
}
