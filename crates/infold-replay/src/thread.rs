//! Prepares a thread to be played: its entries, its requests, and what each request's answer needed.
//!
//! Entries are the items of a transcript. In addition, what a client repeats after a compaction becomes entries after
//! the summary. So what a request holds is always one run of entries: from the latest summary before it to its end.
//!
//! What must hold: requests are in order and their answers do not overlap; `start <= end` in each; an entry that a
//! request needs lies in that request's own run.

use std::borrow::Cow;
use std::collections::HashMap;

use infold_core::transcript::{Item, Kind, Transcript};
use infold_core::{Counter, Family};
use serde::{Deserialize, Serialize};

use crate::seen_texts::{Look, SeenTexts};
use crate::text;

mod needs;
mod requests;

pub(crate) use needs::Need;
pub use requests::AnswerStarts;
pub(crate) use requests::{Asked, answers, usual_model};

#[cfg(test)]
mod tests;

/// The base is what every request holds beside its entries: the system prompt and the tools. It is estimated as the
/// first prompt less the first user text, within these bounds.
const BASE_TOKENS_MIN: u64 = 5_000;
const BASE_TOKENS_MAX: u64 = 60_000;

/// Whether a client's own compactions and clearings happen when its session is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compactions {
    /// They happen under every policy, at the places where they were recorded.
    #[default]
    AsRecorded,
    /// Nothing is ever taken away, and a summary is one more message, as if the model's window had no limit.
    Ignored,
}

/// The kind of an entry, as far as policies distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum EntryRole {
    User,
    Assistant,
    /// Signed reasoning, which is only valid after exactly what came before it.
    SealedReasoning,
    Reasoning,
    Call,
    Result,
    /// The summary of a compaction, with which a new run begins.
    Summary,
    /// A point where the client cleared results; nothing is sent for it.
    Clearing,
    Other,
}

/// One item, prepared to be played.
#[derive(Debug)]
pub(crate) struct ThreadEntry<'a> {
    pub role: EntryRole,
    /// The tool of a call or a result; empty for other entries.
    pub tool: &'a str,
    /// What is sent if no policy changes it.
    pub text: &'a str,
    /// For a result: the entry of its call.
    pub call: Option<usize>,
    /// For a clearing: the entries of the results that it cleared.
    pub cleared: Vec<usize>,
}

impl ThreadEntry<'_> {
    /// What is sent beside the text: the name of a call's tool.
    pub fn name(&self) -> &str {
        if self.role == EntryRole::Call { self.tool } else { "" }
    }

    /// `sent` without JSON escapes and the like, so that words in it can be found. `sent` is the entry's text or what
    /// is sent in its place.
    pub fn readable<'s>(&self, sent: &'s str) -> Cow<'s, str> {
        match self.role {
            EntryRole::Call if sent.len() == self.text.len() => Cow::Owned(infold_core::plain_arguments(sent)),
            EntryRole::Call => Cow::Owned(text::of_cut_arguments(sent)),
            EntryRole::User
            | EntryRole::Assistant
            | EntryRole::SealedReasoning
            | EntryRole::Reasoning
            | EntryRole::Result
            | EntryRole::Summary
            | EntryRole::Clearing => Cow::Borrowed(sent),
            EntryRole::Other => infold_core::readable_of_other(sent),
        }
    }
}

/// One request to the model.
#[derive(Debug)]
pub(crate) struct ReplayedRequest<'a> {
    /// The first entry that the request can hold.
    pub start: usize,
    /// The entry after the last one that it can hold, which is the first of its answer.
    pub end: usize,
    pub model: &'a str,
    pub output_tokens: u64,
    pub needs: needs::Needs,
}

/// A thread that is prepared to be played.
#[derive(Debug)]
pub(crate) struct Thread<'a> {
    pub family: Family,
    pub base_tokens: u64,
    pub entries: Vec<ThreadEntry<'a>>,
    pub requests: Vec<ReplayedRequest<'a>>,
}

impl<'a> Thread<'a> {
    /// Prepares the main thread of a recorded session, and works out what a model sees of its entries.
    pub fn main(transcript: &'a Transcript, compactions: Compactions) -> (Self, SeenTexts) {
        let items: Vec<&Item> = transcript.items.iter().collect();
        let family = Family::of_model(usual_model(&transcript.calls));
        let mut asked = requests::recorded(&transcript.calls);
        if asked.is_empty() {
            asked = answers(&items, Counter::new(family));
        }

        let (mut thread, texts) = Self::of(ThreadLayout::of(&items, compactions), asked, family, Look::Closely);
        let first_user = thread.entries.iter().position(|entry| entry.role == EntryRole::User);
        let first_prompt = transcript.calls.iter().map(|call| call.usage.prompt_tokens()).find(|&tokens| tokens > 0);
        let base_tokens = match first_prompt {
            Some(prompt) => prompt.saturating_sub(first_user.map_or(0, |at| texts.get(at).tokens)),
            None => requests::system_tokens(&items, Counter::new(family)),
        };
        thread.base_tokens = base_tokens.clamp(BASE_TOKENS_MIN, BASE_TOKENS_MAX);
        (thread, texts)
    }

    /// Prepares a thread from entries and requests. Its base is the smallest allowed; a caller that knows better
    /// changes it.
    pub fn of(layout: ThreadLayout<'a>, asked: Vec<Asked<'a>>, family: Family, look: Look) -> (Self, SeenTexts) {
        let mut texts = SeenTexts::of(&layout.entries, Counter::new(family), look);
        let mut requests = requests::of(asked, &layout);
        needs::find(&layout.entries, &mut texts, &mut requests);
        (Self { family, base_tokens: BASE_TOKENS_MIN, entries: layout.entries, requests }, texts)
    }
}

/// The entries of a thread, and the entry that each item became.
#[derive(Debug)]
pub(crate) struct ThreadLayout<'a> {
    entries: Vec<ThreadEntry<'a>>,
    /// The first entry of each item, by the item's index.
    entry_of: Vec<usize>,
}

impl<'a> ThreadLayout<'a> {
    /// Makes entries of items, which may come from several transcripts.
    pub fn of(items: &[&'a Item], compactions: Compactions) -> Self {
        let mut layout = Self { entries: Vec::with_capacity(items.len()), entry_of: Vec::with_capacity(items.len()) };
        let mut calls: HashMap<&str, usize> = HashMap::new();
        let mut results: HashMap<&str, usize> = HashMap::new();
        for item in items {
            layout.entry_of.push(layout.entries.len());
            layout.push(item, &mut calls, &mut results);
            match compactions {
                Compactions::AsRecorded => {}
                Compactions::Ignored => {
                    layout.unmark_last();
                    continue;
                }
            }
            if let Kind::Compaction { kept, .. } = &item.kind {
                for item in kept {
                    layout.push(item, &mut calls, &mut results);
                    // The client repeats these after another prefix, so the seal no longer binds them to what comes
                    // before.
                    if let Some(entry) = layout.entries.last_mut()
                        && entry.role == EntryRole::SealedReasoning
                    {
                        entry.role = EntryRole::Reasoning;
                    }
                }
            }
        }
        layout
    }

    /// Turns the entry pushed last into an ordinary message, if it is a compaction or a clearing.
    fn unmark_last(&mut self) {
        if let Some(entry) = self.entries.last_mut() {
            entry.cleared.clear();
            if entry.role == EntryRole::Summary {
                entry.role = EntryRole::User;
            }
        }
    }

    fn push(&mut self, item: &'a Item, calls: &mut HashMap<&'a str, usize>, results: &mut HashMap<&'a str, usize>) {
        let at = self.entries.len();
        let mut entry =
            ThreadEntry { role: EntryRole::Other, tool: "", text: item.text(), call: None, cleared: Vec::new() };
        entry.role = match &item.kind {
            // Instructions outside the conversation are part of the base.
            Kind::System { .. } => {
                entry.text = "";
                EntryRole::Other
            }
            Kind::User { .. } => EntryRole::User,
            Kind::Assistant { .. } => EntryRole::Assistant,
            Kind::Reasoning { sealed_bytes: 0, .. } => EntryRole::Reasoning,
            Kind::Reasoning { .. } => EntryRole::SealedReasoning,
            Kind::Call { id, tool, .. } => {
                entry.tool = tool;
                calls.insert(id, at);
                EntryRole::Call
            }
            Kind::Result { id, tool, .. } => {
                entry.call = calls.get(id.as_str()).copied();
                entry.tool = entry.call.filter(|_| tool.is_empty()).map_or(tool, |call| self.entries[call].tool);
                results.insert(id, at);
                EntryRole::Result
            }
            Kind::Compaction { .. } => EntryRole::Summary,
            Kind::Clearing { calls } => {
                entry.cleared = calls.iter().filter_map(|id| results.get(id.as_str()).copied()).collect();
                EntryRole::Clearing
            }
            Kind::Other { .. } => EntryRole::Other,
        };
        self.entries.push(entry);
    }
}
