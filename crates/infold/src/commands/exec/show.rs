//! Shows a run while it happens: the model's words on standard output and what it does on standard error, or one JSON object
//! a line on standard output.

use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use infold_agent::record::Beginning;
use infold_agent::watch::{AgentEvent, Watcher};
use infold_core::{SessionId, Thread, grouped};

use super::report::RunReport;
use crate::commands::Invocation;
use crate::failure::tell;
use crate::output::{Form, Output};

/// Characters of a call that are shown.
const CALL_CHARS_MAX: usize = 160;

/// What shows a run.
pub struct RunDisplay {
    output: Output,
    is_quiet: bool,
    /// Whether the last words on standard output had no line end.
    is_mid_line: Mutex<bool>,
}

impl RunDisplay {
    /// For a command.
    pub fn new(invocation: &Invocation) -> Self {
        Self { output: invocation.output, is_quiet: invocation.globals.quiet, is_mid_line: Mutex::new(false) }
    }

    /// What the agent tells.
    pub fn watcher(self: Arc<Self>) -> Watcher {
        Arc::new(move |event| self.event(&event))
    }

    /// The run begins.
    pub fn started(&self, session: &SessionId, beginning: &Beginning, sandbox: &str) {
        let event = AgentEvent::Started {
            session_id: session.to_string(),
            model: beginning.model.clone(),
            folder: beginning.folder.clone(),
            sandbox: sandbox.to_owned(),
        };
        self.event(&event);
    }

    fn event(&self, event: &AgentEvent) {
        match self.output.form {
            // Whoever reads it may have gone; the run goes on.
            Form::Json => drop(self.output.json_line(event)),
            Form::Text => self.say(event),
        }
    }

    fn say(&self, event: &AgentEvent) {
        match event {
            AgentEvent::Text { thread: Thread::Main, text } => self.words(text),
            AgentEvent::Text { .. } | AgentEvent::Answered { .. } | AgentEvent::WaitingTaken => {}
            AgentEvent::Started { session_id, model, sandbox, .. } => {
                self.note(&format!("session {session_id}, model {model}; {sandbox}"));
            }
            AgentEvent::Call { thread, tool, arguments, .. } => {
                self.note(&format!("{}{tool} {}", place(thread), shortened(&arguments.to_string())));
            }
            AgentEvent::Result { thread, tool, is_error: true, text, .. } => {
                let first = text.lines().next().unwrap_or_default();
                self.note(&format!("{}{tool} failed: {}", place(thread), shortened(first)));
            }
            AgentEvent::Result { .. } => {}
            AgentEvent::BranchOpened { branch_id, description, budget_tokens, .. } => {
                let budget = grouped(*budget_tokens);
                self.note(&format!("branch {branch_id} opened ({budget} tokens): {}", shortened(description)));
            }
            AgentEvent::BranchFolded { branch_id, how, .. } => self.note(&format!("branch {branch_id} {how}")),
            AgentEvent::Compacted { receipt, .. } => self.note(receipt),
            AgentEvent::Warning { message } | AgentEvent::Retrying { message, .. } => {
                self.end_line();
                tell("warning", message);
            }
        }
    }

    /// Words of the model, as they come.
    fn words(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut is_mid_line = self.is_mid_line.lock().unwrap_or_else(PoisonError::into_inner);
        *is_mid_line = !text.ends_with('\n');
        drop(self.output.bytes(text.as_bytes()));
    }

    fn end_line(&self) {
        let mut is_mid_line = self.is_mid_line.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *is_mid_line) {
            drop(self.output.bytes(b"\n"));
        }
    }

    fn note(&self, line: &str) {
        self.end_line();
        if !self.is_quiet {
            drop(writeln!(std::io::stderr(), "infold: {line}"));
        }
    }

    /// The run is over.
    pub fn finished(&self, report: &RunReport) -> anyhow::Result<()> {
        match self.output.form {
            Form::Json => self.output.json_line(&report.as_event())?,
            Form::Text => {
                self.end_line();
                report.lines().iter().for_each(|line| self.note(line));
            }
        }
        Ok(())
    }
}

/// The thread that something happens in, if it is not the main one.
fn place(thread: &Thread) -> String {
    thread.branch().map(|branch| format!("[{}] ", branch.as_str())).unwrap_or_default()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(CALL_CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
