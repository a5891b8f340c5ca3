//! Rewrites sessions for `infold rescue`: finds the lines that a client loads, says what in them could be changed, and
//! writes the lines that replace them in the new recording.
//!
//! What goes and what stays is decided in `infold-core`. Every byte that nobody changes stays as it is.

mod claude;
mod codex;
mod resume;

use std::collections::HashSet;

use crate::form::Format;

pub use resume::{ResumedLine, ResumedSession};

/// A client whose sessions can be rewritten so that it can resume them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RescueClient {
    /// Claude Code, which reads its lines as a chain of ids.
    ClaudeCode,
    /// Codex, which reads the lines of a rollout in order.
    Codex,
}

impl RescueClient {
    /// The client whose recordings have this form; `None` if its sessions cannot be rewritten.
    pub fn of(format: Format) -> Option<Self> {
        match format {
            Format::ClaudeCode => Some(Self::ClaudeCode),
            Format::Codex => Some(Self::Codex),
            Format::OpenCode | Format::Anthropic | Format::OpenAi | Format::Infold | Format::Normalized => None,
        }
    }

    /// The form of this client's recordings.
    pub fn format(self) -> Format {
        match self {
            Self::ClaudeCode => Format::ClaudeCode,
            Self::Codex => Format::Codex,
        }
    }
}

/// What the items of a line have in common. It is found out once for each line, because a line can be long and have
/// many items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineTraits {
    /// Whether all words in it stay or go together, because it is not a list of parts.
    pub is_indivisible: bool,
    /// Whether it is the client's note of what the person typed while the agent worked.
    pub is_typed: bool,
    /// Whether content in it that is not text comes from the model.
    pub is_models: bool,
    /// Whether the client has marked it as its own.
    pub is_clients: bool,
    /// Whether each of its parts is a message, as in a compaction of Codex.
    pub holds_messages: bool,
    /// For each part, whether another text could replace it.
    editable: Vec<bool>,
}

impl LineTraits {
    /// Finds out the traits of a line in a recording of this client.
    pub fn of(client: RescueClient, text: &str) -> Self {
        match client {
            RescueClient::ClaudeCode => claude::traits(text),
            RescueClient::Codex => codex::traits(text),
        }
    }

    /// Whether another text could replace this part.
    pub fn is_editable(&self, part: u32) -> bool {
        let part = if self.is_indivisible { 0 } else { part as usize };
        self.editable.get(part).copied().unwrap_or(false)
    }
}

/// A change to one part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineEdit {
    /// The part is left out.
    Drop,
    /// This text replaces the content of a result.
    Result(String),
    /// This text replaces the input of a call: JSON, except for tools that take plain text.
    Input(String),
}

impl LineEdit {
    /// The parts that are left out.
    fn dropped(edits: &[(u32, Self)]) -> HashSet<usize> {
        edits.iter().filter(|(_, edit)| *edit == Self::Drop).map(|(part, _)| *part as usize).collect()
    }
}

/// The ids of a session that is rewritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// The id of the new session, which the caller makes up.
    pub id: String,
    /// The id of the original session.
    pub old_id: String,
}

/// Writes the lines of the new recording, one after another, with a receipt that says to the model and the person what
/// was done.
#[derive(Debug)]
pub struct NewLines<'a> {
    client: RescueClient,
    session: &'a NewSession,
    receipt: &'a str,
    /// The ids for the receipt's lines to the model and to the person (Claude Code only).
    receipt_ids: [String; 2],
    /// The id of the line written before, which the next line names as its parent.
    parent: Option<String>,
    /// The latest line of the original that stays, from which the receipt takes the fields that every line has.
    last: String,
    count: u64,
}

impl<'a> NewLines<'a> {
    /// Starts a recording; no line is written yet. `receipt_ids` are for the receipt's lines to the model and to the
    /// person.
    pub fn new(client: RescueClient, session: &'a NewSession, receipt: &'a str, receipt_ids: [String; 2]) -> Self {
        Self { client, session, receipt, receipt_ids, parent: None, last: String::new(), count: 0 }
    }

    /// The new lines for one line of the original. `edits` is `None` if the model never saw that line.
    pub fn next(&mut self, line: String, edits: Option<&[(u32, LineEdit)]>) -> Vec<String> {
        let mut new = Vec::new();
        let rewritten = match self.client {
            RescueClient::ClaudeCode => {
                let Some(edits) = edits else { return new };
                if self.parent.is_none() {
                    new.push(self.note(claude::Audience::Model, &line));
                    self.parent = Some(self.receipt_ids[0].clone());
                }
                claude::rewrite(&line, edits, &self.session.id, self.parent.as_deref())
            }
            RescueClient::Codex => codex::rewrite(&line, edits.unwrap_or_default(), self.session, self.count),
        };
        if let Some(rewritten) = rewritten {
            new.push(rewritten);
            self.parent = claude::uuid(&line).or(self.parent.take());
            self.last = line;
        }
        self.count += new.len() as u64;
        new
    }

    /// The last line of the new recording, which is the receipt.
    pub fn last(&self) -> String {
        match self.client {
            RescueClient::ClaudeCode => self.note(claude::Audience::User, &self.last),
            RescueClient::Codex => codex::note(self.receipt, self.count, &self.last),
        }
    }

    fn note(&self, audience: claude::Audience, like: &str) -> String {
        let uuid = &self.receipt_ids[usize::from(audience == claude::Audience::User)];
        let (parent, session_id) = (self.parent.as_deref(), &self.session.id);
        claude::ReceiptLine { audience, text: self.receipt, uuid, parent, session_id }.line(like)
    }
}
