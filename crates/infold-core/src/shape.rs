//! Shaping: what becomes of a tool result at first sight.
//!
//! A result under the threshold stays as it is. Over it, the result is kept elsewhere, and what
//! stands in its place is a reference with an excerpt: what a model would otherwise have to fetch at
//! once. The decision is made once and never changes, so that a request stays the prefix of the next.
//!
//! The excerpt was found by measuring what recorded sessions went on to use (`cargo xtask measure`):
//! - Names pay best, because a name is a few tokens long and one in seven is used again.
//! - Of a file, the lines around names that the session has spoken of are the likeliest to be edited.
//!   Two thirds of the edited lines that were out of sight lay in files that a person had named; so of
//!   those twice as much is kept, in larger pieces.
//! - One token in eight of what files showed stood further up already, word for word. Those lines are left
//!   out, which pays for the rest; a short file that is read again goes through the same.
//! - The numbers before a file's lines were a quarter of what its lines cost. A run has one for all.
//! - Of other output, the exit status, error lines, counts and the end say how it went. It is hardly ever
//!   needed word for word, so its threshold is lower than a file's.
//!
//! What must hold: the same arguments give the same excerpt; it is within its bounds, whatever the text
//! is made of; every line in it is a line of the text, whole or cut at a character, without the number
//! that a tool put before it; the work grows with the length of the text and no faster.

mod again;
mod hits;
mod kept;
mod kind;
mod marks;
mod mentions;
mod names;

use crate::Counter;
use again::Again;
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
/// Of a file that a person named, twice as much.
const ASKED_FACTOR: usize = 2;
/// So many lines on each side of a line with a telling name are kept with it, and so many in a file that
/// a person named.
const AROUND_LINES: usize = 5;
const AROUND_LINES_ASKED: usize = 20;
/// So many lines on each side of lines that are new in a file seen before.
const AROUND_LINES_NEW: usize = 1;
/// The places that a search found take at most one part in so many of what is left for names.
const HITS_SHARE: usize = 4;
/// The end of a text: where it is output, and where it is anything else.
const END_CHARS_MAX: usize = 240;
const END_CHARS_MAX_ELSE: usize = 120;
/// A page that was read back is never offloaded again. It has a bound of its own; this one is for what
/// only calls itself a page.
const PAGE_BYTES_MAX: usize = 256 << 10;
/// What stands above the lines that are kept.
const LINES_HEAD: &str = "Lines of it:\n";
const NEW_LINES_HEAD: &str = "Lines of it, without those that were shown before:\n";
const NOTHING_NEW: &str = "All lines of it were shown before.";
/// The tool that reads pages back, with or without a client's prefix.
const PAGE_TOOL: &str = "read_result";

/// When a result is too long to stay, and how much may stand in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeRules {
    /// A result with more bytes is too long.
    pub threshold_bytes: usize,
    /// So is one with more tokens.
    pub threshold_tokens: u64,
    /// So is one with more bytes than this that is not (a part of) a file.
    pub output_bytes: usize,
    /// So is a file of which at least so many bytes can be seen further up.
    pub again_bytes: usize,
    /// Most characters of the lines that are kept of it.
    pub lines_chars_max: usize,
    /// Most characters of the names that are kept of it.
    pub names_chars_max: usize,
}

impl ShapeRules {
    /// The rules that the documented figures were measured with.
    pub const USUAL: Self = Self {
        threshold_bytes: 4_096,
        threshold_tokens: 4_096,
        output_bytes: 3_072,
        again_bytes: 1_024,
        lines_chars_max: 8_000,
        names_chars_max: 2_000,
    };

    /// Whether a result is too long to stay whatever it is and whatever was seen before. A page that was
    /// read back never is.
    pub fn is_over(&self, sight: &Sight<'_>, counter: Counter) -> bool {
        let text = sight.text;
        if sight.is_page() {
            return false;
        }
        // No family counts two tokens for one byte, so short text need not be counted.
        let may_be_over = text.len() as u64 > self.threshold_tokens / 2;
        text.len() > self.threshold_bytes || (may_be_over && counter.count(text) > self.threshold_tokens)
    }

    /// Whether a result is too long to stay at first sight, given what was said and shown before it. This
    /// is what [`shape`] asks.
    pub fn is_over_at_sight(&self, sight: &Sight<'_>, mentions: &Mentions, counter: Counter) -> bool {
        self.may_be_over(sight)
            && (self.is_over(sight, counter) || Look::at(sight, mentions, self).is_over(sight, self))
    }

    /// Whether [`shape`] might not let a result stay, so that it is worth gathering what was said before.
    pub fn may_be_over(&self, sight: &Sight<'_>) -> bool {
        let bytes_min = self.threshold_bytes.min(self.output_bytes).min(self.again_bytes);
        !sight.is_page() && (sight.text.len() >= bytes_min || sight.text.len() as u64 > self.threshold_tokens / 2)
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

impl Sight<'_> {
    fn is_page(&self) -> bool {
        self.tool.ends_with(PAGE_TOOL) && self.text.len() <= PAGE_BYTES_MAX
    }
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
    if !rules.may_be_over(sight) {
        return Shape::Stays;
    }
    let look = Look::at(sight, mentions, rules);
    if look.is_over(sight, rules) || rules.is_over(sight, counter) {
        return Shape::Offload { excerpt: look.excerpt(sight, mentions, rules) };
    }
    Shape::Stays
}

/// What is worth showing of a result that is kept elsewhere, however long it is.
pub fn excerpt(sight: &Sight<'_>, mentions: &Mentions, rules: &ShapeRules) -> String {
    Look::at(sight, mentions, rules).excerpt(sight, mentions, rules)
}

/// What can be told of a result by looking at its lines.
struct Look<'a> {
    lines: Vec<Line<'a>>,
    kind: Kind,
    /// What of it can be seen already; nothing where that is too little to be worth it.
    again: Again,
}

impl<'a> Look<'a> {
    fn at(sight: &Sight<'a>, mentions: &Mentions, rules: &ShapeRules) -> Self {
        let lines = lines_of(sight.text);
        let kind = Kind::of(&lines, sight.arguments);
        let again = match kind {
            Kind::File | Kind::Text => Again::of(&lines, mentions),
            Kind::Search | Kind::Output => Again::default(),
        };
        let again = if again.bytes >= rules.again_bytes.max(1) { again } else { Again::default() };
        Self { lines, kind, again }
    }

    /// Whether it is too long to stay, for what it is and for what was seen before.
    fn is_over(&self, sight: &Sight<'_>, rules: &ShapeRules) -> bool {
        match self.kind {
            Kind::File | Kind::Text => self.again.bytes > 0,
            Kind::Search | Kind::Output => sight.text.len() > rules.output_bytes,
        }
    }

    fn excerpt(&self, sight: &Sight<'_>, mentions: &Mentions, rules: &ShapeRules) -> String {
        let chars = sight.text.chars().count();
        let found = Found::in_lines(&self.lines, self.kind);
        let kept = match self.kind {
            Kind::File | Kind::Text => self.of_file(sight, mentions, rules, &found),
            Kind::Search | Kind::Output => self.of_output(rules.lines_chars_max.min(chars / LINES_SHARE)),
        };

        let names_chars_max = rules.names_chars_max.min(chars / NAMES_SHARE);
        let hits = match self.kind {
            Kind::Search => hits::by_file(&self.lines, names_chars_max / HITS_SHARE),
            Kind::File | Kind::Text | Kind::Output => String::new(),
        };
        let shown = [hits.as_str(), &kept].join("\n");
        let names = found.list(mentions, sight.text, &shown, names_chars_max - hits.chars().count());
        let lines_head = match (self.again.bytes, kept.is_empty()) {
            (0, _) => LINES_HEAD,
            (_, false) => NEW_LINES_HEAD,
            (_, true) => NOTHING_NEW,
        };
        let parts = [(lines_head, &kept), ("Found: ", &hits), ("Names: ", &names)];
        let has_part = |(head, part): &(&str, &String)| !part.is_empty() || *head == NOTHING_NEW;
        let parts: Vec<String> =
            parts.into_iter().filter(has_part).map(|(head, part)| format!("{head}{part}")).collect();
        parts.join("\n")
    }

    /// What is kept of a file: of one that was seen before all that is new, if that is little; else what
    /// lies around the names that the session has spoken of.
    fn of_file(&self, sight: &Sight<'_>, mentions: &Mentions, rules: &ShapeRules, found: &Found<'_>) -> String {
        let chars = sight.text.chars().count();
        let (factor, around) = match mentions.has_asked_for(sight.arguments) {
            true => (ASKED_FACTOR, AROUND_LINES_ASKED),
            false => (1, AROUND_LINES),
        };
        let chars_max = (factor * rules.lines_chars_max).min(factor * chars / LINES_SHARE);
        if self.again.bytes > 0 {
            let mut kept = Kept::new(&self.lines, self.kind, rules.lines_chars_max.min(chars));
            if self.take_new(&mut kept, rules.lines_chars_max / 2) {
                return kept.render();
            }
        }
        let mut kept = Kept::new(&self.lines, self.kind, chars_max);
        kept.end(END_CHARS_MAX_ELSE);
        if self.kind == Kind::Text {
            marks::keep_status(&mut kept);
        }
        let said = found.said(mentions, sight.arguments);
        said.into_iter().filter(|at| !self.again.has(*at)).for_each(|at| kept.around(at, around));
        kept.render()
    }

    /// Keeps all that is new in a file that was seen before. Says whether it is little enough.
    fn take_new(&self, kept: &mut Kept<'_>, chars_max: usize) -> bool {
        let mut share = kept.share(chars_max);
        self.again
            .new_runs()
            .into_iter()
            .all(|run| kept.take(&mut share, run.start.saturating_sub(AROUND_LINES_NEW)..run.end + AROUND_LINES_NEW))
    }

    fn of_output(&self, chars_max: usize) -> String {
        let mut kept = Kept::new(&self.lines, self.kind, chars_max);
        if self.kind == Kind::Search {
            kept.end(END_CHARS_MAX_ELSE);
            marks::keep_status(&mut kept);
        } else {
            kept.end(END_CHARS_MAX);
            marks::keep_status(&mut kept);
            marks::keep_flagged(&mut kept);
            marks::keep_counts(&mut kept);
            marks::keep_odd(&mut kept);
        }
        kept.render()
    }
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
