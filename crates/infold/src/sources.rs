//! Finds transcripts in files, in folders, on standard input, and where clients store theirs. Opens them for commands,
//! and reports what could not be read in them.

mod folders;
#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use infold_wire::{Format, Problem, ReadLimits, Reader, WireError};

use infold_core::transcript::Transcript;

use crate::cli::Globals;
use crate::commands::Invocation;
use crate::failure::{Refused, tell};
use crate::settings::{Settings, Surroundings};
use folders::ENDINGS;
pub use folders::{expand, recorded};

/// What the user named as the source of a command.
#[derive(Debug, PartialEq, Eq)]
pub enum NamedSource {
    /// Standard input, named as `-`.
    Stdin,
    /// A file, named by its path or by the id of a client's session.
    File(PathBuf),
    /// The id of a session of infold's own, which may not exist.
    Session(String),
}

/// Finds what the user named: a file, or a session by its id.
pub fn find(name: &str, surroundings: &Surroundings) -> anyhow::Result<NamedSource> {
    if name == "-" {
        return Ok(NamedSource::Stdin);
    }
    let path = Path::new(name);
    if path.is_dir() {
        return Err(Refused::new(format!("{name} is a folder")).hint("name one transcript in it").into());
    }
    if path.exists() {
        return Ok(NamedSource::File(path.to_owned()));
    }
    if name.contains('/') || ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return Err(Refused::new(format!("no file or session {name}"))
            .hint("give the path of a transcript, or the id of a session")
            .into());
    }
    Ok(folders::of_session(name, surroundings)?
        .map_or_else(|| NamedSource::Session(name.to_owned()), NamedSource::File))
}

/// A recording that is being read.
pub type Recording = Reader<Box<dyn Read>>;

/// Opens a file or standard input.
pub fn open(source: &NamedSource, format: Option<Format>, settings: &Settings) -> anyhow::Result<Recording> {
    let bytes = stream(source).map_err(read_refusal)?;
    Reader::new(bytes, format, limits(settings)).map_err(|error| named(&shown(source), error))
}

/// Reads a whole recording, and warns of what could not be read in it.
pub fn transcript(source: &NamedSource, invocation: &Invocation) -> anyhow::Result<Transcript> {
    let name = shown(source);
    let reader = open(source, None, &invocation.in_force.settings)?;
    let read = reader.into_transcript().map_err(|error| named(&name, error))?;
    tell_of_problems(&name, &read.problems, read.problems_total, &invocation.globals);
    Ok(read.transcript)
}

/// The bytes of a file or of standard input.
fn stream(source: &NamedSource) -> Result<Box<dyn Read>, WireError> {
    match source {
        NamedSource::Stdin => Ok(Box::new(io::stdin().lock())),
        NamedSource::File(path) => Ok(Box::new(infold_wire::open(path)?)),
        NamedSource::Session(name) => Ok(Box::new(infold_wire::open(Path::new(name))?)),
    }
}

/// The longest entry that is read, and how many problems are reported one by one.
pub fn limits(settings: &Settings) -> ReadLimits {
    ReadLimits {
        entry_bytes_max: settings.transcripts.entry_bytes_max,
        problems_max: settings.transcripts.problems_max,
    }
}

/// What the user named, as it is shown in messages.
pub fn shown(source: &NamedSource) -> String {
    match source {
        NamedSource::Stdin => "standard input".to_owned(),
        NamedSource::File(path) => path.display().to_string(),
        NamedSource::Session(name) => name.clone(),
    }
}

/// Adds the name of what was read to an error of reading. What is wrong with a recording is for the user to put right;
/// a disk that fails is not.
pub fn named(name: &str, error: WireError) -> anyhow::Error {
    match error {
        WireError::Open { .. } => read_refusal(error),
        WireError::Io(_) => anyhow::Error::new(error).context(name.to_owned()),
        WireError::Empty => Refused::new(format!("{name} is empty")).hint("name a session transcript").into(),
        WireError::UnknownForm { found } => Refused::new(format!("{name} is not a session transcript: {found}"))
            .hint(format!("supported are {}", Format::ALL.map(Format::name).join(", ")))
            .into(),
        other => Refused::new(format!("{name}: {other}")).into(),
    }
}

fn read_refusal(error: WireError) -> anyhow::Error {
    Refused::new(error.to_string()).into()
}

/// Warns of the entries that could not be read, one by one up to the limit, and then says how many more there were.
pub fn tell_of_problems(name: &str, problems: &[Problem], total: u64, globals: &Globals) {
    if globals.quiet {
        return;
    }
    for problem in problems {
        tell("warning", format_args!("{name}: {problem}; skipped"));
    }
    let more = total.saturating_sub(problems.len() as u64);
    if more > 0 {
        tell("warning", format_args!("{name}: {more} more entries were skipped"));
    }
}
