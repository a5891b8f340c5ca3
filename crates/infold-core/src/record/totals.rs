//! Many requests in one row of figures, such as all of a session. Stored as JSON, so field names are fixed.

use serde::{Deserialize, Serialize};

use super::{AnswerEnd, RequestRecord, Usage, difference};

/// The sums over many requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestTotals {
    /// How many requests are in the sums.
    pub requests: u64,
    /// Requests that infold edited.
    pub edited: u64,
    /// Requests whose answer did not come whole.
    pub broken: u64,
    /// Warnings about all requests; one request may have several.
    pub warnings: u64,
    /// Tokens that the client wanted to send, by infold's count.
    pub wanted_tokens: u64,
    /// Tokens that infold sent, by its own count.
    pub sent_tokens: u64,
    /// The tokens that providers reported.
    pub usage: Usage,
    /// Requests for which a provider reported nothing, or not all.
    pub unreported: u64,
    /// infold's estimate of what was not reported.
    pub estimated: Usage,
    /// Requests in which the cache gave less than it could.
    pub misses: u64,
    /// Tokens that the cache could have given and did not.
    pub missed_tokens: u64,
    /// Requests whose cost is known.
    pub priced: u64,
    /// What the requests with a known cost cost, in millionths of a dollar.
    pub cost_micros: u64,
    /// What those same requests would have cost without infold, in millionths of a dollar.
    pub wanted_cost_micros: u64,
    /// How long infold worked on all requests before they were sent, in microseconds.
    pub added_us: u64,
    /// When the latest request came, in milliseconds since 1970.
    pub last_at_ms: u64,
}

impl RequestTotals {
    /// Adds one request to the sums.
    pub fn add(&mut self, record: &RequestRecord) {
        self.requests += 1;
        self.edited += u64::from(!record.edits.is_empty());
        self.broken += u64::from(record.end != AnswerEnd::Completed);
        self.warnings += record.warnings.len() as u64;
        self.wanted_tokens += record.wanted.total_tokens();
        self.sent_tokens += record.sent.total_tokens();
        self.usage = self.usage.plus(&record.usage.unwrap_or_default());
        self.unreported += u64::from(record.estimated.is_some());
        self.estimated = self.estimated.plus(&record.estimated.unwrap_or_default());
        if let Some(miss) = &record.miss {
            self.misses += 1;
            self.missed_tokens += miss.missed_tokens;
        }
        if let (Some(cost_micros), Some(wanted_micros)) = (record.cost_micros, record.wanted_cost_micros) {
            self.priced += 1;
            self.cost_micros += cost_micros;
            self.wanted_cost_micros += wanted_micros;
        }
        self.added_us += record.timing.added_us;
        self.last_at_ms = self.last_at_ms.max(record.at_ms);
    }

    /// Adds the sums over other requests.
    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.edited += other.edited;
        self.broken += other.broken;
        self.warnings += other.warnings;
        self.wanted_tokens += other.wanted_tokens;
        self.sent_tokens += other.sent_tokens;
        self.usage = self.usage.plus(&other.usage);
        self.unreported += other.unreported;
        self.estimated = self.estimated.plus(&other.estimated);
        self.misses += other.misses;
        self.missed_tokens += other.missed_tokens;
        self.priced += other.priced;
        self.cost_micros += other.cost_micros;
        self.wanted_cost_micros += other.wanted_cost_micros;
        self.added_us += other.added_us;
        self.last_at_ms = self.last_at_ms.max(other.last_at_ms);
    }

    /// Tokens that infold removed from the prompts, by its own count; below zero if it added more than it removed.
    pub fn saved_tokens(&self) -> i64 {
        difference(self.wanted_tokens, self.sent_tokens)
    }

    /// What infold saved, in millionths of a dollar; below zero if requests cost more with it.
    pub fn saved_micros(&self) -> i64 {
        difference(self.wanted_cost_micros, self.cost_micros)
    }

    /// Percent of the prompts' tokens that came from the cache; `None` if no tokens were reported.
    pub fn cache_hit_percent(&self) -> Option<u64> {
        (self.usage.cache_read_tokens * 100).checked_div(self.usage.prompt_tokens())
    }
}
