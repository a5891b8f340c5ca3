//! Errors: what can go wrong with a recording as a whole ([`WireError`]), and with a single entry of it ([`Problem`]).

use std::io;
use std::path::PathBuf;

use crate::form::Format;

/// Why a recording cannot be read at all. Each message says what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// Opening the file failed.
    #[error("cannot open {}: {source}; {}", path.display(), open_advice(source))]
    Open {
        /// The path as the caller gave it.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Reading failed in the middle of the input.
    #[error("cannot read on: {0}; check the disk or the pipe that it comes from, then try again")]
    Io(#[from] io::Error),
    /// The input has no bytes, or only white space.
    #[error("the input is empty: give a transcript, in one of the forms {}", Format::names())]
    Empty,
    /// The beginning of the input fits no known form.
    #[error("the input is in no known form ({found}): known forms are {}", Format::names())]
    UnknownForm {
        /// What the beginning looks like instead (binary, text, JSON).
        found: &'static str,
    },
    /// The input has another form than the caller named.
    #[error("the input is {found}, not {asked}: leave the form out, or name one of {}", Format::names())]
    OtherForm {
        /// The form that the caller named.
        asked: Format,
        /// The form that the input has.
        found: Format,
    },
    /// No form has the name that the caller gave.
    #[error("there is no form {name:?}: name one of {}", Format::names())]
    NoSuchForm {
        /// The name that the caller gave.
        name: String,
    },
    /// A line is too long to be read, and the result would be wrong without it.
    #[error("line {entry} is too long")]
    TooLong {
        /// The number of the line, counted from 1.
        entry: u64,
    },
    /// The caller wants one transcript, and the input holds several sessions.
    #[error("the input holds several sessions ({first} and {second} among them): choose one of them")]
    SeveralSessions {
        /// The id of the first session in the input.
        first: String,
        /// The id of the second session; there may be more.
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

/// An entry that could not be read. Reading continues with the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The number of the line or element, counted from 1; 0 if the document as a whole is meant.
    pub entry: u64,
    /// What is wrong with the entry, as a phrase for people.
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
