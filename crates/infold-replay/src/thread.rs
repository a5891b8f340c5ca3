//! A thread made ready to be played: its entries, its requests, and what each request's answer needed.
//!
//! Entries are the items of a transcript, except that what a client repeats after a compaction
//! stands behind the summary, so that what a request holds is always one run of entries: from the
//! latest summary before it to its end.
//!
//! What must hold: requests are in order and never overlap; `start <= end` in each; an entry needed
//! by a request lies in that request's own run.

use std::borrow::Cow;
use std::collections::HashMap;

use infold_core::transcript::{Item, Kind, Transcript};
use infold_core::{Counter, Family};
use serde::{Deserialize, Serialize};

use crate::sights::{Look, Sights};
use crate::text;

mod needs;
mod requests;

pub(crate) use needs::Need;
pub use requests::AnswerStarts;
pub(crate) use requests::{Asked, answers, usual_model};

#[cfg(test)]
mod tests;

/// What every request holds beside the entries, its base, is the first prompt less the first user text:
/// the system prompt and the tools. It is taken to lie between these.
const BASE_TOKENS_MIN: u64 = 5_000;
const BASE_TOKENS_MAX: u64 = 60_000;

/// What is made of a client's own compactions and clearings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compactions {
    /// They happen under every policy, where they were recorded.
    #[default]
    AsRecorded,
    /// Nothing is ever taken away, and a summary is one more message: sessions without a window.
    Ignored,
}

/// What an entry is to a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum EntryRole {
    User,
    Assistant,
    /// Signed reasoning: bound to everything before it.
    SealedReasoning,
    Reasoning,
    Call,
    Result,
    /// The summary of a compaction: a new run begins here.
    Summary,
    /// The client cleared results here; nothing of this is sent.
    Clearing,
    Other,
}

/// One item as it is played.
#[derive(Debug)]
pub(crate) struct ThreadEntry<'a> {
    pub role: EntryRole,
    /// The tool of a call or a result.
    pub tool: &'a str,
    /// What is sent of it if nothing is done to it.
    pub text: &'a str,
    /// Of a result: the entry of its call.
    pub call: Option<usize>,
    /// Of a clearing: the results that it cleared.
    pub cleared: Vec<usize>,
}

impl ThreadEntry<'_> {
    /// What is sent of it beside its text: a call names its tool.
    pub fn name(&self) -> &str {
        if self.role == EntryRole::Call { self.tool } else { "" }
    }

    /// What can be read in `sent`, which is its text or a part of it.
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
    /// The first entry that it can hold.
    pub start: usize,
    /// The first entry that is not before it, which is the first of its answer.
    pub end: usize,
    pub model: &'a str,
    pub output_tokens: u64,
    pub needs: needs::Needs,
}

/// A thread made ready to be played.
#[derive(Debug)]
pub(crate) struct Thread<'a> {
    pub family: Family,
    pub base_tokens: u64,
    pub entries: Vec<ThreadEntry<'a>>,
    pub requests: Vec<ReplayedRequest<'a>>,
}

impl<'a> Thread<'a> {
    /// The main thread of a recorded session, and what is seen of its entries.
    pub fn main(transcript: &'a Transcript, compactions: Compactions) -> (Self, Sights) {
        let items: Vec<&Item> = transcript.items.iter().collect();
        let family = Family::of_model(usual_model(&transcript.calls));
        let mut asked = requests::recorded(&transcript.calls);
        if asked.is_empty() {
            asked = answers(&items, Counter::new(family));
        }

        let (mut thread, sights) = Self::of(Laid::of(&items, compactions), asked, family, Look::Closely);
        let first_user = thread.entries.iter().position(|entry| entry.role == EntryRole::User);
        let first_prompt = transcript.calls.iter().map(|call| call.usage.prompt_tokens()).find(|&tokens| tokens > 0);
        let base_tokens = match first_prompt {
            Some(prompt) => prompt.saturating_sub(first_user.map_or(0, |at| sights.get(at).tokens)),
            None => requests::system_tokens(&items, Counter::new(family)),
        };
        thread.base_tokens = base_tokens.clamp(BASE_TOKENS_MIN, BASE_TOKENS_MAX);
        (thread, sights)
    }

    /// A thread of the entries and the requests given. Its base is
    /// the least there is, unless the caller knows better.
    pub fn of(laid: Laid<'a>, asked: Vec<Asked<'a>>, family: Family, look: Look) -> (Self, Sights) {
        let mut sights = Sights::of(&laid.entries, Counter::new(family), look);
        let mut requests = requests::of(asked, &laid);
        needs::find(&laid.entries, &mut sights, &mut requests);
        (Self { family, base_tokens: BASE_TOKENS_MIN, entries: laid.entries, requests }, sights)
    }
}

/// Entries, and where each item went.
#[derive(Debug)]
pub(crate) struct Laid<'a> {
    entries: Vec<ThreadEntry<'a>>,
    /// The first entry of each item.
    entry_of: Vec<usize>,
}

impl<'a> Laid<'a> {
    /// Lays out items, which need not lie together.
    pub fn of(items: &[&'a Item], compactions: Compactions) -> Self {
        let mut laid = Self { entries: Vec::with_capacity(items.len()), entry_of: Vec::with_capacity(items.len()) };
        let mut calls: HashMap<&str, usize> = HashMap::new();
        let mut results: HashMap<&str, usize> = HashMap::new();
        for item in items {
            laid.entry_of.push(laid.entries.len());
            laid.push(item, &mut calls, &mut results);
            match compactions {
                Compactions::AsRecorded => {}
                Compactions::Ignored => {
                    laid.unmark_last();
                    continue;
                }
            }
            if let Kind::Compaction { kept, .. } = &item.kind {
                for item in kept {
                    laid.push(item, &mut calls, &mut results);
                    // The client repeats these behind another prefix, so they are not bound to ours.
                    if let Some(entry) = laid.entries.last_mut()
                        && entry.role == EntryRole::SealedReasoning
                    {
                        entry.role = EntryRole::Reasoning;
                    }
                }
            }
        }
        laid
    }

    /// Makes a compaction or a clearing just pushed one more message.
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
            // What stands above the conversation is part of the base.
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
