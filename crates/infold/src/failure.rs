//! How a command ends if it is refused or fails, and the exit code that goes with it.
//!
//! *Refused* is for the user to put right and says how; *failed* is a fault of infold or of the machine. Commands
//! return `anyhow::Error`; a [`Refused`] or an [`Interrupted`] inside it decides the code.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::output::Form;
use crate::settings::{Problem, Problems};

const FAILED: u8 = 1;
const REFUSED: u8 = 3;
const SECRETS_FOUND: u8 = 4;
/// The exit code after a second signal, which stops the program at once.
pub const INTERRUPTED: u8 = 130;

/// An error that the user can put right.
#[derive(Debug)]
pub struct Refused {
    message: String,
    hint: Option<String>,
    code: &'static str,
}

impl Refused {
    /// A refusal without a hint, for a message that says itself what to do.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, code: "refused" }
    }

    /// Adds what the user can do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the code in the JSON form, by which programs recognise this refusal. Without it, the code is `refused`.
    pub fn code(mut self, code: &'static str) -> Self {
        self.code = code;
        self
    }

    /// Whether programs recognise this refusal by that code.
    pub fn has_code(&self, code: &str) -> bool {
        self.code == code
    }

    /// What is wrong, without the hint.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What the user can do; empty if the message says it itself.
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

/// A check of `infold doctor` failed. The command has printed which one.
#[derive(Debug)]
pub struct ChecksFailed;

impl fmt::Display for ChecksFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a check failed")
    }
}

impl std::error::Error for ChecksFailed {}

/// `infold scrub --check` found secrets, or could not search everything. This says how many.
#[derive(Debug)]
pub struct SecretsFound(pub String);

impl fmt::Display for SecretsFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SecretsFound {}

/// An agent that `infold run` started, or a server that `infold tend` did, has ended with this code. It has reported the
/// reason itself.
#[derive(Debug)]
pub struct AgentEnded {
    /// Its exit code, or 128 and the number of the signal that ended it.
    pub code: u8,
}

impl fmt::Display for AgentEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the agent ended with code {}", self.code)
    }
}

impl std::error::Error for AgentEnded {}

/// The program was stopped by a second signal, before its running requests had finished.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted: running requests were cut off")
    }
}

impl std::error::Error for Interrupted {}

/// Reports how a command ended, and returns its exit code. For programs an error is one line of JSON, the last one on
/// standard error, so that standard output holds nothing but results.
pub fn conclude(result: anyhow::Result<()>, form: Form) -> ExitCode {
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
    } else if error.is::<SecretsFound>() {
        SECRETS_FOUND
    } else if error.is::<Interrupted>() {
        INTERRUPTED
    } else {
        FAILED
    };
    match (form, error.downcast_ref::<Problems>()) {
        (Form::Json, _) => tell_as_json(&as_json(&error, code)),
        (Form::Text, Some(problems)) => problems.iter().for_each(|problem| tell("error", problem)),
        (Form::Text, None) => tell("error", format_args!("{error:#}")),
    }
    ExitCode::from(code)
}

/// An error in the shape that the JSON API uses, with the exit code in place of the HTTP status.
fn as_json(error: &anyhow::Error, exit_code: u8) -> Value {
    let (code, message, hint) = if let Some(refused) = error.downcast_ref::<Refused>() {
        (refused.code, refused.message.clone(), refused.hint.clone())
    } else if let Some(problems) = error.downcast_ref::<Problems>() {
        let each =
            |text: fn(&Problem) -> Option<String>| problems.iter().filter_map(text).collect::<Vec<_>>().join("; ");
        let hint = each(|problem| problem.hint.clone());
        let message = each(|problem| Some(problem.message.clone()));
        ("invalid_settings", message, (!hint.is_empty()).then_some(hint))
    } else if error.is::<ChecksFailed>() {
        ("checks_failed", error.to_string(), None)
    } else if error.is::<SecretsFound>() {
        ("secrets_found", error.to_string(), None)
    } else if error.is::<Interrupted>() {
        ("interrupted", error.to_string(), None)
    } else {
        ("failed", format!("{error:#}"), None)
    };
    json!({"error": {"code": code, "message": message, "hint": hint, "exit_code": exit_code}})
}

/// Reports what is wrong with the command line, in the same JSON shape.
pub fn tell_of_usage(message: &str, exit_code: u8) {
    tell_as_json(&json!({"error": {"code": "usage", "message": message, "hint": null, "exit_code": exit_code}}));
}

fn tell_as_json(error: &Value) {
    let _ = writeln!(io::stderr().lock(), "{error}");
}

/// Prints a line on standard error. If that fails, there is nowhere left to report it.
pub fn tell(kind: &str, what: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{kind}: {what}");
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}
