//! Reads text as a reader would who undoes what hides a secret: escapes, percent signs, colour codes, characters without
//! width, line numbers, line wraps, base64 and hex. What is found in such a reading is taken out of the text itself.
//!
//! A reading knows for each of its bytes which bytes of the text it comes from.

mod coded;
mod escapes;
mod lines;
mod wraps;

use std::ops::Range;

use super::find::Find;

/// A reading of a text, or of a part of it.
#[derive(Debug, Default)]
pub(super) struct Reading {
    bytes: Vec<u8>,
    runs: Vec<Run>,
    kind: ReadingKind,
}

/// How a reading was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ReadingKind {
    /// By decoding.
    #[default]
    Decoded,
    /// By joining lines that may be lines of their own.
    Joined,
    /// By joining lines of which the first is as long as lines are that a terminal or a mail wraps.
    Wrapped,
}

/// Bytes of a reading that come from bytes of the text in one way.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// Where it begins in the reading.
    at: usize,
    /// Where it begins in the text.
    from: usize,
    kind: RunKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunKind {
    /// Byte for byte.
    Same,
    /// The whole run comes from this many bytes.
    Escape(usize),
    /// Three bytes come from four digits of base64.
    Base64,
    /// One byte comes from two digits.
    Hex,
}

impl Reading {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The find in the text, if this reading can be trusted with it. `plain` are the finds of the text as it is: what
    /// is whole in its line does not go on in the next.
    pub(super) fn in_text(&self, find: Find, plain: &[Find]) -> Option<Find> {
        let first = self.place(find.span.start);
        let last = self.place(find.span.end.checked_sub(1)?);
        let span = first.start..last.end;
        let is_same = span.len() == find.span.len() && self.run(find.span.start).kind == RunKind::Same;
        // What is cut off at the reading's edge may be part of a longer word.
        let is_cut = is_same && (find.span.start == 0 || find.span.end == self.bytes.len());
        let begins_inside = |other: &Find| span.start < other.span.start && other.span.start < span.end;
        let begins_here = |other: &Find| span.start == other.span.start && find.rule == other.rule;
        let is_whole_before = match self.kind {
            ReadingKind::Decoded => false,
            ReadingKind::Joined => plain.iter().any(|other| begins_inside(other) || begins_here(other)),
            ReadingKind::Wrapped => plain.iter().any(begins_inside),
        };
        (!is_cut && !is_whole_before).then_some(Find { span, ..find })
    }

    /// The bytes of the text that one byte of the reading comes from.
    fn place(&self, at: usize) -> Range<usize> {
        let run = self.run(at);
        let within = at - run.at;
        match run.kind {
            RunKind::Same => run.from + within..run.from + within + 1,
            RunKind::Escape(bytes) => run.from..run.from + bytes,
            RunKind::Base64 => {
                let digit = within / 3 * 4 + within % 3;
                run.from + digit..run.from + digit + 2
            }
            RunKind::Hex => run.from + within * 2..run.from + within * 2 + 2,
        }
    }

    fn run(&self, at: usize) -> Run {
        let behind = self.runs.partition_point(|run| run.at <= at);
        self.runs.get(behind.saturating_sub(1)).copied().unwrap_or(Run { at: 0, from: 0, kind: RunKind::Same })
    }

    /// Adds bytes of the text as they are.
    fn push_same(&mut self, text: &[u8], span: Range<usize>) {
        if span.is_empty() {
            return;
        }
        self.runs.push(Run { at: self.bytes.len(), from: span.start, kind: RunKind::Same });
        self.bytes.extend_from_slice(&text[span]);
    }

    /// Adds what an escape means.
    fn push_escape(&mut self, decoded: &[u8], span: Range<usize>) {
        self.runs.push(Run { at: self.bytes.len(), from: span.start, kind: RunKind::Escape(span.len()) });
        self.bytes.extend_from_slice(decoded);
    }
}

/// Calls `look` with every reading of a text, one at a time. `look` says whether to go on. `lines_words` are where a
/// secret over several lines may begin.
pub(super) fn each_reading<E>(
    text: &[u8],
    lines_words: &[Range<usize>],
    mut look: impl FnMut(Reading) -> Result<(), E>,
) -> Result<(), E> {
    escapes::each(text, &mut look)?;
    lines::each(text, lines_words, &mut look)?;
    wraps::each(text, &mut look)?;
    coded::each(text, &mut look)
}
