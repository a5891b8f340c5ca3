//! Tells files that were read from what a search found and from other output.

use std::sync::LazyLock;

use regex::Regex;

use super::Line;
use super::marks::{head, is_match};

/// So many lines at the front say whether a text is a file.
const FRONT_LINES: usize = 12;
/// A line's front says what it is; the rest of a long one is not looked at.
const FRONT_CHARS: usize = 400;

/// How agents without a tool for it read part of a source file. Its words for errors are no errors.
const PRINTS_A_FILE: &str = "sed -n";

static NUMBERED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\s*\d+[→\t]").ok());
static FOUND: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[^\s:]*[./][^\s:]*[:-]\d+[:-]").ok());

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Lines of a file, with their numbers before them.
    File,
    /// Lines of a file as they are, printed by a command.
    Text,
    /// Lines that a search found, with their files and numbers before them.
    Search,
    /// Anything else.
    Output,
}

impl Kind {
    pub(super) fn of(lines: &[Line<'_>], arguments: &str) -> Self {
        let front = &lines[..lines.len().min(FRONT_LINES)];
        let numbered = front.iter().filter(|line| is_match(&NUMBERED, head(line.text, FRONT_CHARS))).count();
        if numbered >= (front.len() / 2).max(2) {
            return Self::File;
        }
        if head(arguments, FRONT_CHARS).contains(PRINTS_A_FILE) {
            return Self::Text;
        }
        let found = lines.iter().filter(|line| is_match(&FOUND, head(line.text, FRONT_CHARS))).count();
        if found * 2 > lines.len() { Self::Search } else { Self::Output }
    }
}
