//! Where the tokens of a session went, by what they were.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sights::Sights;
use crate::thread::{EntryRole, Thread};

/// What tokens were.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Portion {
    /// The system prompt and the descriptions of tools.
    Base,
    /// The user's words.
    User,
    /// The model's words.
    Assistant,
    /// The model's thoughts.
    Reasoning,
    /// Arguments of calls.
    Calls,
    /// What a tool gave.
    Results(String),
    /// Summaries of compactions.
    Summaries,
    /// Anything else.
    Other,
}

/// The tokens of one portion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptShare {
    /// Counted once each.
    pub once_tokens: u64,
    /// Counted in each request that held them.
    pub carried_tokens: u64,
}

/// The shares of several sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shares(BTreeMap<Portion, PromptShare>);

impl Shares {
    /// Adds a thread, as it was.
    pub fn add(&mut self, thread: &Thread<'_>, sights: &Sights) {
        let requests = thread.requests.len() as u64;
        self.put(Portion::Base, thread.base_tokens, requests);

        // How many requests more, or fewer, hold an entry than hold the one before it.
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
            self.put(portion, sights.get(at).tokens, u64::try_from(holders).unwrap_or(0));
        }
    }

    fn put(&mut self, portion: Portion, tokens: u64, holders: u64) {
        let share = self.0.entry(portion).or_default();
        share.once_tokens += tokens;
        share.carried_tokens += tokens * holders;
    }

    /// All shares, the largest first.
    pub fn sorted(self) -> Vec<(Portion, PromptShare)> {
        let mut shares: Vec<(Portion, PromptShare)> =
            self.0.into_iter().filter(|(_, share)| share.once_tokens > 0).collect();
        shares.sort_by_key(|(_, share)| std::cmp::Reverse(share.carried_tokens));
        shares
    }
}
