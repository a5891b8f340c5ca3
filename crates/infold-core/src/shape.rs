//! Shaping: what becomes of a tool result at first sight.
//!
//! A result under the threshold stays as it is. Over it, the result is kept elsewhere, and what
//! stands in its place is a reference with an excerpt: what a model would otherwise have to fetch at
//! once. The decision is made once and never changes, so that a request stays the prefix of the next.
//!
//! The excerpt was found by measuring what recorded sessions went on to use. Names pay best, because a
//! name is a few tokens long and one in seven is used again. Of a file, the lines around names that the
//! session has spoken of are the likeliest to be edited. Of other output, the exit status, error lines,
//! counts and the end say how it went.
//!
//! What must hold: the same arguments give the same excerpt; it is within its bounds, whatever the text
//! is made of; every line in it is a line of the text, whole or cut at a character; the work grows with
//! the length of the text and no faster.

mod hits;
mod kept;
mod kind;
mod marks;
mod mentions;
mod names;

use crate::Counter;
use kept::Kept;
use kind::Kind;
use names::Found;

pub use mentions::{Mentions, plain_arguments};

/// Of a longer text, so many bytes are looked at: half at the front, half at the end.
const LOOK_BYTES_MAX: usize = 4 << 20;
/// Kept lines take at most one part in so many of the text's characters, and names likewise, so that a
/// reference is always much shorter than what it stands for.
const LINES_SHARE: usize = 3;
const NAMES_SHARE: usize = 4;
/// The places that a search found take at most one part in so many of what is left for names.
const HITS_SHARE: usize = 4;
/// The end of a text: where it is output, and where it is anything else.
const END_CHARS_MAX: usize = 240;
const END_CHARS_MAX_ELSE: usize = 120;
/// A page that was read back is never offloaded again. It has a bound of its own; this one is for what
/// only calls itself a page.
const PAGE_BYTES_MAX: usize = 256 << 10;
/// The tool that reads pages back, with or without a client's prefix.
const PAGE_TOOL: &str = "read_result";

/// When a result is too long to stay, and how much may stand in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeRules {
    /// A result with more bytes is too long.
    pub threshold_bytes: usize,
    /// So is one with more tokens.
    pub threshold_tokens: u64,
    /// Most characters of the lines that are kept of it.
    pub lines_chars_max: usize,
    /// Most characters of the names that are kept of it.
    pub names_chars_max: usize,
}

impl ShapeRules {
    /// The rules that the documented figures were measured with.
    pub const USUAL: Self =
        Self { threshold_bytes: 4_096, threshold_tokens: 4_096, lines_chars_max: 8_000, names_chars_max: 2_000 };

    /// Whether a result is too long to stay. A page that was read back never is.
    pub fn is_over(&self, sight: &Sight<'_>, counter: Counter) -> bool {
        let text = sight.text;
        if sight.tool.ends_with(PAGE_TOOL) && text.len() <= PAGE_BYTES_MAX {
            return false;
        }
        // No family counts two tokens for one byte, so short text need not be counted.
        let may_be_over = text.len() as u64 > self.threshold_tokens / 2;
        text.len() > self.threshold_bytes || (may_be_over && counter.count(text) > self.threshold_tokens)
    }
}

/// A result when it is first seen.
#[derive(Debug, Clone, Copy)]
pub struct Sight<'a> {
    /// The tool that was called.
    pub tool: &'a str,
    /// What it was called with, as JSON or as plain text.
    pub arguments: &'a str,
    /// What it answered.
    pub text: &'a str,
}

/// What becomes of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// It is shown as it is.
    Stays,
    /// It is kept elsewhere, and a reference with this excerpt is shown.
    Offload {
        /// What is shown of it, beside its size and its beginning.
        excerpt: String,
    },
}

/// Decides what becomes of a result. `mentions` holds what the session has said and shown before it.
pub fn shape(sight: &Sight<'_>, mentions: &Mentions, rules: &ShapeRules, counter: Counter) -> Shape {
    if !rules.is_over(sight, counter) {
        return Shape::Stays;
    }
    Shape::Offload { excerpt: excerpt(sight, mentions, rules) }
}

/// What is worth showing of a result that is kept elsewhere, however long it is.
pub fn excerpt(sight: &Sight<'_>, mentions: &Mentions, rules: &ShapeRules) -> String {
    let chars = sight.text.chars().count();
    let lines = lines_of(sight.text);
    let kind = Kind::of(&lines, sight.arguments);
    let found = Found::in_lines(&lines, kind);

    let mut kept = Kept::new(&lines, kind, rules.lines_chars_max.min(chars / LINES_SHARE));
    match kind {
        Kind::File => {
            kept.end(END_CHARS_MAX_ELSE);
            found.said(mentions, sight.arguments).into_iter().for_each(|at| kept.around(at));
        }
        Kind::Text | Kind::Search => {
            kept.end(END_CHARS_MAX_ELSE);
            marks::keep_status(&mut kept);
        }
        Kind::Output => {
            kept.end(END_CHARS_MAX);
            marks::keep_status(&mut kept);
            marks::keep_flagged(&mut kept);
            marks::keep_counts(&mut kept);
            marks::keep_odd(&mut kept);
        }
    }

    let names_chars_max = rules.names_chars_max.min(chars / NAMES_SHARE);
    let hits = match kind {
        Kind::Search => hits::by_file(&lines, names_chars_max / HITS_SHARE),
        Kind::File | Kind::Text | Kind::Output => String::new(),
    };
    let kept = kept.render();
    let shown = [hits.as_str(), &kept].join("\n");
    let names = found.list(mentions, sight.text, &shown, names_chars_max - hits.chars().count());
    let parts = [("Lines of it:\n", &kept), ("Found: ", &hits), ("Names: ", &names)];
    let parts: Vec<String> =
        parts.into_iter().filter(|(_, part)| !part.is_empty()).map(|(head, part)| format!("{head}{part}")).collect();
    parts.join("\n")
}

/// The lines that are looked at, each with its number, counted from 1.
fn lines_of(text: &str) -> Vec<Line<'_>> {
    let number = |from: usize| move |(at, text)| Line { number: from + at, text };
    if text.len() <= LOOK_BYTES_MAX {
        return text.split('\n').enumerate().map(number(1)).collect();
    }
    let front = &text[..text.floor_char_boundary(LOOK_BYTES_MAX / 2)];
    let end = &text[text.ceil_char_boundary(text.len() - LOOK_BYTES_MAX / 2)..];
    // A line that would be cut in two is left out, unless there is nothing else.
    let front = front.rfind('\n').map_or(front, |at| &front[..at]);
    let end = end.find('\n').map_or(end, |at| &end[at + 1..]);
    let before_end = text[..text.len() - end.len()].bytes().filter(|byte| *byte == b'\n').count();
    front
        .split('\n')
        .enumerate()
        .map(number(1))
        .chain(end.split('\n').enumerate().map(number(1 + before_end)))
        .collect()
}

/// A line of a text.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    number: usize,
    text: &'a str,
}

#[cfg(test)]
mod tests;
