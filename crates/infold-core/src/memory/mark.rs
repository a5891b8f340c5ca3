//! Marks: lines of the files that a lesson is about, as its branch saw them. By them a later read or edit shows whether
//! the code has changed since.
//!
//! Only hashes of lines that tell something are kept. A file that was read in part says nothing about what is missing.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::Value;

use super::files::last_parts;
use crate::Operation;
use crate::findings::FILE_FIELDS;
use crate::writes::{Means, writing_of};

/// Lines of one file that are kept.
const LINES_MAX: usize = 64;
/// Shorter lines are in every file.
const LINE_CHARS_MIN: usize = 12;
/// A whole file with a smaller share of the marked lines has changed.
const CHANGED_BELOW: f64 = 0.8;
/// A whole file with at least this share of them is as it was.
const SAME_FROM: f64 = 0.95;
/// A result with fewer lines that tell something is not the content of a file of which as many are marked.
const WHOLE_LINES_MIN: usize = 3;
/// Parts of a path that tell two files of a project apart, wherever it is checked out.
const PATH_PARTS: usize = 3;
/// Fields of arguments that ask for a part of a file.
const PART_FIELDS: [&str; 8] =
    ["offset", "limit", "start_line", "end_line", "startLine", "endLine", "view_range", "pages"];
const OLD_FIELDS: [&str; 3] = ["old_string", "old_str", "oldString"];

/// What a call showed of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    /// The file, as the call names it.
    pub path: String,
    lines: SeenLines,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SeenLines {
    /// All lines that tell something.
    Whole(Vec<u64>),
    /// Some of them.
    Part(Vec<u64>),
    /// Lines that were written, and lines that are gone.
    Edited { written: Vec<u64>, gone: BTreeSet<u64> },
}

impl SeenFile {
    /// Whether arguments, as JSON, may name a file. It is cheap, and sure only if they do not.
    pub fn may_be_named_in(arguments: &str) -> bool {
        FILE_FIELDS.iter().any(|field| arguments.contains(field))
    }

    /// What a call showed of a file; `None` if it names none.
    pub fn of(operation: &Operation) -> Option<Self> {
        let (tool, arguments) = (operation.tool.as_str(), operation.arguments.as_str());
        let seen = Self::in_result(tool, arguments, operation.result.as_str())?;
        let lines = match seen.lines {
            // What is shown of an offloaded result is not all of it.
            SeenLines::Whole(lines) if operation.blob.is_some() => SeenLines::Part(lines),
            lines => lines,
        };
        Some(Self { lines, ..seen })
    }

    /// What a call with this whole result showed of a file; `None` if it names none.
    pub fn in_result(tool: &str, arguments: &str, result: &str) -> Option<Self> {
        let arguments: Value = serde_json::from_str(arguments).ok()?;
        let text = |field: &&str| arguments.get(*field).and_then(Value::as_str);
        let path = FILE_FIELDS.iter().find_map(text)?.to_owned();
        let lines = match writing_of(tool, &arguments) {
            Some(writing) if writing.means == Means::Editor => {
                let old = OLD_FIELDS.iter().find_map(text).unwrap_or_default();
                let new = writing.texts.iter().filter(|text| text.as_str() != old && **text != path);
                let written: Vec<u64> = new.flat_map(|text| hashes(text)).collect();
                let gone = hashes(old).filter(|line| !written.contains(line)).collect();
                SeenLines::Edited { written, gone }
            }
            Some(_) => return None,
            None => {
                let is_part =
                    PART_FIELDS.iter().any(|field| arguments.get(*field).is_some_and(|value| !value.is_null()));
                let lines = hashes(result).collect();
                if is_part { SeenLines::Part(lines) } else { SeenLines::Whole(lines) }
            }
        };
        Some(Self { path, lines })
    }

    /// The last part of the file's path.
    pub fn name(&self) -> String {
        last_parts(&self.path, 1).to_owned()
    }

    /// Whether this is the file of that path, wherever the project is checked out.
    pub fn is_file(&self, path: &str) -> bool {
        last_parts(&self.path, PATH_PARTS) == last_parts(path, PATH_PARTS)
    }

    /// Whether a file with these marked lines has changed; `None` if that cannot be said from what was seen.
    pub fn has_changed(&self, marked: &[u64]) -> Option<bool> {
        match &self.lines {
            // A word of the tool's in the file's place, such as that nothing has changed since it was read.
            SeenLines::Whole(seen) if seen.len() < WHOLE_LINES_MIN && marked.len() >= WHOLE_LINES_MIN => None,
            SeenLines::Whole(seen) => {
                let seen: BTreeSet<&u64> = seen.iter().collect();
                let share = marked.iter().filter(|line| seen.contains(line)).count() as f64 / marked.len() as f64;
                if share < CHANGED_BELOW { Some(true) } else { (share >= SAME_FROM).then_some(false) }
            }
            SeenLines::Part(_) => None,
            SeenLines::Edited { gone, .. } => marked.iter().any(|line| gone.contains(line)).then_some(true),
        }
    }
}

/// The lines of a file to mark, by all that a branch saw of it, in order. Empty if it saw none that tell something.
pub fn marked_lines(path: &str, seen: &[SeenFile]) -> Vec<u64> {
    let mut marked: Vec<u64> = Vec::new();
    for file in seen.iter().filter(|file| file.is_file(path)) {
        match &file.lines {
            SeenLines::Whole(lines) => marked.clone_from(lines),
            SeenLines::Part(lines) => marked.extend(lines),
            SeenLines::Edited { written, gone } => {
                marked.retain(|line| !gone.contains(line));
                marked.splice(0..0, written.iter().copied());
            }
        }
    }
    let mut known = BTreeSet::new();
    marked.retain(|line| known.insert(*line));
    marked.truncate(LINES_MAX);
    marked
}

/// Marked lines as they are stored.
pub fn mark_bytes(lines: &[u64]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.to_le_bytes()).collect()
}

/// Marked lines as they were stored.
pub fn mark_lines(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).filter_map(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?))).collect()
}

/// Hashes of the lines of a text that tell something, without the numbers that readers put before lines.
fn hashes(text: &str) -> impl Iterator<Item = u64> {
    let telling = text
        .lines()
        .map(without_number)
        .filter(|line| line.len() >= LINE_CHARS_MIN && line.chars().any(char::is_alphabetic));
    telling.map(|line| {
        blake3::hash(line.as_bytes()).as_bytes().iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
    })
}

/// A line without a number before it, such as `12→`, `12:` or `12` and a tab.
fn without_number(line: &str) -> &str {
    let line = line.trim();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == line.len() {
        return line;
    }
    rest.strip_prefix(['→', '\t', ':', '|']).map_or(line, str::trim)
}
