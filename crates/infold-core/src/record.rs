//! What infold records about a request to a model: what it was made of, what was edited and why, what it cost, and why
//! the provider's cache missed. The engine fills records in; the store keeps them as JSON, so field names are fixed.
//!
//! What must hold: no text of a conversation is in a request's record. Names (models, clients, tools, servers) were
//! scrubbed; everything else is figures and words of infold's own. A session's overview has its first words, scrubbed.

mod breakdown;
mod cause;
mod overview;
mod part;
mod totals;

use serde::{Deserialize, Serialize};

use crate::view::{Edit, RequestKind};
use crate::{Scrubbed, SessionId, Thread};

pub use breakdown::{NamedTokens, TokenBreakdown};
pub use cause::{Cause, Whereabouts};
pub use overview::{MainFill, SessionLabel, SessionOverview, folder_in};
pub use part::{Divergence, Part, PartAuthor, PartKind, diverge};
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
    /// Tokens of the whole prompt: fresh, read from the cache and written to it.
    pub fn prompt_tokens(&self) -> u64 {
        self.fresh_tokens.saturating_add(self.cache_read_tokens).saturating_add(self.cache_write_tokens)
    }

    /// The sum of both, field by field.
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
    /// How long infold worked on it before it was sent, in microseconds.
    pub added_us: u64,
    /// From its arrival to the first byte of the answer; `None` if no byte came.
    pub first_byte_ms: Option<u64>,
    /// From its arrival to the end of the answer.
    pub total_ms: u64,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerEnd {
    /// The whole answer came.
    Completed,
    /// The answer broke off on the provider's side.
    Cut,
    /// The client closed the connection before the end.
    Aborted,
    /// infold sent nothing to the provider and answered the client with the reason.
    Refused,
    /// The provider answered with an error, or could not be reached.
    Failed,
}

impl AnswerEnd {
    /// The words for it in tables.
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

/// What a warning about a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// infold could not plan the request, and sent it as it came.
    PlanningFailed,
    /// The agent does the same thing again and again.
    Loop,
    /// The request would not have fitted the window, and results were offloaded until it did.
    Rescued,
    /// The agent asked for space: older results were offloaded, or there were none.
    Lightened,
    /// A call of the model writes a placeholder where a secret was.
    PlaceholderWritten,
    /// The provider's count of tokens and infold's are far apart.
    CountDrift,
    /// The provider refused the reasoning in it; it was sent again without.
    ReasoningRefused,
    /// Text was too long to be scrubbed, and was withheld.
    Withheld,
    /// The request was sent to the provider more than once.
    Retried,
    /// Something that no other kind covers; the text says what.
    Other,
}

/// Something that somebody should know about a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestWarning {
    /// For programs: what it is about.
    pub kind: WarningKind,
    /// For people: what happened, and what to do.
    pub text: Scrubbed,
}

/// A part of the prompt that the cache could have given and did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Miss {
    /// Tokens that the cache could have given.
    pub missed_tokens: u64,
    /// Why the cache did not give them.
    pub cause: Cause,
}

/// All that is recorded about one request to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// The session that the request belongs to.
    pub session: SessionId,
    /// Which of the client's agents sent it, where the client says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Scrubbed>,
    /// The thread whose view was sent.
    pub thread: Thread,
    /// When it reached infold, in milliseconds since 1970.
    pub at_ms: u64,
    /// Which API of a provider's it used: `messages`, `responses` or `chat`.
    pub api: Scrubbed,
    /// The model it asked for.
    pub model: Scrubbed,
    /// Tokens of the window that its client asked for, if it asked for one that is not the model's usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u64>,
    /// Whether it is a turn of an agent, a side question of the client's, or a request for a summary.
    pub kind: RequestKind,
    /// The program that sent it, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Scrubbed>,
    /// What the client's request was made of, by infold's count.
    pub wanted: TokenBreakdown,
    /// What the request that infold sent was made of, by infold's count.
    pub sent: TokenBreakdown,
    /// What infold changed in it, and why; empty if it went as it came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edit>,
    /// The tokens that the provider reported; `None` if it reported none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// An estimate, by infold's own count, of the tokens that the provider did not report: all of them, or the part of
    /// an answer that broke off before it was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Usage>,
    /// What the cache could have given and did not; `None` if nothing was missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss: Option<Miss>,
    /// What it cost, in millionths of a dollar; `None` where its model has no price or no usage was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// An estimate of what it would have cost without infold, by infold's count and the same prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted_cost_micros: Option<u64>,
    /// How long infold and the provider took.
    pub timing: Timing,
    /// The HTTP status of the answer; `None` where the provider could not be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Whether the answer came whole.
    pub end: AnswerEnd,
    /// What somebody should know about it; mostly empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<RequestWarning>,
}

impl RequestRecord {
    /// Tokens that infold removed from the prompt, by its own count; below zero if it added more than it removed.
    pub fn saved_tokens(&self) -> i64 {
        difference(self.wanted.total_tokens(), self.sent.total_tokens())
    }

    /// Tokens that were used, as far as is known: those that the provider reported, and infold's estimate of the rest.
    pub fn used(&self) -> Option<Usage> {
        match (self.usage, self.estimated) {
            (None, None) => None,
            (usage, estimated) => Some(usage.unwrap_or_default().plus(&estimated.unwrap_or_default())),
        }
    }
}

/// By how much the first is larger; below zero if it is smaller.
fn difference(more: u64, less: u64) -> i64 {
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    signed(more) - signed(less)
}

#[cfg(test)]
mod tests;
