//! Results that are too long for the context: the reference that replaces one, and how parts of it are read back.
//!
//! All positions are bytes, moved back to the start of a character. Which results are offloaded is decided in `shape`;
//! storing them is the engine's.

mod around;

use std::borrow::Cow;

use crate::shape::{Shape, excerpt, shape};
use crate::{BlobId, Counter, Mentions, ScrubError, Scrubbed, ShapeRules, ToolResult};

pub use around::around_matches;

const PREVIEW_CHARS: usize = 200;
/// Most bytes that a pattern may compile to once it ignores case.
const ANY_CASE_BYTES_MAX: usize = 4 << 20;
/// What a page needs beside the parts of a long line.
const LINE_FRAME_BYTES: usize = 100;
/// Follows a line that was too long to be shown whole.
const CUT: &str = "\n[line cut here: read the rest by offset]\n";

/// The text that replaces an offloaded result: its size, its beginning, and how to read the rest.
pub fn reference(tool: &Scrubbed, content: &Scrubbed, id: &BlobId) -> Scrubbed {
    let preview = content.head_chars(PREVIEW_CHARS);
    Scrubbed::composed(lead(tool.as_str(), content.as_str().len(), preview.as_str(), id.as_str()))
}

/// The text that replaces one which could not be searched for secrets to its end.
pub fn withheld(bytes: usize, error: &ScrubError) -> Scrubbed {
    // An error of the scrubber has figures and fixed words in it, and nothing of the text.
    Scrubbed::composed(format!(
        "[infold withheld {bytes} bytes here, because they could not be searched for secrets: {error}. To see them, ask \
         for less at a time, for example for a part of the file.]"
    ))
}

/// A tool call and its result, without their secrets.
#[derive(Debug, Clone, Copy)]
pub struct ScrubbedCall<'a> {
    /// The tool's name as the client spells it.
    pub tool: &'a Scrubbed,
    /// The arguments of the call, as JSON or as plain text.
    pub arguments: &'a Scrubbed,
    /// The whole text of the result.
    pub content: &'a Scrubbed,
}

impl<'a> ScrubbedCall<'a> {
    /// The same as plain strings, as shaping takes it.
    pub fn as_plain(&self) -> ToolResult<'a> {
        ToolResult { tool: self.tool.as_str(), arguments: self.arguments.as_str(), text: self.content.as_str() }
    }

    fn reference(&self, id: &BlobId, excerpt: &str) -> Scrubbed {
        Scrubbed::composed(below(reference(self.tool, self.content, id).as_str(), excerpt))
    }
}

/// A [`reference`], and below it an excerpt: what a model would otherwise have to fetch at once. `mentions` holds what
/// was said and shown before the result, as far as that is known.
pub fn shaped_reference(call: &ScrubbedCall<'_>, id: &BlobId, mentions: &Mentions, rules: &ShapeRules) -> Scrubbed {
    call.reference(id, &excerpt(&call.as_plain(), mentions, rules))
}

/// Decides about a result when it is first seen: the text that replaces it, or `None` if it is shown as it is.
pub fn reference_if_offloaded(
    call: &ScrubbedCall<'_>,
    id: &BlobId,
    mentions: &Mentions,
    rules: &ShapeRules,
    counter: Counter,
) -> Option<Scrubbed> {
    match shape(&call.as_plain(), mentions, rules, counter) {
        Shape::Stays => None,
        Shape::Offload { excerpt } => Some(call.reference(id, &excerpt)),
    }
}

/// A reference of plain text, for a transcript that is not infold's own. `handle` is what `read_result`
/// takes; the excerpt is what [`shape`](crate::shape()) gave.
pub fn reference_text(tool: &str, content: &str, handle: &str, excerpt: &str) -> String {
    let preview = content.char_indices().nth(PREVIEW_CHARS).map_or(content, |(at, _)| &content[..at]);
    below(&lead(tool, content.len(), preview, handle), excerpt)
}

fn lead(tool: &str, bytes: usize, preview: &str, handle: &str) -> String {
    let (bytes, preview) = (grouped(bytes as u64), preview.trim_end());
    format!(
        "[Tool result stored — {bytes} bytes from \"{tool}\".\nFirst {PREVIEW_CHARS} chars: {preview}...]\n\
         Use the \"read_result\" tool with ref_id=\"{handle}\" to read specific portions."
    )
}

fn below(reference: &str, excerpt: &str) -> String {
    if excerpt.is_empty() { reference.to_owned() } else { format!("{reference}\n{excerpt}") }
}

/// A number with a comma before each group of three digits, as in `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A part of a text that was read back, and where to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultPage {
    /// The text of the part; where lines were asked for, each with its number.
    pub content: String,
    /// Where the part begins: a byte of the text, or the number of a line where lines were asked for.
    pub offset: usize,
    /// Where to go on, in the same unit; `None` if there is no more.
    pub next_offset: Option<usize>,
}

/// The part of a text that begins at `offset` and has at most `limit` bytes, but at least one
/// character, so that reading page by page always ends.
pub fn page(text: &str, offset: usize, limit: usize) -> ResultPage {
    let start = text.floor_char_boundary(offset.min(text.len()));
    let mut end = text.floor_char_boundary((start + limit).min(text.len()));
    if end <= start && start < text.len() {
        end = text.ceil_char_boundary(start + 1);
    }
    ResultPage { content: text[start..end].to_owned(), offset: start, next_offset: (end < text.len()).then_some(end) }
}

/// Lines `first` to `last` of a text, counted from 1, each with its number, within `limit` bytes.
pub fn lines(text: &str, first: usize, last: usize, limit: usize) -> ResultPage {
    let wanted =
        text.lines().enumerate().skip(first.max(1) - 1).take(last.saturating_add(1).saturating_sub(first.max(1)));
    numbered(wanted.map(|(at, line)| (at + 1, Cow::Borrowed(line), ':')), limit)
}

/// Lines from `first` on that match, each with its number and `context` lines around it, within
/// `limit` bytes. Of a long line the parts around its matches are shown.
pub fn matches(text: &str, pattern: &regex::Regex, first: usize, context: usize, limit: usize) -> ResultPage {
    let all: Vec<&str> = text.lines().collect();
    let mut shown = std::collections::BTreeMap::new();
    for (at, line) in all.iter().enumerate().skip(first.max(1) - 1) {
        if pattern.is_match(line) {
            for near in at.saturating_sub(context)..=(at + context).min(all.len() - 1) {
                shown.entry(near).or_insert('-');
            }
            shown.insert(at, ':');
        }
    }
    let line = |at: usize, mark: char| {
        let line_offset = all[at].as_ptr() as usize - text.as_ptr() as usize;
        let line_bytes_max = limit.saturating_sub(LINE_FRAME_BYTES);
        let parts = (mark == ':').then(|| around_matches(all[at], pattern, line_offset, line_bytes_max)).flatten();
        parts.map_or(Cow::Borrowed(all[at]), Cow::Owned)
    };
    numbered(shown.into_iter().map(|(at, mark)| (at + 1, line(at, mark), mark)), limit)
}

/// The answer to somebody whose pattern matches no line from `first` on: that, and what to try instead.
pub fn no_match(text: &str, pattern: &regex::Regex, first: usize) -> String {
    let lines = grouped(text.lines().count() as u64);
    let among = if first > 1 { format!("from line {first} on, of {lines},") } else { format!("of {lines}") };
    let any_case =
        regex::RegexBuilder::new(pattern.as_str()).case_insensitive(true).size_limit(ANY_CASE_BYTES_MAX).build();
    let places = |pattern: &regex::Regex, from: usize| -> Vec<usize> {
        let lines = text.lines().enumerate().skip(from.max(1) - 1);
        lines.filter(|(_, line)| pattern.is_match(line)).map(|(at, _)| at + 1).collect()
    };
    let alike = any_case.map(|pattern| places(&pattern, first)).unwrap_or_default();
    let before = if first > 1 { places(pattern, 1) } else { Vec::new() };
    let hint = match (alike.first(), before.last()) {
        (Some(line), _) => format!(
            "With capital and small letters taken for the same, {} would, the first is line {line}: put (?i) before the pattern.",
            grouped(alike.len() as u64)
        ),
        (None, Some(line)) => format!("Line {line} does: leave start_line out, or begin earlier."),
        (None, None) => "Try a shorter pattern, without signs that mean something in a regular expression, \
                         or read on by start_line and end_line."
            .to_owned(),
    };
    format!("[No line {among} matches {:?}. {hint}]", pattern.as_str())
}

/// As many lines as fit. A line that does not fit by itself is cut, so that reading on always comes
/// to an end; its rest can be read by bytes.
fn numbered<'a>(lines: impl Iterator<Item = (usize, Cow<'a, str>, char)>, limit: usize) -> ResultPage {
    let mut content = String::new();
    let mut first = None;
    let mut lines = lines.peekable();
    while let Some((number, line, mark)) = lines.next() {
        let start = *first.get_or_insert(number);
        let text = format!("{number}{mark}{line}\n");
        if content.len() + text.len() <= limit {
            content.push_str(&text);
        } else if content.is_empty() {
            content.push_str(&text[..text.floor_char_boundary(limit)]);
            content.push_str(CUT);
            return ResultPage { content, offset: start, next_offset: lines.peek().map(|(next, ..)| *next) };
        } else {
            return ResultPage { content, offset: start, next_offset: Some(number) };
        }
    }
    ResultPage { content, offset: first.unwrap_or(0), next_offset: None }
}

#[cfg(test)]
mod tests;
