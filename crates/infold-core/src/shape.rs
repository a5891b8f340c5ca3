//! Shaping: what is shown of a tool's result when it is first seen.
//!
//! A result is shown whole if the agent asked for it by name, as for a file, and up to a shorter bound if it is other
//! output. A person's answer is always shown whole. A result that is too long is offloaded: a reference replaces it,
//! with an excerpt that holds what a reader would look for first. If a file is read again, the excerpt shows what is
//! new in it. The decision is made once and never changes, so that a request stays the prefix of the next.
//!
//! The excerpt holds what recorded sessions went on to use (`cargo xtask measure`):
//! - What the client says about the result, whole: that it was cut, and which file has all of it.
//! - From a file, the lines around names that the session has spoken of. From a file that a person named, twice as
//!   much, in larger pieces. A run of lines has one line number: one for each line took a quarter of the tokens.
//! - From other output, the exit status, error lines, counts, the end, and lines unlike all others.
//! - Names worth searching for.
//! - If more lines report errors than fit, a pattern that finds them.
//!
//! What must hold: the same arguments give the same excerpt. A reference takes less than a third of the result that it
//! replaces, in bytes and in tokens, and less than a tenth if the result is very long; otherwise the result is shown.
//! Every line in an excerpt is a line of the text, whole or cut at characters, without the number that a tool put
//! before it. The work grows with the length of the text and no faster.

mod again;
mod command_line;
mod flagged;
mod hits;
mod kept_lines;
mod kind;
mod marks;
mod mentions;
mod names;
mod notices;
mod odd;
mod pieces;
mod shell;
mod wish;
mod worth;

use crate::offload::reference_text;
use crate::{Counter, ToolEffect};
use again::ShownBefore;
use flagged::FlaggedLines;
use kept_lines::KeptLines;
use kind::ResultKind;
use names::FoundNames;

pub use mentions::{Mentions, plain_arguments};
pub use wish::Wish;
use worth::{EXAMPLE_HANDLE, LARGE_BYTES, Worth, share_of};

/// Of a longer text only this much is examined: half at the front, half at the end.
const LOOK_BYTES_MAX: usize = 4 << 20;
/// A quarter of a reference's room is for names, and the rest for lines.
const NAMES_SHARE: usize = 4;
/// An excerpt is tried with its room divided by each of these, until the reference is small enough; else there is none.
const AGAIN_SHARES: [usize; 3] = [1, 2, 5];
/// A file that a person named gets twice the room for its lines.
const ASKED_FACTOR: usize = 2;
/// How many lines on each side of a line with a telling name are kept with it: usually, and in a file that a person
/// named.
const AROUND_LINES: usize = 5;
const AROUND_LINES_ASKED: usize = 20;
/// The list of a search's places takes at most half of the room for names.
const HITS_SHARE: usize = 2;
/// How much of a text's end is kept: of output, and of anything else.
const END_CHARS_MAX: usize = 240;
const END_CHARS_MAX_ELSE: usize = 120;
/// Answers of infold's own tools are never offloaded, nor what a person says. Both have bounds of their own; this bound
/// is for a tool that only has such a name.
const OWN_BYTES_MAX: usize = 256 << 10;
/// In a thread with little room left, this much is shown whole, and this much of what is longer.
const TIGHT_BYTES_MAX: usize = 2048;
const TIGHT_LINES_CHARS_MAX: usize = 1000;
const TIGHT_NAMES_CHARS_MAX: usize = 300;
/// The words above the lines that are kept.
const LINES_HEAD: &str = "Lines of it:\n";
const NEW_LINES_HEAD: &str =
    "This file was read before. What is new in it, with the lines around; all else is as shown further up:\n";
const NOTHING_NEW: &str = "This file was read before, and nothing in it is new: all is as shown further up.";

/// When a result is too long to be shown whole, and how much an excerpt may hold. The figures come from settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeRules {
    /// Most bytes of a file, or of something else that its call named, that is shown whole.
    pub file_bytes_max: usize,
    /// Most bytes of any other output that is shown whole.
    pub output_bytes_max: usize,
    /// Most bytes of output that a client hands in through the API, where infold does not see the conversation.
    pub handed_in_bytes_max: usize,
    /// If at least this many bytes of a file were shown before, only what is new in it is shown.
    pub reread_bytes_min: usize,
    /// Most characters of the lines in an excerpt.
    pub lines_chars_max: usize,
    /// Most characters of the names in an excerpt.
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

    /// The same for a thread with little room left: only what is short is shown whole, and less is shown of the rest.
    #[must_use]
    pub fn tight(&self) -> Self {
        Self {
            file_bytes_max: self.file_bytes_max.min(TIGHT_BYTES_MAX),
            output_bytes_max: self.output_bytes_max.min(TIGHT_BYTES_MAX),
            lines_chars_max: self.lines_chars_max.min(TIGHT_LINES_CHARS_MAX),
            names_chars_max: self.names_chars_max.min(TIGHT_NAMES_CHARS_MAX),
            ..*self
        }
    }

    /// Whether a result that a client hands in through the API is too long to be shown whole.
    pub fn offloads_handed_in(&self, result: &ToolResult<'_>) -> bool {
        let bytes_max = match Wish::of(result.tool, result.arguments) {
            Wish::Named { .. } => self.file_bytes_max,
            Wish::Output => self.handed_in_bytes_max,
            Wish::Person => OWN_BYTES_MAX,
        };
        !result.is_own() && result.text.len() > bytes_max
    }

    /// Whether [`shape`] offloads a result, given what was said and shown before it.
    pub fn offloads(&self, result: &ToolResult<'_>, mentions: &Mentions, counter: Counter) -> bool {
        shape(result, mentions, self, counter) != Shape::Stays
    }

    /// Whether [`shape`] might offload a result, so that it is worth gathering what was said before it.
    pub fn may_offload(&self, result: &ToolResult<'_>) -> bool {
        self.may_offload_unread(result) || (!result.is_own() && result.text.len() >= self.reread_bytes_min)
    }

    /// The same, if nothing was said before it.
    pub fn may_offload_unread(&self, result: &ToolResult<'_>) -> bool {
        !result.is_own() && result.text.len() > self.file_bytes_max.min(self.output_bytes_max)
    }
}

/// A tool call and its result, as shaping examines them.
#[derive(Debug, Clone, Copy)]
pub struct ToolResult<'a> {
    /// The tool's name as the client spells it.
    pub tool: &'a str,
    /// The arguments of the call, as JSON or as plain text.
    pub arguments: &'a str,
    /// The whole text of the result.
    pub text: &'a str,
}

impl ToolResult<'_> {
    /// Whether one of infold's own tools answered: a page that was read back is never offloaded again.
    fn is_own(&self) -> bool {
        self.text.len() <= OWN_BYTES_MAX && ToolEffect::of(self.tool).is_some()
    }
}

/// How a result is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// The result is shown whole.
    Stays,
    /// The result is offloaded, and a reference with this excerpt replaces it.
    Offload {
        /// What the reference shows of the result, beside its size and its beginning; may be empty.
        excerpt: String,
    },
}

/// Decides how a result is shown. `mentions` holds what the session has said and shown before it.
pub fn shape(result: &ToolResult<'_>, mentions: &Mentions, rules: &ShapeRules, counter: Counter) -> Shape {
    if !rules.may_offload(result) {
        return Shape::Stays;
    }
    let wish = Wish::of(result.tool, result.arguments);
    if result.text.len() <= rules.file_bytes_max.min(rules.output_bytes_max) && wish.file().is_none() {
        return Shape::Stays;
    }
    let look = ResultLook::at(result, wish, mentions);
    let is_again = look.again.bytes >= rules.reread_bytes_min.max(1);
    let is_long = result.text.len() > look.bytes_max(rules);
    if !is_again && !is_long {
        return Shape::Stays;
    }
    let worth = Worth::of(result, counter);
    if is_again {
        let excerpt = look.what_is_new();
        if worth.pays(result, &excerpt) {
            return Shape::Offload { excerpt };
        }
    }
    if !is_long {
        return Shape::Stays;
    }
    let excerpts = AGAIN_SHARES.iter().map(|share| look.excerpt(result, mentions, rules, *share));
    let excerpt = excerpts.chain([String::new()]).find(|excerpt| worth.pays(result, excerpt));
    excerpt.map_or(Shape::Stays, |excerpt| Shape::Offload { excerpt })
}

/// The excerpt of a result that is offloaded in any case, however long it is.
pub fn excerpt(result: &ToolResult<'_>, mentions: &Mentions, rules: &ShapeRules) -> String {
    let look = ResultLook::at(result, Wish::of(result.tool, result.arguments), mentions);
    look.excerpt(result, mentions, rules, 1)
}

/// What the lines of a result, and the call that it answers, show about it.
struct ResultLook<'a> {
    lines: Vec<NumberedLine<'a>>,
    wish: Wish,
    kind: ResultKind,
    /// Which of its lines were shown before; none if it is no file.
    again: ShownBefore,
}

impl<'a> ResultLook<'a> {
    fn at(result: &ToolResult<'a>, wish: Wish, mentions: &Mentions) -> Self {
        let lines = lines_of(result.text);
        let kind = ResultKind::of(&lines, &wish);
        let again = wish.file().map_or_else(ShownBefore::default, |file| ShownBefore::of(&lines, file, mentions));
        Self { lines, wish, kind, again }
    }

    /// How many bytes a result like this may have and still be shown whole.
    fn bytes_max(&self, rules: &ShapeRules) -> usize {
        match (&self.wish, self.kind) {
            (Wish::Person, _) => OWN_BYTES_MAX,
            (Wish::Named { .. }, _) | (Wish::Output, ResultKind::File) => rules.file_bytes_max,
            (Wish::Output, ResultKind::Text | ResultKind::Search | ResultKind::Output) => rules.output_bytes_max,
        }
    }

    /// The excerpt of a file that was read before.
    fn what_is_new(&self) -> String {
        let new = again::render(&self.lines, self.kind, &self.again);
        if new.is_empty() { NOTHING_NEW.to_owned() } else { format!("{NEW_LINES_HEAD}{new}") }
    }

    /// The excerpt of anything else, within the usual room divided by `part`.
    fn excerpt(&self, result: &ToolResult<'_>, mentions: &Mentions, rules: &ShapeRules, part: usize) -> String {
        let lead = reference_text(result.tool, result.text, EXAMPLE_HANDLE, "");
        let notices = notices::notices(&self.lines, self.kind);
        let heads = LINES_HEAD.len() + "Found: \nNames: \n".len() + flagged::suggestion_chars_max(result.text);
        let taken_chars = lead.chars().count() + notices.chars().count() + heads;
        let room_chars = (result.text.chars().count() / share_of(result.text)).saturating_sub(taken_chars) / part;

        let pieces = if self.looks_for_errors(result.text) { &pieces::pieces_of(&self.lines) } else { &self.lines };
        let found = FoundNames::in_lines(pieces, self.kind);
        let lines_room_chars = room_chars - room_chars / NAMES_SHARE;
        let (kept, suggestion) = match self.kind {
            ResultKind::File | ResultKind::Text => {
                self.of_file(result, mentions, rules, (pieces, &found), lines_room_chars)
            }
            ResultKind::Search | ResultKind::Output => {
                self.of_output(result, pieces, rules.lines_chars_max.min(lines_room_chars))
            }
        };
        let names_chars_max = rules.names_chars_max.min(room_chars / NAMES_SHARE);
        let hits = match self.kind {
            ResultKind::Search => hits::by_file(&self.lines, names_chars_max / HITS_SHARE),
            ResultKind::File | ResultKind::Text | ResultKind::Output => String::new(),
        };
        let shown = [notices.as_str(), &hits, &kept].join("\n");
        let names = found.list(mentions, result.text, &shown, names_chars_max - hits.chars().count());
        let parts = [("", &notices), (LINES_HEAD, &kept), ("Found: ", &hits), ("Names: ", &names), ("", &suggestion)];
        let parts = parts.into_iter().filter(|(_, part)| !part.is_empty());
        parts.map(|(head, part)| format!("{head}{part}")).collect::<Vec<_>>().join("\n")
    }

    /// Whether lines that report errors are looked for, also within long lines. Source code is full of words for errors, so
    /// lines of files and what a search found in them are taken for a report only if they are more than people write.
    fn looks_for_errors(&self, text: &str) -> bool {
        match self.kind {
            ResultKind::File | ResultKind::Text | ResultKind::Search => text.len() > LARGE_BYTES,
            ResultKind::Output => true,
        }
    }

    /// The lines that are kept of a file: its end, and those around names that the session has spoken of; and a pattern for
    /// errors that are not among them.
    fn of_file(
        &self,
        result: &ToolResult<'_>,
        mentions: &Mentions,
        rules: &ShapeRules,
        (pieces, found): (&[NumberedLine<'_>], &FoundNames<'_>),
        room_chars: usize,
    ) -> (String, String) {
        let (factor, around) = match mentions.has_asked_for(result.arguments) {
            true => (ASKED_FACTOR, AROUND_LINES_ASKED),
            false => (1, AROUND_LINES),
        };
        let mut kept = KeptLines::new(pieces, self.kind, (factor * rules.lines_chars_max).min(room_chars));
        kept.end(END_CHARS_MAX_ELSE);
        if self.kind == ResultKind::Text {
            marks::keep_status(&mut kept);
        }
        let flagged = self.looks_for_errors(result.text).then(|| FlaggedLines::of(&kept, result.text));
        flagged.iter().for_each(|flagged| flagged.keep(&mut kept));
        let spoken_of = found.lines_spoken_of(mentions, result.arguments);
        spoken_of.into_iter().for_each(|at| kept.around(at, around));
        odd::keep_odd(&mut kept);
        let suggestion = flagged.map(|flagged| flagged.suggestion(&kept)).unwrap_or_default();
        (kept.render(), suggestion)
    }

    /// The lines that are kept of anything else, and a pattern for errors that are not among them.
    fn of_output(&self, result: &ToolResult<'_>, pieces: &[NumberedLine<'_>], chars_max: usize) -> (String, String) {
        let mut kept = KeptLines::new(pieces, self.kind, chars_max);
        let is_search = self.kind == ResultKind::Search;
        kept.end(if is_search { END_CHARS_MAX_ELSE } else { END_CHARS_MAX });
        marks::keep_status(&mut kept);
        let flagged = self.looks_for_errors(result.text).then(|| FlaggedLines::of(&kept, result.text));
        flagged.iter().for_each(|flagged| flagged.keep(&mut kept));
        if !is_search {
            flagged::keep_warnings(&mut kept);
            marks::keep_counts(&mut kept);
            odd::keep_odd(&mut kept);
        }
        let suggestion = flagged.map(|flagged| flagged.suggestion(&kept)).unwrap_or_default();
        (kept.render(), suggestion)
    }
}

/// The lines that are examined, each with its number, counted from 1.
fn lines_of(text: &str) -> Vec<NumberedLine<'_>> {
    let number = |from: usize| move |(at, text)| NumberedLine { number: from + at, text, goes_on: false };
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

/// A line of a text, with its number in the whole text, counted from 1.
#[derive(Debug, Clone, Copy)]
struct NumberedLine<'a> {
    number: usize,
    text: &'a str,
    /// Whether it is a piece that goes on with the line of the one before it.
    goes_on: bool,
}

#[cfg(test)]
mod tests;
