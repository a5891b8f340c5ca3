//! What is kept of a request that went to a model: what it was made of, what was edited and why, what it
//! cost, and why the provider's cache missed.
//!
//! What must hold: no text of a conversation is in a request's record. Names (models, clients, tools, servers) were
//! scrubbed; everything else is figures and words of our own. A session's overview has its first words, scrubbed.

mod cause;
mod makeup;
mod overview;
mod part;
mod totals;

use serde::{Deserialize, Serialize};

use crate::view::{Edit, RequestKind};
use crate::{Scrubbed, SessionId, Thread};

pub use cause::{Cause, Whereabouts};
pub use makeup::{NamedTokens, TokenBreakdown};
pub use overview::{MainFill, SessionLabel, SessionOverview, folder_in};
pub use part::{By, Divergence, Part, PartKind, diverge};
pub use totals::RequestTotals;

/// Tokens of one request, as its provider reported them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Of the prompt, neither read from a cache nor written to one.
    pub fresh_tokens: u64,
    /// Of the prompt, read from the cache.
    pub cache_read_tokens: u64,
    /// Of the prompt, written to the cache.
    pub cache_write_tokens: u64,
    /// Of the answer, reasoning included.
    pub output_tokens: u64,
}

impl Usage {
    /// The whole prompt.
    pub fn prompt_tokens(&self) -> u64 {
        self.fresh_tokens.saturating_add(self.cache_read_tokens).saturating_add(self.cache_write_tokens)
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            fresh_tokens: self.fresh_tokens.saturating_add(other.fresh_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
        }
    }
}

/// How long a request took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// What infold added in front of sending it, in microseconds.
    pub added_us: u64,
    /// From its arrival to the first byte of the answer; none came if it is not there.
    pub first_byte_ms: Option<u64>,
    /// From its arrival to the end of the answer.
    pub total_ms: u64,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerEnd {
    /// It came whole.
    Completed,
    /// It broke off on the provider's side.
    Cut,
    /// The client went away.
    Aborted,
    /// infold sent nothing, and told the client why.
    Refused,
    /// The provider answered with an error, or could not be reached.
    Failed,
}

impl AnswerEnd {
    /// The end in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Cut => "cut off",
            Self::Aborted => "aborted",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// What kind of thing somebody should know about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// It could not be planned, and went as it came.
    PlanningFailed,
    /// The same thing happens again and again.
    Loop,
    /// It would not have fitted, and results were moved out of it.
    Rescued,
    /// A call of the model writes a placeholder where a secret was.
    PlaceholderWritten,
    /// The provider's count and ours are far apart.
    CountDrift,
    /// The provider refused its reasoning; it went again without.
    ReasoningRefused,
    /// Text was too long to be scrubbed, and was withheld.
    Withheld,
    /// It was sent more than once.
    Retried,
    /// Anything else.
    Other,
}

/// Something that somebody should know about a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestWarning {
    /// What kind of thing.
    pub kind: WarningKind,
    /// In words.
    pub text: Scrubbed,
}

/// A part of the prompt that the cache could have given and did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Miss {
    /// How many tokens.
    pub missed_tokens: u64,
    /// Why.
    pub cause: Cause,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// Of which session.
    pub session: SessionId,
    /// Of which agent of the client's, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Scrubbed>,
    /// The thread whose view was sent.
    pub thread: Thread,
    /// When it came.
    pub at_ms: u64,
    /// Which of the providers' interfaces: `messages`, `responses` or `chat`.
    pub api: Scrubbed,
    /// The model it asked for.
    pub model: Scrubbed,
    /// Tokens of the window that its client asked for, if it asked for one that is not the model's usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u64>,
    /// What kind of request it was.
    pub kind: RequestKind,
    /// The program that sent it, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Scrubbed>,
    /// What the client wanted to send, by our count.
    pub wanted: TokenBreakdown,
    /// What was sent, by our count.
    pub sent: TokenBreakdown,
    /// What was edited, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edit>,
    /// What the provider reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What it did not report, by our own count: an estimate. Where it reported nothing that is all; where the answer
    /// broke off, what was said without being counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Usage>,
    /// What the cache could have given and did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss: Option<Miss>,
    /// What it cost, in millionths of a dollar; unknown where its model has no price or no usage came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// What it would have cost as the client wanted it: an estimate, by our count and the same prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted_cost_micros: Option<u64>,
    /// How long it took.
    pub timing: Timing,
    /// The HTTP status of the answer; none where the provider could not be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How the answer ended.
    pub end: AnswerEnd,
    /// What somebody should know about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<RequestWarning>,
}

impl RequestRecord {
    /// Tokens that infold removed from the prompt, by our count; below zero if it added more than that.
    pub fn saved_tokens(&self) -> i64 {
        difference(self.wanted.total_tokens(), self.sent.total_tokens())
    }

    /// What was used, as far as it is known: what the provider reported and what infold counted instead.
    pub fn used(&self) -> Option<Usage> {
        match (self.usage, self.estimated) {
            (None, None) => None,
            (usage, estimated) => Some(usage.unwrap_or_default().plus(&estimated.unwrap_or_default())),
        }
    }
}

/// How much more the first is.
fn difference(more: u64, less: u64) -> i64 {
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    signed(more) - signed(less)
}

#[cfg(test)]
mod tests;
