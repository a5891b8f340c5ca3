//! A search's hits, by file: the numbers of the lines that it found there.

use std::sync::LazyLock;

use regex::Regex;

use super::NumberedLine;
use super::marks::head;

const LINE_CHARS_MAX: usize = 400;
/// How many line numbers are listed for one file.
const NUMBERS_MAX: usize = 8;

static HIT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^([^\s:]*[./][^\s:]*):([0-9]+):").ok());

/// Each file with its first lines and how many more there are, `file:12,40 +7`, as many as fit.
pub(super) fn by_file(lines: &[NumberedLine<'_>], chars_max: usize) -> String {
    let Some(hit) = HIT.as_ref() else { return String::new() };
    let mut files: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in lines {
        let Some((_, [path, number])) = hit.captures(head(line.text, LINE_CHARS_MAX)).map(|found| found.extract())
        else {
            continue;
        };
        match files.last_mut() {
            Some((file, numbers)) if *file == path => numbers.push(number),
            _ => files.push((path, vec![number])),
        }
    }
    let mut out = String::new();
    let mut left_chars = chars_max;
    for (file, numbers) in files {
        let before = if out.is_empty() { "" } else { " " };
        let more = match numbers.len().saturating_sub(NUMBERS_MAX) {
            0 => String::new(),
            more => format!(" +{more}"),
        };
        let part = format!("{before}{file}:{}{more}", numbers[..numbers.len().min(NUMBERS_MAX)].join(","));
        let Some(left) = left_chars.checked_sub(part.chars().count()) else { break };
        left_chars = left;
        out.push_str(&part);
    }
    out
}
