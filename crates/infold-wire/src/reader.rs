//! Reads a recording, one entry at a time.
//!
//! What must hold: the raw bytes of all entries, one after another, are the input, whatever it contains. An entry that
//! cannot be read is reported as a [`Problem`] and has no items; the next one is read all the same.
//!
//! Parsing an entry is left to `forms`, and putting entries together into a transcript to `assemble`.

mod pieces;

use std::io::Read;

use infold_core::record::Usage;
use infold_core::transcript::{Item, Subtask};

use crate::detect::{Layout, detect};
use crate::document::{DocumentPiece, Scanner};
use crate::error::{Problem, WireError};
use crate::form::Format;
use crate::forms::{Parser, Unit};
use crate::input::{Cut, Input};
use crate::loose::leniently;
use crate::numbers::EntryGroup;

/// Bounds on the memory that reading a recording takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// The longest entry that is parsed. A longer one is given out in pieces, without items.
    pub entry_bytes_max: usize,
    /// How many problems are kept with their reasons; all of them are counted.
    pub problems_max: usize,
}

impl ReadLimits {
    /// Limits with this bound on an entry that keep the first thousand problems.
    pub const fn with_entry_bytes_max(entry_bytes_max: usize) -> Self {
        Self { entry_bytes_max, problems_max: 1000 }
    }
}

/// Which part of a recording an entry is, and whether it could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EntryKind {
    /// A line, an element of the list of messages, or a member beside that list.
    #[default]
    Whole,
    /// What lies between elements: brackets, commas, white space, empty lines.
    Between,
    /// A piece of an entry that is longer than [`ReadLimits::entry_bytes_max`].
    Overlong,
    /// An entry that could not be parsed; a [`Problem`] says why.
    Broken,
}

/// The token counts that a provider reported for one request, with the message that answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedUsage {
    /// The number of the message that the answer begins with, as its items have it.
    pub message: u64,
    /// The model that answered.
    pub model: String,
    /// The reported counts. A later report for the same message replaces an earlier one.
    pub usage: Usage,
}

/// The entries before a compaction that it keeps, named by their ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum KeptEntries {
    /// None, or the compaction itself repeats what it keeps.
    #[default]
    Nothing,
    /// All entries from the one with this id up to the compaction.
    From(String),
    /// Only the entries with these ids.
    These(Vec<String>),
}

/// Which earlier entries an entry undoes, because the person went back to an earlier point.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Undo {
    #[default]
    Nothing,
    /// This many of the person's latest turns, with everything that followed them.
    Turns(usize),
    /// The entry with this id and everything after it, wherever the entry that says so is.
    From(String),
}

/// One entry of a recording: its bytes, and what was understood of them.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// The line or element, counted from 1; 0 for what lies beside the list of a document.
    pub number: u64,
    /// Which part of the recording it is. Only [`EntryKind::Whole`] has items, and the last entry of a recording.
    pub kind: EntryKind,
    /// The exact bytes, with the end of the line.
    pub raw: Vec<u8>,
    /// What the model saw of it, in the order of the file: entries that were given up later are included, and pieces of
    /// an answer lie where the file has them. [`Reader::into_transcript`] corrects both.
    pub items: Vec<Item>,
    /// The token reports in it, which are of the subtask's requests if it belongs to a subtask. An entry that is a
    /// whole session has many.
    pub usage: Vec<ReportedUsage>,
    /// The call or the subagent whose work it is; `None` if it belongs to the main thread.
    pub subtask: Option<String>,
    /// The id of the session that it says it belongs to; `None` if it does not say.
    pub session: Option<String>,
    /// The id that the client gave it, if its form has ids.
    pub id: Option<String>,
    /// The id of the entry that it follows, where entries form a tree.
    pub parent: Option<String>,
    /// The name of the model that it comes from or that is used from here on, if it says one.
    pub(crate) model: Option<String>,
    /// What the compaction in it keeps, where the client only names the kept entries.
    pub kept: KeptEntries,
    /// What joins it to the message of the entry before it.
    pub(crate) group: EntryGroup,
    /// Whether a person's turn begins with it.
    pub(crate) is_prompt: bool,
    pub(crate) undoes: Undo,
    /// A subagent's name and the id of the call that started it, if the entry links the two.
    pub(crate) agent: Option<(String, String)>,
    /// The work of subagents, if the entry is a whole session.
    pub(crate) subtasks: Vec<Subtask>,
    /// Whether it is a request that offers tools.
    pub(crate) offers_tools: bool,
}

/// Reads the entries of a recording one after another.
pub struct Reader<R: Read> {
    input: Input<R>,
    format: Format,
    layout: Layout,
    limits: ReadLimits,
    parser: Parser,
    number: u64,
    scanner: Scanner,
    /// The bytes of the current piece of a document that have come so far.
    pending: Vec<u8>,
    /// Whether the current piece is too long to be parsed, and its beginning was given out already.
    pending_overlong: bool,
    problems: Vec<Problem>,
    problems_total: u64,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Looks at the beginning of `source` and prepares to read it. Gzip is unpacked. Without a `format`, the form is
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

    /// The form of the recording, as it was given or found out.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The first entries so far that could not be read, at most [`ReadLimits::problems_max`].
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many entries could not be read so far, including those that [`Self::problems`] has no room for.
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

    /// The next entry; `None` at the end. After the last entry of the file there may be one more without bytes, with
    /// items that waited for an entry which never came.
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

    /// Parses one whole line or piece.
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
