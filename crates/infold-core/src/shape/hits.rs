//! What a search found, by file: the numbers of the lines that it found there.

use std::sync::LazyLock;

use regex::Regex;

use super::Line;
use super::marks::head;

const LINE_CHARS_MAX: usize = 400;

static HIT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^([^\s:]*[./][^\s:]*):([0-9]+):").ok());

/// Each file with its lines, `file:12,40`, as many as fit.
pub(super) fn by_file(lines: &[Line<'_>], chars_max: usize) -> String {
    let Some(hit) = HIT.as_ref() else { return String::new() };
    let mut out = String::new();
    let mut file = "";
    let mut left_chars = chars_max;
    for line in lines {
        let Some((_, [path, number])) = hit.captures(head(line.text, LINE_CHARS_MAX)).map(|found| found.extract())
        else {
            continue;
        };
        let (before, path) = match (path == file, out.is_empty()) {
            (true, _) => (",", ""),
            (false, true) => ("", path),
            (false, false) => (" ", path),
        };
        let between = if path.is_empty() { "" } else { ":" };
        let part = format!("{before}{path}{between}{number}");
        let Some(left) = left_chars.checked_sub(part.chars().count()) else { break };
        left_chars = left;
        out.push_str(&part);
        if !path.is_empty() {
            file = path;
        }
    }
    out
}
