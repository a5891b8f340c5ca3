//! Counts where the tokens of sessions went, by the kind of content.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::seen_texts::SeenTexts;
use crate::thread::{EntryRole, Thread};

/// A kind of content in requests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Portion {
    /// The system prompt and the definitions of tools.
    Base,
    /// Words on the user's side: a person's and the client's.
    User,
    /// Words of the model, without its reasoning.
    Assistant,
    /// Reasoning of the model, sealed or not.
    Reasoning,
    /// The calls of tools, with their arguments.
    Calls,
    /// The results of the tool with this name; the name is empty if it is not known.
    Results(String),
    /// The summaries that compactions left.
    Summaries,
    /// Images and everything else.
    Other,
}

/// The tokens of one kind of content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptShare {
    /// The tokens, counted once, when they were new.
    pub once_tokens: u64,
    /// The tokens, counted in each request that held them.
    pub carried_tokens: u64,
}

/// The tokens of each kind of content, over several sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shares(BTreeMap<Portion, PromptShare>);

impl Shares {
    /// Adds a thread as it was recorded.
    pub fn add(&mut self, thread: &Thread<'_>, texts: &SeenTexts) {
        let requests = thread.requests.len() as u64;
        self.put(Portion::Base, thread.base_tokens, requests);

        // For each entry, how many more (or fewer) requests hold it than hold the entry before it.
        let mut steps = vec![0_i64; thread.entries.len() + 1];
        for request in &thread.requests {
            steps[request.start] += 1;
            steps[request.end] -= 1;
        }
        let mut holders = 0_i64;
        for (at, entry) in thread.entries.iter().enumerate() {
            holders += steps[at];
            let portion = match entry.role {
                EntryRole::User => Portion::User,
                EntryRole::Assistant => Portion::Assistant,
                EntryRole::SealedReasoning | EntryRole::Reasoning => Portion::Reasoning,
                EntryRole::Call => Portion::Calls,
                EntryRole::Result => Portion::Results(entry.tool.to_owned()),
                EntryRole::Summary => Portion::Summaries,
                EntryRole::Clearing | EntryRole::Other => Portion::Other,
            };
            self.put(portion, texts.get(at).tokens, u64::try_from(holders).unwrap_or(0));
        }
    }

    fn put(&mut self, portion: Portion, tokens: u64, holders: u64) {
        let share = self.0.entry(portion).or_default();
        share.once_tokens += tokens;
        share.carried_tokens += tokens * holders;
    }

    /// All shares, the largest first; empty ones are left out.
    pub fn sorted(self) -> Vec<(Portion, PromptShare)> {
        let mut shares: Vec<(Portion, PromptShare)> =
            self.0.into_iter().filter(|(_, share)| share.once_tokens > 0).collect();
        shares.sort_by_key(|(_, share)| std::cmp::Reverse(share.carried_tokens));
        shares
    }
}
