//! Many requests in one row of figures.

use serde::{Deserialize, Serialize};

use super::{AnswerEnd, RequestRecord, Usage, difference};

/// What many requests add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestTotals {
    /// How many there were.
    pub requests: u64,
    /// Those that were edited.
    pub edited: u64,
    /// Those whose answer did not come whole.
    pub broken: u64,
    /// Warnings.
    pub warnings: u64,
    /// What the client wanted to send, by our count.
    pub wanted_tokens: u64,
    /// What was sent, by our count.
    pub sent_tokens: u64,
    /// What providers reported.
    pub usage: Usage,
    /// Those of which they reported nothing, or not all.
    pub unreported: u64,
    /// What infold counted of those instead.
    pub estimated: Usage,
    /// Those in which the cache missed.
    pub misses: u64,
    /// Tokens that the cache could have given and did not.
    pub missed_tokens: u64,
    /// Those that have a cost.
    pub priced: u64,
    /// What those cost, in millionths of a dollar.
    pub cost_micros: u64,
    /// What those would have cost as the client wanted them.
    pub wanted_cost_micros: u64,
    /// What infold added, in microseconds.
    pub added_us: u64,
    /// When the last one came.
    pub last_at_ms: u64,
}

impl RequestTotals {
    /// Adds a request.
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

    /// Adds other totals.
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

    /// Tokens that infold removed from the prompts, by our count; below zero if it added more than that.
    pub fn saved_tokens(&self) -> i64 {
        difference(self.wanted_tokens, self.sent_tokens)
    }

    /// What was saved, in millionths of a dollar; below zero if it was the other way round.
    pub fn saved_micros(&self) -> i64 {
        difference(self.wanted_cost_micros, self.cost_micros)
    }

    /// Share of the prompts that came from the cache, in percent.
    pub fn cache_hit_percent(&self) -> Option<u64> {
        (self.usage.cache_read_tokens * 100).checked_div(self.usage.prompt_tokens())
    }
}
