//! What a request is made of, in tokens.

use serde::{Deserialize, Serialize};

use super::{Part, PartKind};
use crate::{Counter, Scrubbed};

/// Most names in a list of shares; the rest is added up under one name.
const SHARES_MAX: usize = 24;
/// The name for what has none.
const UNNAMED: &str = "client";
/// The name for what is left when a list is full.
const REST: &str = "others";

/// What has this name takes so many tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedTokens {
    /// The name of a server or a tool.
    pub name: Scrubbed,
    /// Its tokens.
    pub tokens: u64,
}

/// What a request is made of, in tokens by our own count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenBreakdown {
    /// The system prompt, and instructions among the messages.
    pub system_tokens: u64,
    /// Definitions of tools, by the server that they come from; most first.
    pub tools: Vec<NamedTokens>,
    /// Words on the user's side.
    pub user_tokens: u64,
    /// The model's words.
    pub assistant_tokens: u64,
    /// The model's calls.
    pub call_tokens: u64,
    /// Results, by the tool that gave them; most first.
    pub results: Vec<NamedTokens>,
    /// The model's reasoning.
    pub reasoning_tokens: u64,
    /// Anything else.
    pub other_tokens: u64,
}

impl TokenBreakdown {
    /// Adds up parts. `name` gives a scrubbed name for one that came from outside.
    pub fn of(parts: &[Part], counter: &Counter, name: impl Fn(&str) -> Scrubbed) -> Self {
        let mut made = Self::default();
        let (mut tools, mut results) = (Vec::new(), Vec::new());
        for part in parts {
            let tokens = counter.scaled(part.vocabulary_tokens);
            match part.kind {
                PartKind::System => made.system_tokens += tokens,
                PartKind::Tool => add(&mut tools, part.name.as_deref(), tokens),
                PartKind::User => made.user_tokens += tokens,
                PartKind::Assistant => made.assistant_tokens += tokens,
                PartKind::Call => made.call_tokens += tokens + counter.per_call_tokens(),
                PartKind::Result => add(&mut results, part.name.as_deref(), tokens),
                PartKind::Reasoning => made.reasoning_tokens += tokens,
                PartKind::Other => made.other_tokens += tokens,
            }
        }
        made.tools = shares(tools, &name);
        made.results = shares(results, &name);
        made
    }

    /// Tokens of the definitions of tools.
    pub fn tool_tokens(&self) -> u64 {
        self.tools.iter().map(|share| share.tokens).sum()
    }

    /// Tokens of results.
    pub fn result_tokens(&self) -> u64 {
        self.results.iter().map(|share| share.tokens).sum()
    }

    /// All of it.
    pub fn total_tokens(&self) -> u64 {
        self.system_tokens
            + self.tool_tokens()
            + self.user_tokens
            + self.assistant_tokens
            + self.call_tokens
            + self.result_tokens()
            + self.reasoning_tokens
            + self.other_tokens
    }
}

/// Names are few next to parts, so a list that is looked through does.
fn add<'a>(sums: &mut Vec<(Option<&'a str>, u64)>, name: Option<&'a str>, tokens: u64) {
    match sums.iter_mut().find(|(known, _)| *known == name) {
        Some((_, sum)) => *sum += tokens,
        None => sums.push((name, tokens)),
    }
}

fn shares(mut sums: Vec<(Option<&str>, u64)>, scrubbed: impl Fn(&str) -> Scrubbed) -> Vec<NamedTokens> {
    // By size, and by name where sizes are equal, so that the same request is always told the same way.
    sums.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let rest = sums.split_off(sums.len().min(SHARES_MAX));
    let mut shares: Vec<NamedTokens> = sums
        .into_iter()
        .map(|(name, tokens)| NamedTokens { name: name.map_or_else(|| Scrubbed::fixed(UNNAMED), &scrubbed), tokens })
        .collect();
    if !rest.is_empty() {
        let tokens = rest.iter().map(|(_, tokens)| tokens).sum();
        shares.push(NamedTokens { name: Scrubbed::fixed(REST), tokens });
    }
    shares
}
