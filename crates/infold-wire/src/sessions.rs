//! Whole transcripts, read from recordings that hold one session or many.

use std::io;

use infold_core::transcript::Transcript;

use crate::assemble::Assembly;
use crate::error::{Problem, WireError};
use crate::form::Format;
use crate::forms::infold_transcript;
use crate::reader::{Entry, EntryKind, ReadLimits, Reader};

/// A transcript, and what of its recording could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// What was said.
    pub transcript: Transcript,
    /// What is missing from it.
    pub problems: Vec<Problem>,
    /// How many problems there were, including those that were not kept.
    pub problems_total: u64,
}

/// Reads a recording of one session whole.
///
/// Of a list of recorded requests it takes the last one that offers tools, because each repeats what went before;
/// without such a one, the last. A file with several sessions is refused: see [`read_sessions`].
pub fn read_transcript<R: io::Read>(source: R, format: Option<Format>, limits: ReadLimits) -> Result<Read, WireError> {
    Reader::new(source, format, limits)?.into_transcript()
}

impl<R: io::Read> Reader<R> {
    /// Reads the rest as one session, as [`read_transcript`] does.
    pub fn into_transcript(mut self) -> Result<Read, WireError> {
        let transcript = match (self.has_session_per_entry(), self.format()) {
            (true, Format::Normalized) => only_session(&mut self)?,
            (true, _) => last_request(&mut self)?,
            (false, _) => whole(&mut self)?,
        };
        let (problems, problems_total) = self.into_problems();
        Ok(Read { transcript, problems, problems_total })
    }
}

/// Reads the sessions in a recording one after another. Most recordings hold one; a list of recorded requests has
/// as many as there are requests.
pub fn read_sessions<R: io::Read>(
    source: R,
    format: Option<Format>,
    limits: ReadLimits,
) -> Result<Sessions<R>, WireError> {
    Ok(Sessions { reader: Reader::new(source, format, limits)?, ended: false })
}

/// The sessions in a recording. Only one is in memory at a time.
pub struct Sessions<R: io::Read> {
    reader: Reader<R>,
    ended: bool,
}

impl<R: io::Read> Sessions<R> {
    /// The form of the recording.
    pub fn format(&self) -> Format {
        self.reader.format()
    }

    /// What could not be read so far.
    pub fn problems(&self) -> &[Problem] {
        self.reader.problems()
    }

    /// How many problems there were, including those that were not kept.
    pub fn problems_total(&self) -> u64 {
        self.reader.problems_total()
    }

    fn read_next(&mut self) -> Result<Option<Transcript>, WireError> {
        if self.reader.has_session_per_entry() {
            return Ok(next_told(&mut self.reader)?.map(|entry| alone(self.reader.format(), entry)));
        }
        if self.ended {
            return Ok(None);
        }
        self.ended = true;
        whole(&mut self.reader).map(Some)
    }
}

impl<R: io::Read> Iterator for Sessions<R> {
    type Item = Result<Transcript, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read_next().transpose()
    }
}

fn whole<R: io::Read>(reader: &mut Reader<R>) -> Result<Transcript, WireError> {
    let format = reader.format();
    let mut assembly = Assembly::new(format);
    let mut events = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        if format == Format::Infold && entry.kind == EntryKind::Whole {
            events.extend(serde_json::from_slice(entry.raw.trim_ascii()));
        } else {
            assembly.push(entry);
        }
    }
    if format == Format::Infold {
        return Ok(infold_transcript(&events, None));
    }
    Ok(assembly.finish())
}

/// A session that is one entry.
fn alone(format: Format, entry: Entry) -> Transcript {
    let mut assembly = Assembly::new(format);
    assembly.push(entry);
    assembly.finish()
}

/// The next entry that has something to tell.
fn next_told<R: io::Read>(reader: &mut Reader<R>) -> Result<Option<Entry>, WireError> {
    while let Some(entry) = reader.next_entry()? {
        if entry.kind == EntryKind::Whole && (!entry.items.is_empty() || entry.session.is_some()) {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

fn only_session<R: io::Read>(reader: &mut Reader<R>) -> Result<Transcript, WireError> {
    let format = reader.format();
    let first = next_told(reader)?.map(|entry| alone(format, entry));
    let Some(first) = first else { return Ok(Assembly::new(format).finish()) };
    match next_told(reader)? {
        None => Ok(first),
        Some(second) => Err(WireError::SeveralSessions {
            first: first.session.unwrap_or_else(|| "one without a name".to_owned()),
            second: second.session.unwrap_or_else(|| "one without a name".to_owned()),
        }),
    }
}

fn last_request<R: io::Read>(reader: &mut Reader<R>) -> Result<Transcript, WireError> {
    let mut chosen: Option<Entry> = None;
    while let Some(entry) = next_told(reader)? {
        if entry.offers_tools || !chosen.as_ref().is_some_and(|chosen| chosen.offers_tools) {
            chosen = Some(entry);
        }
    }
    Ok(chosen.map_or_else(|| Assembly::new(reader.format()).finish(), |entry| alone(reader.format(), entry)))
}
