//! Reads a recording entry by entry.
//!
//! What must hold: the raw bytes of all entries, one after another, are the input, whatever is in it. An entry
//! that cannot be read is a [`Problem`] and has no items; the next one is read all the same.

mod pieces;

use std::io::Read;

use infold_core::transcript::{Item, ModelUsage, Subtask};

use crate::detect::{Layout, detect};
use crate::document::{DocumentPiece, Scanner};
use crate::error::{Problem, WireError};
use crate::form::Format;
use crate::forms::{Parser, Unit};
use crate::input::{Cut, Input};
use crate::loose::leniently;
use crate::numbers::Group;

/// How much of a recording is held at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// The longest entry that is read. A longer one goes by in pieces, unread.
    pub entry_bytes_max: usize,
    /// How many problems are kept; all are counted.
    pub problems_max: usize,
}

impl ReadLimits {
    /// Limits with this bound on an entry, which keep the first thousand problems.
    pub const fn with_entry_bytes_max(entry_bytes_max: usize) -> Self {
        Self { entry_bytes_max, problems_max: 1000 }
    }
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EntryKind {
    /// A line, or an element of the list of messages, or a member beside that list.
    #[default]
    Whole,
    /// What stands between elements: brackets, commas, space, empty lines.
    Between,
    /// A piece of an entry that is too long to be read.
    Overlong,
    /// An entry that could not be read.
    Broken,
}

/// What a provider reported for the request that one message answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metered {
    /// The message, as in its items.
    pub message: u64,
    /// What was reported. A later report for the same message replaces an earlier one.
    pub usage: ModelUsage,
}

/// What a compaction keeps of what was before it, by the ids of entries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum KeptBytes {
    /// Nothing, or what the compaction itself repeats.
    #[default]
    Nothing,
    /// Everything from this entry on.
    From(String),
    /// These entries.
    These(Vec<String>),
}

/// What an entry takes back of what was before it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Back {
    /// Nothing.
    #[default]
    Nowhere,
    /// So many of the person's turns, with all that followed them.
    Turns(usize),
    /// The entry with this id and all after it, wherever this one stands.
    To(String),
}

/// One entry of a recording.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// The line or the element, counted from 1; 0 for what stands beside the list of a document.
    pub number: u64,
    /// What it is.
    pub kind: EntryKind,
    /// Its bytes, with the end of the line.
    pub raw: Vec<u8>,
    /// What the model saw of it, in the order of the file: branches that were given up later are still there, and
    /// answers in pieces stand where the pieces do. [`crate::read_transcript`] puts both right.
    pub items: Vec<Item>,
    /// What requests cost that it tells of: the subtask's if it belongs to one. Where a whole session is one entry
    /// there are many.
    pub usage: Vec<Metered>,
    /// The call or the agent whose work it is, if it was done out of the main agent's sight.
    pub subtask: Option<String>,
    /// The session that it says it belongs to.
    pub session: Option<String>,
    /// Its own id.
    pub id: Option<String>,
    /// The id of the entry that it follows.
    pub parent: Option<String>,
    /// The model that it names.
    pub(crate) model: Option<String>,
    /// What the compaction in it keeps, where the client only names that.
    pub kept: KeptBytes,
    /// What it forms a message with.
    pub(crate) group: Group,
    /// Whether a person's turn begins with it.
    pub(crate) is_prompt: bool,
    /// What it takes back.
    pub(crate) back: Back,
    /// An agent, and the call that started it.
    pub(crate) agent: Option<(String, String)>,
    /// What other agents did, where the entry is a whole session.
    pub(crate) subtasks: Vec<Subtask>,
    /// Whether it is a request that offers tools.
    pub(crate) offers_tools: bool,
}

/// Reads a recording.
pub struct Reader<R: Read> {
    input: Input<R>,
    format: Format,
    layout: Layout,
    limits: ReadLimits,
    parser: Parser,
    number: u64,
    scanner: Scanner,
    /// The piece of a document that is being put together.
    pending: Vec<u8>,
    /// Whether that piece is too long to be read.
    pending_overlong: bool,
    problems: Vec<Problem>,
    problems_total: u64,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Looks at the beginning of `source` and gets ready to read it. Gzip is unpacked. Without a `format` it is
    /// found out.
    pub fn new(source: R, format: Option<Format>, limits: ReadLimits) -> Result<Self, WireError> {
        let (input, head) = Input::new(source)?;
        let (format, layout) = detect(&head, format)?;
        Ok(Self {
            input,
            format,
            layout,
            limits,
            parser: Parser::new(format, layout),
            number: 0,
            scanner: Scanner::new(),
            pending: Vec::new(),
            pending_overlong: false,
            problems: Vec::new(),
            problems_total: 0,
            ended: false,
        })
    }

    /// The form of the recording.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What could not be read so far.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many problems there were, including those that were not kept.
    pub fn problems_total(&self) -> u64 {
        self.problems_total
    }

    /// Whether each entry is a session of its own.
    pub(crate) fn has_session_per_entry(&self) -> bool {
        self.layout == Layout::Lines && matches!(self.format, Format::Normalized | Format::Anthropic | Format::OpenAi)
    }

    pub(crate) fn into_problems(self) -> (Vec<Problem>, u64) {
        (self.problems, self.problems_total)
    }

    /// The next entry. Behind the last one there may be another without bytes, with items that were waiting for an
    /// entry which never came.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, WireError> {
        let entry = match self.layout {
            Layout::Lines => self.next_line()?,
            Layout::Document => self.next_piece()?,
        };
        if entry.is_some() {
            return Ok(entry);
        }
        if let Some(reason) = self.input.broken_off.take() {
            self.report(self.number, reason);
        }
        let items = self.parser.finish();
        let last = Entry { number: self.number, kind: EntryKind::Between, items, ..Entry::default() };
        Ok(if last.items.is_empty() { None } else { Some(last) })
    }

    fn next_line(&mut self) -> Result<Option<Entry>, WireError> {
        let Some(cut) = self.input.line(self.limits.entry_bytes_max)? else {
            return Ok(None);
        };
        Ok(Some(match cut {
            Cut::Line(raw) => {
                self.number += 1;
                self.read(raw, &DocumentPiece::Element)
            }
            Cut::Overlong { bytes, first } => {
                if first {
                    self.number += 1;
                    self.report_overlong(self.number);
                }
                Entry { number: self.number, kind: EntryKind::Overlong, raw: bytes, ..Entry::default() }
            }
        }))
    }

    fn piece_number(&self, piece: &DocumentPiece) -> u64 {
        match piece {
            DocumentPiece::Element => self.number,
            DocumentPiece::Between | DocumentPiece::Member(_) => 0,
        }
    }

    /// Reads one whole line or piece.
    fn read(&mut self, raw: Vec<u8>, piece: &DocumentPiece) -> Entry {
        let number = self.piece_number(piece);
        if *piece == DocumentPiece::Between {
            return Entry { number: 0, kind: EntryKind::Between, raw, ..Entry::default() };
        }
        let text = String::from_utf8_lossy(&raw);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).trim();
        if text.is_empty() {
            return Entry { number, kind: EntryKind::Between, raw, ..Entry::default() };
        }
        if *piece == DocumentPiece::Element && !text.starts_with('{') {
            self.report(number, "it is no JSON object".to_owned());
            return Entry { number, kind: EntryKind::Broken, raw, ..Entry::default() };
        }
        let parser = &mut self.parser;
        match leniently(text, |text| parser.parse(Unit { text, number, piece })) {
            Ok(entry) => Entry { number, raw, ..entry },
            Err(error) => {
                let is_cut = error.is_eof() && !raw.ends_with(b"\n");
                let what = if is_cut { "the entry is cut off" } else { "it is not JSON that can be read" };
                self.report(number, format!("{what} ({error})"));
                Entry { number, kind: EntryKind::Broken, raw, ..Entry::default() }
            }
        }
    }

    fn report_overlong(&mut self, entry: u64) {
        let bytes_max = self.limits.entry_bytes_max;
        self.report(entry, format!("it is longer than {bytes_max} bytes and was not read"));
    }

    fn report(&mut self, entry: u64, reason: String) {
        self.problems_total += 1;
        if self.problems.len() < self.limits.problems_max {
            self.problems.push(Problem { entry, reason });
        }
    }
}

#[cfg(test)]
mod tests;
