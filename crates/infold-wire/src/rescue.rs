//! Sessions that are written anew: which lines a client loads, what of them could be changed, and the lines that stand
//! for them in the new recording.
//!
//! What goes and what stays is decided elsewhere. Every byte that nobody changes stays as it is.

mod claude;
mod codex;
mod resume;

use std::collections::HashSet;

use crate::form::Format;

pub use resume::{ResumedLine, ResumedSession};

/// A client whose sessions can be written anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RescueClient {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

impl RescueClient {
    /// The client whose recordings have this form.
    pub fn of(format: Format) -> Option<Self> {
        match format {
            Format::ClaudeCode => Some(Self::ClaudeCode),
            Format::Codex => Some(Self::Codex),
            Format::OpenCode | Format::Anthropic | Format::OpenAi | Format::Infold | Format::Normalized => None,
        }
    }

    /// The form of its recordings.
    pub fn format(self) -> Format {
        match self {
            Self::ClaudeCode => Format::ClaudeCode,
            Self::Codex => Format::Codex,
        }
    }
}

/// What the items of a line have in common. It is found out once for a line, which can be long and have many items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineTraits {
    /// Whether what is said in it stands or falls as one.
    pub stands_whole: bool,
    /// Whether it is a note of what the person typed while the agent was at work.
    pub is_typed: bool,
    /// Whether what is not text in it is the model's.
    pub is_models: bool,
    /// Whether it says that it is the client's own.
    pub is_clients: bool,
    /// Whether its parts are messages.
    pub holds_messages: bool,
    /// Which of its parts could have another text in their place.
    editable: Vec<bool>,
}

impl LineTraits {
    /// Looks at a line.
    pub fn of(client: RescueClient, text: &str) -> Self {
        match client {
            RescueClient::ClaudeCode => claude::traits(text),
            RescueClient::Codex => codex::traits(text),
        }
    }

    /// Whether a part could have another text in its place.
    pub fn is_editable(&self, part: u32) -> bool {
        let part = if self.stands_whole { 0 } else { part as usize };
        self.editable.get(part).copied().unwrap_or(false)
    }
}

/// What becomes of one part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineEdit {
    /// It goes.
    Drop,
    /// Another text stands for a result.
    Result(String),
    /// Another input stands in a call.
    Input(String),
}

impl LineEdit {
    /// The parts that go.
    fn dropped(edits: &[(u32, Self)]) -> HashSet<usize> {
        edits.iter().filter(|(_, edit)| *edit == Self::Drop).map(|(part, _)| *part as usize).collect()
    }
}

/// A session that is written anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Its id.
    pub id: String,
    /// The id that it had.
    pub old_id: String,
}

/// Writes the lines of a new recording, one after another, with a receipt that tells the model and the person what was
/// done.
#[derive(Debug)]
pub struct NewLines<'a> {
    client: RescueClient,
    session: &'a NewSession,
    receipt: &'a str,
    /// Ids for the lines of the receipt.
    receipt_ids: [String; 2],
    /// The id of the line before.
    parent: Option<String>,
    /// The latest line of the original that stays.
    last: String,
    count: u64,
}

impl<'a> NewLines<'a> {
    /// A recording without lines.
    pub fn new(client: RescueClient, session: &'a NewSession, receipt: &'a str, receipt_ids: [String; 2]) -> Self {
        Self { client, session, receipt, receipt_ids, parent: None, last: String::new(), count: 0 }
    }

    /// The lines for one of the original. `edits` is `None` if the model never saw it.
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

    /// The last line, which is the receipt.
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
