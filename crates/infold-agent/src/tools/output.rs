//! What a tool gives for a call, and what is kept of it beside the words.

use serde::{Deserialize, Serialize};

use super::change::FileChange;
use crate::ResultOutcome;

/// What a tool gives for a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The words for the model. They are not scrubbed yet.
    pub text: String,
    /// How the call went.
    pub outcome: ResultOutcome,
    /// The files that the tool changed, each with the way back.
    pub changes: Vec<FileChange>,
    /// The command that ran, if one did.
    pub command: Option<CommandRan>,
    /// The texts of the files that the tool changed, for people who watch.
    pub edited: Vec<FileTexts>,
}

/// A file before and after a change, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTexts {
    /// The path, as a change names it.
    pub path: String,
    /// What was there; `None` if there was no file.
    pub before: Option<String>,
    /// What is there then.
    pub after: String,
}

impl ToolOutput {
    /// The output of a call that did what it was asked for.
    pub fn said(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            outcome: ResultOutcome::Succeeded,
            changes: Vec::new(),
            command: None,
            edited: Vec::new(),
        }
    }

    pub(super) fn changed(text: impl Into<String>, change: FileChange, edited: FileTexts) -> Self {
        Self { changes: vec![change], edited: vec![edited], ..Self::said(text) }
    }

    /// The output of a call that was refused, or that failed; the text says why.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { outcome: ResultOutcome::Failed, ..Self::said(text) }
    }
}

/// A command that ran. Which files it changed is not known: nobody announces them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRan {
    /// The command, as the model wrote it. It is not scrubbed.
    pub command: String,
    /// Its exit code, 128 and more after a signal; `None` if it was ended before.
    pub exit: Option<i32>,
    /// How long it ran.
    pub duration_ms: u64,
    /// Whether its time limit ended it.
    pub timed_out: bool,
    /// Files that tools may not write, and that the command changed all the same: hooks and settings of git, and infold's
    /// settings of the project. The user should look at them.
    pub guarded_changed: Vec<String>,
}
