//! The figures that playing one session, or many, against a policy gives.

use serde::{Deserialize, Serialize};

/// Sums over the requests of one session, or of several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// How many requests were made to the model.
    pub requests: u64,
    /// The size of the largest request. For several sessions: the sum of the sizes of their largest requests.
    pub peak_tokens: u64,
    /// The prompt tokens of all requests.
    pub prompt_tokens: u64,
    /// Of the prompt tokens, those in the part that the request has in common with the beginning of the one before it.
    pub cache_read_tokens: u64,
    /// The other prompt tokens, which the provider has to process and caches.
    pub cache_write_tokens: u64,
    /// The tokens of the answers, as recorded.
    pub output_tokens: u64,
    /// The bill, in units of the price of one input token.
    pub billed: f64,
    /// The bill with the cost of fetching again what was needed and no longer visible.
    pub adjusted: f64,
    /// How many round trips would be needed to fetch something again.
    pub fetches: u64,
    /// How many atoms (paths, identifiers, numbers, hashes) in the arguments of calls had occurred before.
    pub atoms_needed: u64,
    /// Of the needed atoms, those that were still visible in the prompt.
    pub atoms_seen: u64,
    /// Of the needed atoms, those that were visible in a whole line of the thread, word for word; a name in a list of
    /// names does not count.
    pub strict_atoms_seen: u64,
    /// Of the needed atoms, those that were last seen before the last ten results.
    pub far_atoms_needed: u64,
    /// Of these far atoms, those that were still visible.
    pub far_atoms_seen: u64,
    /// How many lines in the old text of edits had occurred before.
    pub lines_needed: u64,
    /// Of the needed lines, those that were still visible verbatim.
    pub lines_seen: u64,
    /// How many requests had a signed reasoning block after something that had changed since it was signed.
    pub invalid_reasoning_requests: u64,
}

impl Measures {
    /// Adds the figures of another session.
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

    /// The share of needed atoms that were visible, in percent; `None` if none were needed.
    pub fn recall_percent(&self) -> Option<f64> {
        percent(self.atoms_seen, self.atoms_needed)
    }

    /// The same share, where an atom counts only in a whole line of the thread.
    pub fn strict_recall_percent(&self) -> Option<f64> {
        percent(self.strict_atoms_seen, self.atoms_needed)
    }

    /// The same share of the atoms that were last seen before the last ten results.
    pub fn far_recall_percent(&self) -> Option<f64> {
        percent(self.far_atoms_seen, self.far_atoms_needed)
    }

    /// The share of lines needed by edits that were visible, in percent; `None` if none were needed.
    pub fn line_recall_percent(&self) -> Option<f64> {
        percent(self.lines_seen, self.lines_needed)
    }
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}
