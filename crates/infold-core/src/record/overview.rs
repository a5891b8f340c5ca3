//! A session at a glance, as its requests show it: what people recognise it by, and how full its main thread is.
//!
//! The folder and the first words are the only text of a conversation that is kept beside figures. Both are
//! scrubbed and cut before they get here.

use serde::{Deserialize, Serialize};

use super::{RequestRecord, Usage};
use crate::view::RequestKind;
use crate::{ModelWindows, Scrubbed};

/// What comes before the folder that an agent works in, in the texts that clients give their models.
const FOLDER_MARKS: [&str; 5] =
    ["orking directory: ", "<cwd>", "orking in the directory: ", "urrent directory: ", "orkspace root folder: "];
/// A longer text after such words is not taken for a folder.
const FOLDER_BYTES_MAX: usize = 512;

/// What people recognise a session by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionLabel {
    /// The folder that the agent works in, if the client gives it in the prompt.
    pub folder: Option<Scrubbed>,
    /// The first words that a person said, if the request has them.
    pub first_words: Option<Scrubbed>,
}

/// What the requests of a session show of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionOverview {
    /// The program that sent the requests, as far as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<Scrubbed>,
    /// The folder that the agent works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<Scrubbed>,
    /// The first words that a person said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_words: Option<Scrubbed>,
    /// The model of the main thread's latest request that was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Scrubbed>,
    /// Tokens of that request and its answer, as the provider reported them.
    pub main_tokens: u64,
    /// Tokens of the window that its client asked for, if it asked for one that is not the model's usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_window_tokens: Option<u64>,
    /// Most tokens of a request to that model that was answered.
    pub answered_tokens: u64,
}

/// How full a main thread is, measured by its latest request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MainFill {
    /// Tokens of its latest request and the answer, as the provider reported them.
    pub tokens: u64,
    /// Tokens that the model takes at most.
    pub window_tokens: u64,
    /// The model that answered that request.
    pub model: Scrubbed,
}

impl SessionOverview {
    /// Adds a request, which must have come after all that were added before.
    pub fn add(&mut self, record: &RequestRecord, label: &SessionLabel) {
        if record.client.is_some() {
            self.client.clone_from(&record.client);
        }
        self.folder = self.folder.take().or_else(|| label.folder.clone());
        self.first_words = self.first_words.take().or_else(|| label.first_words.clone());
        let Some(used) = record.used() else { return };
        if record.kind == RequestKind::Turn && record.thread.branch().is_none() {
            if self.model.as_ref() != Some(&record.model) {
                self.answered_tokens = 0;
            }
            self.model = Some(record.model.clone());
            self.main_tokens = held_tokens(&used);
            self.asked_window_tokens = record.window_tokens;
        }
        if self.model.as_ref() == Some(&record.model) {
            let answered_tokens = record.usage.as_ref().map_or(0, held_tokens);
            self.answered_tokens = self.answered_tokens.max(answered_tokens);
        }
    }

    /// How full the main thread is; `None` if none of its requests was answered. The window is the one that the client
    /// asked for, else the model's usual one; an answer to more than that has shown that it is larger.
    pub fn main(&self, windows: &ModelWindows) -> Option<MainFill> {
        let model = self.model.clone()?;
        let asked_tokens = self.asked_window_tokens.unwrap_or_else(|| windows.tokens_of(model.as_str()));
        let window_tokens = windows.proven_tokens(model.as_str(), asked_tokens, self.answered_tokens);
        Some(MainFill { tokens: self.main_tokens, window_tokens, model })
    }
}

/// Tokens that a request and its answer take of a window.
fn held_tokens(usage: &Usage) -> u64 {
    usage.prompt_tokens() + usage.output_tokens
}

/// The folder that an agent works in, if a text that its client gives the model says so.
pub fn folder_in(text: &str) -> Option<&str> {
    FOLDER_MARKS.iter().find_map(|mark| {
        let (_, rest) = text.split_once(mark)?;
        let folder = rest.split(['\n', '<']).next()?.trim();
        let is_folder = folder.starts_with('/') || folder.get(1..3) == Some(":\\");
        (is_folder && folder.len() <= FOLDER_BYTES_MAX).then_some(folder)
    })
}
