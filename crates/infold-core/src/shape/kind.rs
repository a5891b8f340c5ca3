//! Distinguishes files that were read from a search's hits and from other output, by the lines of the text.

use std::sync::LazyLock;

use regex::Regex;

use super::NumberedLine;
use super::marks::{head, is_match};
use super::wish::Wish;

/// How many lines at the front decide whether a text is a file.
const FRONT_LINES: usize = 12;
/// How much of a line is examined: its front says what it is.
const FRONT_CHARS: usize = 400;

static NUMBERED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\s*\d+[→\t]").ok());
static FOUND: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[^\s:]*[./][^\s:]*[:-]\d+[:-]").ok());

/// What sort of text a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultKind {
    /// Lines of a file, with their numbers before them.
    File,
    /// Lines of a file, or of another text that was asked for, without numbers. Words for errors in it are no errors.
    Text,
    /// Lines that a search found, with their files and numbers before them.
    Search,
    /// Any other output of a tool.
    Output,
}

impl ResultKind {
    pub(super) fn of(lines: &[NumberedLine<'_>], wish: &Wish) -> Self {
        let front = &lines[..lines.len().min(FRONT_LINES)];
        let numbered = front.iter().filter(|line| is_match(&NUMBERED, head(line.text, FRONT_CHARS))).count();
        if numbered >= (front.len() / 2).max(2) {
            return Self::File;
        }
        match wish {
            Wish::Named { .. } | Wish::Person => return Self::Text,
            Wish::Output => {}
        }
        let found = lines.iter().filter(|line| is_match(&FOUND, head(line.text, FRONT_CHARS))).count();
        if found * 2 > lines.len() { Self::Search } else { Self::Output }
    }
}
