//! How a command ends when it does not end well, and the exit code that goes with it.
//!
//! *Refused* is the user's to put right and says how; *failed* is ours or the machine's. Commands
//! return `anyhow::Error`; a [`Refused`] or an [`Interrupted`] inside it decides the code.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use crate::settings::Problems;

const FAILED: u8 = 1;
const REFUSED: u8 = 3;
/// The code of a program that was told to stop at once.
pub const INTERRUPTED: u8 = 130;

/// What the user can put right.
#[derive(Debug)]
pub struct Refused {
    message: String,
    hint: Option<String>,
}

impl Refused {
    /// A refusal that says what to do in its message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Adds what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do; empty if the message says so itself.
    pub fn hint_text(&self) -> &str {
        self.hint.as_deref().unwrap_or_default()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refused {}

/// A check of `doctor` did not pass; it has printed what.
#[derive(Debug)]
pub struct ChecksFailed;

impl fmt::Display for ChecksFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a check failed")
    }
}

impl std::error::Error for ChecksFailed {}

/// An agent that `infold run` started has ended with this code; it has said why itself.
#[derive(Debug)]
pub struct AgentEnded {
    /// Its exit code.
    pub code: u8,
}

impl fmt::Display for AgentEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the agent ended with code {}", self.code)
    }
}

impl std::error::Error for AgentEnded {}

/// Stopped by a second signal, with work left undone.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted: running requests were cut off")
    }
}

impl std::error::Error for Interrupted {}

/// Tells the user how a command ended, and gives its exit code.
pub fn conclude(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    if is_broken_pipe(&error) {
        // The reader has seen enough, as in `infold sessions | head -1`.
        return ExitCode::SUCCESS;
    }
    if let Some(ended) = error.downcast_ref::<AgentEnded>() {
        return ExitCode::from(ended.code);
    }
    let code = if error.is::<Refused>() || error.is::<Problems>() {
        REFUSED
    } else if error.is::<Interrupted>() {
        INTERRUPTED
    } else {
        FAILED
    };
    match error.downcast_ref::<Problems>() {
        Some(problems) => problems.iter().for_each(|problem| tell("error", problem)),
        None => tell("error", format_args!("{error:#}")),
    }
    ExitCode::from(code)
}

/// Says something on standard error. If that is gone, too, nobody is left to tell.
pub fn tell(kind: &str, what: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{kind}: {what}");
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}
