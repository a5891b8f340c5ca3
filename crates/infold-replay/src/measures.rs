//! What playing a session, or many, against a policy comes to.

use serde::{Deserialize, Serialize};

/// Sums over the requests of one session, or of several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Requests to the model.
    pub requests: u64,
    /// The largest request. Of several sessions: the sum of their largest.
    pub peak_tokens: u64,
    /// Prompt tokens of all requests.
    pub prompt_tokens: u64,
    /// Of these, what stood at the front of the request before as well.
    pub cache_read_tokens: u64,
    /// The others.
    pub cache_write_tokens: u64,
    /// Tokens of the answers, as recorded.
    pub output_tokens: u64,
    /// The bill, in tokens at the price of input.
    pub billed: f64,
    /// The bill, and what fetching again would cost that is no longer in sight.
    pub adjusted: f64,
    /// Round trips to fetch something again.
    pub fetches: u64,
    /// Atoms in the arguments of calls that had occurred before.
    pub atoms_needed: u64,
    /// Of these, those still in sight.
    pub atoms_seen: u64,
    /// Of these, those in sight in a whole line of their own, word for word; a name in a list is not.
    pub strict_atoms_seen: u64,
    /// Atoms needed that were last seen before the last ten results.
    pub far_atoms_needed: u64,
    /// Of these, those still in sight.
    pub far_atoms_seen: u64,
    /// Lines of the old text of edits that had occurred before.
    pub lines_needed: u64,
    /// Of these, those still in sight, verbatim.
    pub lines_seen: u64,
    /// Requests with a signed reasoning block behind something that had changed since it was signed.
    pub invalid_reasoning_requests: u64,
}

impl Measures {
    /// Adds another session's.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.peak_tokens += other.peak_tokens;
        self.prompt_tokens += other.prompt_tokens;
        self.cache_read_tokens += other.cache_read_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.output_tokens += other.output_tokens;
        self.billed += other.billed;
        self.adjusted += other.adjusted;
        self.fetches += other.fetches;
        self.atoms_needed += other.atoms_needed;
        self.atoms_seen += other.atoms_seen;
        self.strict_atoms_seen += other.strict_atoms_seen;
        self.far_atoms_needed += other.far_atoms_needed;
        self.far_atoms_seen += other.far_atoms_seen;
        self.lines_needed += other.lines_needed;
        self.lines_seen += other.lines_seen;
        self.invalid_reasoning_requests += other.invalid_reasoning_requests;
    }

    /// Reference recall in percent; nothing where nothing was needed.
    pub fn recall_percent(&self) -> Option<f64> {
        percent(self.atoms_seen, self.atoms_needed)
    }

    /// Reference recall, where an atom counts only in a whole line of its own.
    pub fn strict_recall_percent(&self) -> Option<f64> {
        percent(self.strict_atoms_seen, self.atoms_needed)
    }

    /// Recall of what was last seen before the last ten results.
    pub fn far_recall_percent(&self) -> Option<f64> {
        percent(self.far_atoms_seen, self.far_atoms_needed)
    }

    /// Recall of the lines that edits named.
    pub fn line_recall_percent(&self) -> Option<f64> {
        percent(self.lines_seen, self.lines_needed)
    }
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}
