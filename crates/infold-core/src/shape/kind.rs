//! Tells files that were read from what a search found and from other output.

use std::sync::LazyLock;

use regex::Regex;

use super::NumberedLine;
use super::marks::{head, is_match};
use super::wish::Wish;

/// So many lines at the front say whether a text is a file.
const FRONT_LINES: usize = 12;
/// A line's front says what it is; the rest of a long one is not looked at.
const FRONT_CHARS: usize = 400;

static NUMBERED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\s*\d+[→\t]").ok());
static FOUND: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[^\s:]*[./][^\s:]*[:-]\d+[:-]").ok());

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultKind {
    /// Lines of a file, with their numbers before them.
    File,
    /// Lines of a file, or of another text that was asked for, as they are. Its words for errors are no errors.
    Text,
    /// Lines that a search found, with their files and numbers before them.
    Search,
    /// Anything else.
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
