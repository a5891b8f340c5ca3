//! Reads whole transcripts from recordings that hold one session or many.

use std::io;

use infold_core::transcript::Transcript;

use crate::assemble::Assembly;
use crate::error::{Problem, WireError};
use crate::form::Format;
use crate::forms::infold_transcript;
use crate::reader::{Entry, EntryKind, ReadLimits, Reader};

/// A transcript, and the entries of its recording that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// What the model saw, without the entries in `problems`.
    pub transcript: Transcript,
    /// The first entries that could not be read, at most [`ReadLimits::problems_max`].
    pub problems: Vec<Problem>,
    /// How many entries could not be read, including those that `problems` has no room for.
    pub problems_total: u64,
}

impl<R: io::Read> Reader<R> {
    /// Reads a whole recording of one session.
    ///
    /// From a list of recorded requests it takes the last one that offers tools, because each repeats what came before;
    /// if none offers tools, it takes the last one. A file with several sessions is refused: see [`read_sessions`].
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

/// Reads the sessions in a recording one after another. Most recordings hold one session; in a list of recorded
/// requests each request is one.
pub fn read_sessions<R: io::Read>(
    source: R,
    format: Option<Format>,
    limits: ReadLimits,
) -> Result<Sessions<R>, WireError> {
    Ok(Sessions { reader: Reader::new(source, format, limits)?, ended: false })
}

/// Goes through the sessions in a recording; only one of them is in memory at a time.
pub struct Sessions<R: io::Read> {
    reader: Reader<R>,
    ended: bool,
}

impl<R: io::Read> Sessions<R> {
    /// The form of the recording, as it was given or found out.
    pub fn format(&self) -> Format {
        self.reader.format()
    }

    /// The first entries so far that could not be read, at most [`ReadLimits::problems_max`].
    pub fn problems(&self) -> &[Problem] {
        self.reader.problems()
    }

    /// How many entries could not be read so far, including those that [`Self::problems`] has no room for.
    pub fn problems_total(&self) -> u64 {
        self.reader.problems_total()
    }

    fn read_next(&mut self) -> Result<Option<Transcript>, WireError> {
        if self.reader.has_session_per_entry() {
            return Ok(next_with_content(&mut self.reader)?.map(|entry| alone(self.reader.format(), entry)));
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

/// The transcript of a session that is a single entry.
fn alone(format: Format, entry: Entry) -> Transcript {
    let mut assembly = Assembly::new(format);
    assembly.push(entry);
    assembly.finish()
}

/// The next entry that has items or names a session.
fn next_with_content<R: io::Read>(reader: &mut Reader<R>) -> Result<Option<Entry>, WireError> {
    while let Some(entry) = reader.next_entry()? {
        if entry.kind == EntryKind::Whole && (!entry.items.is_empty() || entry.session.is_some()) {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

fn only_session<R: io::Read>(reader: &mut Reader<R>) -> Result<Transcript, WireError> {
    let format = reader.format();
    let first = next_with_content(reader)?.map(|entry| alone(format, entry));
    let Some(first) = first else { return Ok(Assembly::new(format).finish()) };
    match next_with_content(reader)? {
        None => Ok(first),
        Some(second) => Err(WireError::SeveralSessions {
            first: first.session.unwrap_or_else(|| "one without a name".to_owned()),
            second: second.session.unwrap_or_else(|| "one without a name".to_owned()),
        }),
    }
}

fn last_request<R: io::Read>(reader: &mut Reader<R>) -> Result<Transcript, WireError> {
    let mut chosen: Option<Entry> = None;
    while let Some(entry) = next_with_content(reader)? {
        if entry.offers_tools || !chosen.as_ref().is_some_and(|chosen| chosen.offers_tools) {
            chosen = Some(entry);
        }
    }
    Ok(chosen.map_or_else(|| Assembly::new(reader.format()).finish(), |entry| alone(reader.format(), entry)))
}
