//! Plays a thread against a policy, request by request.
//!
//! What is in sight is kept as counters, one a word, and the size of a request as a sum; both change
//! only by what a policy changes, so that a long session costs no more a request than a short one.

use infold_core::Family;

use crate::policy::{Arrival, Policy, Rolling};
use crate::sights::{SightId, Sights};
use crate::thread::{EntryRole, ReplayedRequest, Thread};
use crate::{Measures, thread::Need};

mod judge;
#[cfg(test)]
mod tests;

pub use judge::{Judge, SentItem};

/// What a token costs, with a token of input for the unit.
#[derive(Debug, Clone, Copy)]
struct Weights {
    read: f64,
    write: f64,
    output: f64,
}

impl Weights {
    fn of(family: Family) -> Self {
        match family {
            Family::Gpt => Self { read: 0.1, write: 1.0, output: 8.0 },
            Family::Claude | Family::ClaudeNew => Self { read: 0.1, write: 1.25, output: 5.0 },
        }
    }

    /// What it costs to fetch something of this size again, in a request of that size.
    fn fetch(self, prompt_tokens: u64, tokens: u64) -> f64 {
        self.read * prompt_tokens as f64 + FETCH_TOKENS + self.write * tokens.min(FETCHED_TOKENS_MAX) as f64
    }
}

/// What the call for it and the frame around it cost.
const FETCH_TOKENS: f64 = 300.0;
/// More than this is not fetched at once.
const FETCHED_TOKENS_MAX: u64 = 1_024;

/// How a thread went under a policy.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Played {
    pub measures: Measures,
    /// Each request.
    pub sent: Vec<Sent>,
}

/// The size of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub prompt_tokens: u64,
    /// How much of it stood at the front of the request before.
    pub read_tokens: u64,
}

/// Plays a thread against a policy.
pub(crate) fn play(thread: &Thread<'_>, sights: &mut Sights, policy: Policy) -> Played {
    let mut stage = Stage::new(thread, policy);
    let mut played = Played::default();
    for request in &thread.requests {
        let sent = stage.send(thread, sights, request, policy);
        stage.answer(sights, request, sent.prompt_tokens, &mut played.measures);
        count(&mut played.measures, sent, request.output_tokens, stage.weights);
        played.measures.invalid_reasoning_requests += u64::from(stage.reasoning_is_invalid);
        played.sent.push(sent);
    }
    played
}

/// Counts a request and its answer.
fn count(measures: &mut Measures, sent: Sent, output_tokens: u64, weights: Weights) {
    let Sent { prompt_tokens, read_tokens } = sent;
    measures.requests += 1;
    measures.peak_tokens = measures.peak_tokens.max(prompt_tokens);
    measures.prompt_tokens += prompt_tokens;
    measures.cache_read_tokens += read_tokens;
    measures.cache_write_tokens += prompt_tokens - read_tokens;
    measures.output_tokens += output_tokens;
    let bill = weights.read * read_tokens as f64
        + weights.write * (prompt_tokens - read_tokens) as f64
        + weights.output * output_tokens as f64;
    measures.billed += bill;
    measures.adjusted += bill;
}

/// What the model has before it.
#[derive(Debug)]
struct Stage {
    weights: Weights,
    rolling: Rolling,
    /// The sight of each entry from `start` on.
    sent: Vec<SightId>,
    start: usize,
    /// Sum over `sent`.
    sent_tokens: u64,
    /// In how many of the entries sent each word can be seen.
    visible: Vec<u32>,
    /// The same of atoms that can be seen in a whole line of their own.
    strictly_visible: Vec<u32>,
    last_sealed: Option<usize>,
    reasoning_is_invalid: bool,
    is_first: bool,
    base_tokens: u64,
}

impl Stage {
    fn new(thread: &Thread<'_>, policy: Policy) -> Self {
        Self {
            weights: Weights::of(thread.family),
            rolling: Rolling::new(policy),
            sent: Vec::new(),
            start: 0,
            sent_tokens: 0,
            visible: Vec::new(),
            strictly_visible: Vec::new(),
            last_sealed: None,
            reasoning_is_invalid: false,
            is_first: true,
            base_tokens: thread.base_tokens,
        }
    }

    /// Puts together a request.
    fn send(
        &mut self,
        thread: &Thread<'_>,
        sights: &mut Sights,
        request: &ReplayedRequest<'_>,
        policy: Policy,
    ) -> Sent {
        if request.start != self.start {
            self.restart(request.start, policy);
        }
        // The first entry that was not sent before, or not like this.
        let mut new_from = self.start + self.sent.len();
        for at in new_from..request.end {
            self.arrive(thread, sights, at);
        }
        for change in self.rolling.settle(self.base_tokens + self.sent_tokens) {
            let id = sights.id(&thread.entries, change.at, change.form);
            if change.at >= self.start && self.replace(sights, change.at, id) {
                new_from = new_from.min(change.at);
                self.reasoning_is_invalid |= self.last_sealed.is_some_and(|sealed| sealed > change.at);
            }
        }

        let prompt_tokens = self.base_tokens + self.sent_tokens;
        let new_tokens: u64 = self.sent[new_from - self.start..].iter().map(|&id| sights.get(id).tokens).sum();
        let read_tokens = if self.is_first { 0 } else { prompt_tokens - new_tokens };
        self.is_first = false;
        Sent { prompt_tokens, read_tokens }
    }

    /// The client has compacted: all that was sent is gone, but for the base.
    fn restart(&mut self, start: usize, policy: Policy) {
        self.rolling = Rolling::new(policy);
        self.sent.clear();
        self.start = start;
        self.sent_tokens = 0;
        self.visible.fill(0);
        self.strictly_visible.fill(0);
        self.last_sealed = None;
        self.reasoning_is_invalid = false;
    }

    fn arrive(&mut self, thread: &Thread<'_>, sights: &mut Sights, at: usize) {
        let entry = &thread.entries[at];
        if entry.role == EntryRole::SealedReasoning {
            self.last_sealed = Some(at);
        }
        let id = match self.rolling.arrive(at, &thread.entries, sights.counter()) {
            Arrival::In(form) => sights.id(&thread.entries, at, form),
            Arrival::As(text) => sights.id_as(entry, &text),
        };
        self.sent.push(id);
        self.show(sights, id);
    }

    /// Sends an entry in another form from now on; says whether that makes a difference.
    fn replace(&mut self, sights: &Sights, at: usize, id: SightId) -> bool {
        let before = std::mem::replace(&mut self.sent[at - self.start], id);
        if before == id {
            return false;
        }
        self.hide(sights, before);
        self.show(sights, id);
        true
    }

    fn hide(&mut self, sights: &Sights, id: SightId) {
        let sight = sights.get(id);
        self.sent_tokens -= sight.tokens;
        for &word in sight.atoms.iter().chain(&sight.lines) {
            self.visible[word as usize] -= 1;
        }
        for &word in sight.strict_atoms() {
            self.strictly_visible[word as usize] -= 1;
        }
    }

    fn show(&mut self, sights: &Sights, id: SightId) {
        if self.visible.len() < sights.words() {
            self.visible.resize(sights.words(), 0);
            self.strictly_visible.resize(sights.words(), 0);
        }
        let sight = sights.get(id);
        self.sent_tokens += sight.tokens;
        for &word in sight.atoms.iter().chain(&sight.lines) {
            self.visible[word as usize] += 1;
        }
        for &word in sight.strict_atoms() {
            self.strictly_visible[word as usize] += 1;
        }
    }

    /// Counts what the answer used that was in sight, and what it would have had to fetch again.
    fn answer(&self, sights: &Sights, request: &ReplayedRequest<'_>, prompt_tokens: u64, measures: &mut Measures) {
        let mut missed: Vec<usize> = Vec::new();
        for need in &request.needs.atoms {
            let seen = is_seen(&self.visible, need);
            measures.atoms_needed += 1;
            measures.atoms_seen += u64::from(seen);
            measures.strict_atoms_seen += u64::from(is_seen(&self.strictly_visible, need));
            if need.entry < request.needs.near_from {
                measures.far_atoms_needed += 1;
                measures.far_atoms_seen += u64::from(seen);
            }
            missed.extend((!seen).then_some(need.entry));
        }
        for need in &request.needs.lines {
            let seen = is_seen(&self.visible, need);
            measures.lines_needed += 1;
            measures.lines_seen += u64::from(seen);
            missed.extend((!seen).then_some(need.entry));
        }

        // One round trip for each entry, whatever of it is missed.
        missed.sort_unstable();
        missed.dedup();
        for entry in missed {
            measures.fetches += 1;
            measures.adjusted += self.weights.fetch(prompt_tokens, sights.get(entry).tokens);
        }
    }
}

fn is_seen(visible: &[u32], need: &Need) -> bool {
    visible.get(need.word as usize).is_some_and(|&entries| entries > 0)
}
