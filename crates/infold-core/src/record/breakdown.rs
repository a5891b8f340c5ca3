//! How many tokens of a request each sort of content takes. Stored as JSON, so field names are fixed.

use serde::{Deserialize, Serialize};

use super::{Part, PartKind};
use crate::{Counter, Scrubbed};

/// Most names in a list; the smallest are added up under one name.
const SHARES_MAX: usize = 24;
/// The name for parts that belong to no server: the client's own tools.
const UNNAMED: &str = "client";
/// The name for all that do not fit a list.
const REST: &str = "others";

/// The tokens that all parts of one name take together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedTokens {
    /// A server for definitions of tools, a tool for results; `others` for what did not fit the list.
    pub name: Scrubbed,
    /// The sum over its parts.
    pub tokens: u64,
}

/// What a request is made of, in tokens by infold's own count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenBreakdown {
    /// The system prompt, and instructions among the messages.
    pub system_tokens: u64,
    /// Definitions of tools, by the server that they come from; most first.
    pub tools: Vec<NamedTokens>,
    /// Words on the user's side: a person's, and what the client says in messages of the user.
    pub user_tokens: u64,
    /// The model's words, without calls and reasoning.
    pub assistant_tokens: u64,
    /// The model's calls, with the frame that a provider puts around each.
    pub call_tokens: u64,
    /// Results, by the tool that gave them; most first.
    pub results: Vec<NamedTokens>,
    /// The model's reasoning, readable or sealed.
    pub reasoning_tokens: u64,
    /// Images, documents and anything else.
    pub other_tokens: u64,
}

impl TokenBreakdown {
    /// Adds up the parts of a prompt. `name` scrubs the name of a server or tool.
    pub fn of(parts: &[Part], counter: &Counter, name: impl Fn(&str) -> Scrubbed) -> Self {
        let mut made = Self::default();
        let (mut tools, mut results) = (Vec::new(), Vec::new());
        for part in parts {
            let tokens = counter.tokens(&part.size);
            match part.kind {
                PartKind::System => made.system_tokens += tokens,
                PartKind::Tool => add(&mut tools, part.name.as_deref(), tokens),
                PartKind::User => made.user_tokens += tokens,
                PartKind::Assistant => made.assistant_tokens += tokens,
                PartKind::Call => made.call_tokens += tokens,
                PartKind::Result => add(&mut results, part.name.as_deref(), tokens),
                PartKind::Reasoning => made.reasoning_tokens += tokens,
                PartKind::Other => made.other_tokens += tokens,
            }
        }
        made.tools = shares(tools, &name);
        made.results = shares(results, &name);
        made
    }

    /// Tokens of the definitions of all tools.
    pub fn tool_tokens(&self) -> u64 {
        self.tools.iter().map(|share| share.tokens).sum()
    }

    /// Tokens of the results of all tools.
    pub fn result_tokens(&self) -> u64 {
        self.results.iter().map(|share| share.tokens).sum()
    }

    /// Tokens of the whole request.
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

/// Adds to the sum of a name. Names are few next to parts, so searching a list is fast enough.
fn add<'a>(sums: &mut Vec<(Option<&'a str>, u64)>, name: Option<&'a str>, tokens: u64) {
    match sums.iter_mut().find(|(known, _)| *known == name) {
        Some((_, sum)) => *sum += tokens,
        None => sums.push((name, tokens)),
    }
}

fn shares(mut sums: Vec<(Option<&str>, u64)>, scrubbed: impl Fn(&str) -> Scrubbed) -> Vec<NamedTokens> {
    // By size, and by name where sizes are equal, so that the same request always gives the same list.
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
