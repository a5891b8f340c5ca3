//! What can go wrong with a recording as a whole, and what can be wrong in one place of it.

use std::io;
use std::path::PathBuf;

use crate::form::Format;

/// Why a recording could not be read.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The file could not be opened.
    #[error("cannot open {}: {source}; {}", path.display(), open_advice(source))]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Reading stopped in the middle.
    #[error("cannot read on: {0}; check the disk or the pipe that it comes from, then try again")]
    Io(#[from] io::Error),
    /// There is nothing in it.
    #[error("the input is empty: give a transcript, in one of the forms {}", Format::names())]
    Empty,
    /// It is nothing that is known.
    #[error("the input is in no known form ({found}): known forms are {}", Format::names())]
    UnknownForm {
        /// What its beginning looks like.
        found: &'static str,
    },
    /// It is something other than was said.
    #[error("the input is {found}, not {asked}: leave the form out, or name one of {}", Format::names())]
    OtherForm {
        /// The form that was asked for.
        asked: Format,
        /// The form that it has.
        found: Format,
    },
    /// No such form.
    #[error("there is no form {name:?}: name one of {}", Format::names())]
    NoSuchForm {
        /// What was named.
        name: String,
    },
    /// An entry is too long, and leaving it out would not do.
    #[error("line {entry} is too long")]
    TooLong {
        /// The line, counted from 1.
        entry: u64,
    },
    /// One transcript was asked for, and there are several.
    #[error("the input holds several sessions ({first} and {second} among them): choose one of them")]
    SeveralSessions {
        /// The first one.
        first: String,
        /// The next.
        second: String,
    },
}

fn open_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::PermissionDenied => "make it readable, or run as its owner",
        io::ErrorKind::IsADirectory => "name a file in it instead",
        _ => "check that it is a file that can be read",
    }
}

/// One entry that could not be read. The rest was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line or the element, counted from 1; 0 for the document as a whole.
    pub entry: u64,
    /// What is wrong with it.
    pub reason: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.entry {
            0 => write!(f, "{}", self.reason),
            entry => write!(f, "entry {entry}: {}", self.reason),
        }
    }
}
