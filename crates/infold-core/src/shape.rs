//! Shaping: what becomes of a tool result at first sight.
//!
//! What an agent asked for by name, a file for instance, it sees whole; other output too, unless it is long; and
//! what a person answered in any case. What is too long is kept elsewhere, and what stands in its place is a
//! reference with an excerpt: what a person would look for first. A file that is read again shows what is new in
//! it. The decision is made once and never changes, so that a request stays the prefix of the next.
//!
//! What the excerpt holds, by what recorded sessions went on to use (`cargo xtask measure`):
//! - What the client says about the result, whole: that it was cut, and which file has all of it.
//! - Of a file, the lines around names that the session has spoken of; of a file that a person named twice as
//!   much, in larger pieces. The numbers before its lines were a quarter of what they cost: a run has one for all.
//! - Of other output, the exit status, error lines, counts, the end, and lines unlike all others.
//! - Names worth searching for.
//!
//! What must hold: the same arguments give the same excerpt; a reference takes less than a third of what it stands
//! for, in bytes and in tokens, and less than a tenth of what is very long, or there is none; every line in an
//! excerpt is a line of the text, whole or cut at a character, without the number that a tool put before it; the
//! work grows with the length of the text and no faster.

mod again;
mod command_line;
mod hits;
mod kept;
mod kind;
mod marks;
mod mentions;
mod names;
mod notices;
mod odd;
mod shell;
mod wish;
mod worth;

use crate::offload::reference_text;
use crate::{Counter, ToolEffect};
use again::ShownBefore;
use kept::KeptLines;
use kind::ResultKind;
use names::FoundNames;

pub use mentions::{Mentions, plain_arguments};
pub use wish::Wish;
use worth::{EXAMPLE_HANDLE, Worth, share_of};

/// Of a longer text, so many bytes are looked at: half at the front, half at the end.
const LOOK_BYTES_MAX: usize = 4 << 20;
/// Of what a reference may take, one part in so many is for names, and the rest for lines.
const NAMES_SHARE: usize = 4;
/// An excerpt that came out too large is made again with one part in so many of its room, and then left out.
const AGAIN_SHARES: [usize; 3] = [1, 2, 5];
/// Of a file that a person named, twice as much.
const ASKED_FACTOR: usize = 2;
/// So many lines on each side of a line with a telling name are kept with it, and so many in a file that
/// a person named.
const AROUND_LINES: usize = 5;
const AROUND_LINES_ASKED: usize = 20;
/// The places that a search found take at most one part in so many of what is left for names.
const HITS_SHARE: usize = 2;
/// The end of a text: where it is output, and where it is anything else.
const END_CHARS_MAX: usize = 240;
const END_CHARS_MAX_ELSE: usize = 120;
/// What infold's own tools answer is never offloaded, nor what a person says. Both have bounds of their own;
/// this one is for what only calls itself so.
const OWN_BYTES_MAX: usize = 256 << 10;
/// What stands above the lines that are kept.
const LINES_HEAD: &str = "Lines of it:\n";
const NEW_LINES_HEAD: &str =
    "This file was read before. What is new in it, with the lines around; all else is as shown further up:\n";
const NOTHING_NEW: &str = "This file was read before, and nothing in it is new: all is as shown further up.";

/// When a result is too long to stay, and how much may stand in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeRules {
    /// A file, or something else that its call named, is too long with more bytes than this.
    pub file_bytes_max: usize,
    /// Any other output with more bytes than this.
    pub output_bytes_max: usize,
    /// The same for output that is handed in from outside, where nothing is known of what came before.
    pub handed_in_bytes_max: usize,
    /// A file that was read before is shown by what is new in it, if at least so many bytes are not.
    pub reread_bytes_min: usize,
    /// Most characters of the lines that are kept of it.
    pub lines_chars_max: usize,
    /// Most characters of the names that are kept of it.
    pub names_chars_max: usize,
}

impl ShapeRules {
    /// The rules that the documented figures were measured with.
    pub const USUAL: Self = Self {
        file_bytes_max: 32_768,
        output_bytes_max: 8_192,
        handed_in_bytes_max: 4_096,
        reread_bytes_min: 1_024,
        lines_chars_max: 8_000,
        names_chars_max: 2_000,
    };

    /// Whether a result that is handed in from outside is too long to stay.
    pub fn is_over(&self, sight: &ToolResult<'_>) -> bool {
        let bytes_max = match Wish::of(sight.tool, sight.arguments) {
            Wish::Named { .. } => self.file_bytes_max,
            Wish::Output => self.handed_in_bytes_max,
            Wish::Person => OWN_BYTES_MAX,
        };
        !sight.is_own() && sight.text.len() > bytes_max
    }

    /// Whether [`shape`] does not let a result stay, given what was said and shown before it.
    pub fn is_over_at_sight(&self, sight: &ToolResult<'_>, mentions: &Mentions, counter: Counter) -> bool {
        shape(sight, mentions, self, counter) != Shape::Stays
    }

    /// Whether [`shape`] might not let a result stay, so that it is worth gathering what was said before.
    pub fn may_be_over(&self, sight: &ToolResult<'_>) -> bool {
        let bytes_max = self.file_bytes_max.min(self.output_bytes_max);
        !sight.is_own() && (sight.text.len() > bytes_max || sight.text.len() >= self.reread_bytes_min)
    }
}

/// A result when it is first seen.
#[derive(Debug, Clone, Copy)]
pub struct ToolResult<'a> {
    /// The tool that was called.
    pub tool: &'a str,
    /// What it was called with, as JSON or as plain text.
    pub arguments: &'a str,
    /// What it answered.
    pub text: &'a str,
}

impl ToolResult<'_> {
    /// Whether infold itself answered: a page that was read back is never offloaded again.
    fn is_own(&self) -> bool {
        self.text.len() <= OWN_BYTES_MAX && ToolEffect::of(self.tool).is_some()
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
pub fn shape(sight: &ToolResult<'_>, mentions: &Mentions, rules: &ShapeRules, counter: Counter) -> Shape {
    if !rules.may_be_over(sight) {
        return Shape::Stays;
    }
    let wish = Wish::of(sight.tool, sight.arguments);
    if sight.text.len() <= rules.file_bytes_max.min(rules.output_bytes_max) && wish.file().is_none() {
        return Shape::Stays;
    }
    let look = ResultLook::at(sight, wish, mentions);
    let is_again = look.again.bytes >= rules.reread_bytes_min.max(1);
    let is_long = sight.text.len() > look.bytes_max(rules);
    if !is_again && !is_long {
        return Shape::Stays;
    }
    let worth = Worth::of(sight, counter);
    if is_again {
        let excerpt = look.what_is_new();
        if worth.pays(sight, &excerpt) {
            return Shape::Offload { excerpt };
        }
    }
    if !is_long {
        return Shape::Stays;
    }
    let excerpts = AGAIN_SHARES.iter().map(|share| look.excerpt(sight, mentions, rules, *share));
    let excerpt = excerpts.chain([String::new()]).find(|excerpt| worth.pays(sight, excerpt));
    excerpt.map_or(Shape::Stays, |excerpt| Shape::Offload { excerpt })
}

/// What is worth showing of a result that is kept elsewhere, however long it is.
pub fn excerpt(sight: &ToolResult<'_>, mentions: &Mentions, rules: &ShapeRules) -> String {
    let look = ResultLook::at(sight, Wish::of(sight.tool, sight.arguments), mentions);
    look.excerpt(sight, mentions, rules, 1)
}

/// What can be told of a result by looking at its lines.
struct ResultLook<'a> {
    lines: Vec<NumberedLine<'a>>,
    wish: Wish,
    kind: ResultKind,
    /// What of it was shown before.
    again: ShownBefore,
}

impl<'a> ResultLook<'a> {
    fn at(sight: &ToolResult<'a>, wish: Wish, mentions: &Mentions) -> Self {
        let lines = lines_of(sight.text);
        let kind = ResultKind::of(&lines, &wish);
        let again = wish.file().map_or_else(ShownBefore::default, |file| ShownBefore::of(&lines, file, mentions));
        Self { lines, wish, kind, again }
    }

    /// How many bytes it may have and stay.
    fn bytes_max(&self, rules: &ShapeRules) -> usize {
        match (&self.wish, self.kind) {
            (Wish::Person, _) => OWN_BYTES_MAX,
            (Wish::Named { .. }, _) | (Wish::Output, ResultKind::File) => rules.file_bytes_max,
            (Wish::Output, ResultKind::Text | ResultKind::Search | ResultKind::Output) => rules.output_bytes_max,
        }
    }

    /// What is shown of a file that was read before.
    fn what_is_new(&self) -> String {
        let new = again::render(&self.lines, self.kind, &self.again);
        if new.is_empty() { NOTHING_NEW.to_owned() } else { format!("{NEW_LINES_HEAD}{new}") }
    }

    /// What is shown of anything else, within one part in `part` of the usual room.
    fn excerpt(&self, sight: &ToolResult<'_>, mentions: &Mentions, rules: &ShapeRules, part: usize) -> String {
        let lead = reference_text(sight.tool, sight.text, EXAMPLE_HANDLE, "");
        let notices = notices::notices(&self.lines, self.kind);
        let heads = LINES_HEAD.len() + "Found: \nNames: \n".len();
        let taken_chars = lead.chars().count() + notices.chars().count() + heads;
        let room_chars = (sight.text.chars().count() / share_of(sight.text)).saturating_sub(taken_chars) / part;

        let found = FoundNames::in_lines(&self.lines, self.kind);
        let lines_room_chars = room_chars - room_chars / NAMES_SHARE;
        let kept = match self.kind {
            ResultKind::File | ResultKind::Text => self.of_file(sight, mentions, rules, &found, lines_room_chars),
            ResultKind::Search | ResultKind::Output => self.of_output(rules.lines_chars_max.min(lines_room_chars)),
        };
        let names_chars_max = rules.names_chars_max.min(room_chars / NAMES_SHARE);
        let hits = match self.kind {
            ResultKind::Search => hits::by_file(&self.lines, names_chars_max / HITS_SHARE),
            ResultKind::File | ResultKind::Text | ResultKind::Output => String::new(),
        };
        let shown = [notices.as_str(), &hits, &kept].join("\n");
        let names = found.list(mentions, sight.text, &shown, names_chars_max - hits.chars().count());
        let parts = [("", &notices), (LINES_HEAD, &kept), ("Found: ", &hits), ("Names: ", &names)];
        let parts = parts.into_iter().filter(|(_, part)| !part.is_empty());
        parts.map(|(head, part)| format!("{head}{part}")).collect::<Vec<_>>().join("\n")
    }

    /// What is kept of a file: what lies around the names that the session has spoken of.
    fn of_file(
        &self,
        sight: &ToolResult<'_>,
        mentions: &Mentions,
        rules: &ShapeRules,
        found: &FoundNames<'_>,
        room_chars: usize,
    ) -> String {
        let (factor, around) = match mentions.has_asked_for(sight.arguments) {
            true => (ASKED_FACTOR, AROUND_LINES_ASKED),
            false => (1, AROUND_LINES),
        };
        let mut kept = KeptLines::new(&self.lines, self.kind, (factor * rules.lines_chars_max).min(room_chars));
        kept.end(END_CHARS_MAX_ELSE);
        if self.kind == ResultKind::Text {
            marks::keep_status(&mut kept);
        }
        let said = found.said(mentions, sight.arguments);
        said.into_iter().for_each(|at| kept.around(at, around));
        odd::keep_odd(&mut kept);
        kept.render()
    }

    fn of_output(&self, chars_max: usize) -> String {
        let mut kept = KeptLines::new(&self.lines, self.kind, chars_max);
        if self.kind == ResultKind::Search {
            kept.end(END_CHARS_MAX_ELSE);
            marks::keep_status(&mut kept);
        } else {
            kept.end(END_CHARS_MAX);
            marks::keep_status(&mut kept);
            marks::keep_flagged(&mut kept);
            marks::keep_counts(&mut kept);
            odd::keep_odd(&mut kept);
        }
        kept.render()
    }
}

/// The lines that are looked at, each with its number, counted from 1.
fn lines_of(text: &str) -> Vec<NumberedLine<'_>> {
    let number = |from: usize| move |(at, text)| NumberedLine { number: from + at, text };
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
struct NumberedLine<'a> {
    number: usize,
    text: &'a str,
}

#[cfg(test)]
mod tests;
