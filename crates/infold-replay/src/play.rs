//! Plays a thread against a policy, request by request, and measures it.
//!
//! What is visible in the prompt is held as one counter for each word, and the size of a request as a sum. Both are
//! updated only by what a policy changes, so that a request of a long session takes no longer than one of a short
//! session.

use infold_core::Family;

use crate::policy::{Arrival, Policy, PolicyRun};
use crate::seen_texts::{SeenId, SeenTexts};
use crate::thread::{EntryRole, ReplayedRequest, Thread};
use crate::{Measures, thread::Need};

mod judge;
#[cfg(test)]
mod tests;

pub use judge::{Judge, SentItem};

/// What tokens cost, in units of the price of one input token.
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

    /// The cost of fetching something with this many tokens again, in a session whose request has `prompt_tokens`.
    fn fetch(self, prompt_tokens: u64, tokens: u64) -> f64 {
        self.read * prompt_tokens as f64 + FETCH_TOKENS + self.write * tokens.min(FETCHED_TOKENS_MAX) as f64
    }
}

/// The cost of the call that fetches something, and of the text around its result.
const FETCH_TOKENS: f64 = 300.0;
/// The most tokens that are fetched at once.
const FETCHED_TOKENS_MAX: u64 = 1_024;

/// The result of playing a thread against a policy.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PlayedThread {
    pub measures: Measures,
    /// The size of each request, in order.
    pub sent: Vec<Sent>,
}

/// The size of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub prompt_tokens: u64,
    /// The tokens in the part that it has in common with the beginning of the request before it.
    pub read_tokens: u64,
}

pub(crate) fn play(thread: &Thread<'_>, texts: &mut SeenTexts, policy: Policy) -> PlayedThread {
    let mut prompt = PromptState::new(thread, policy);
    let mut played = PlayedThread::default();
    for request in &thread.requests {
        let sent = prompt.send(thread, texts, request, policy);
        prompt.answer(texts, request, sent.prompt_tokens, &mut played.measures);
        count(&mut played.measures, sent, request.output_tokens, prompt.weights);
        played.measures.invalid_reasoning_requests += u64::from(prompt.reasoning_is_invalid);
        played.sent.push(sent);
    }
    played
}

/// Adds the sizes of a request and its answer to the measures, and their cost to the bill.
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

/// The prompt of the latest request, and what is visible in it.
#[derive(Debug)]
struct PromptState {
    weights: Weights,
    policy_run: PolicyRun,
    /// The text that is sent for each entry from `start` on.
    sent: Vec<SeenId>,
    start: usize,
    /// The tokens of all texts in `sent`.
    sent_tokens: u64,
    /// For each word, in how many of the texts in `sent` it can be seen.
    visible: Vec<u32>,
    /// The same for atoms that can be seen in a whole line of the thread.
    strictly_visible: Vec<u32>,
    last_sealed: Option<usize>,
    reasoning_is_invalid: bool,
    is_first: bool,
    base_tokens: u64,
}

impl PromptState {
    fn new(thread: &Thread<'_>, policy: Policy) -> Self {
        Self {
            weights: Weights::of(thread.family),
            policy_run: PolicyRun::new(policy),
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

    /// Builds the next request as the policy would send it.
    fn send(
        &mut self,
        thread: &Thread<'_>,
        texts: &mut SeenTexts,
        request: &ReplayedRequest<'_>,
        policy: Policy,
    ) -> Sent {
        if request.start != self.start {
            self.restart(request.start, policy);
        }
        // The first entry that the request before did not have, or had in another form.
        let mut new_from = self.start + self.sent.len();
        for at in new_from..request.end {
            self.arrive(thread, texts, at);
        }
        for change in self.policy_run.decide_changes(self.base_tokens + self.sent_tokens) {
            let id = texts.id(&thread.entries, change.at, change.form);
            if change.at >= self.start && self.replace(texts, change.at, id) {
                new_from = new_from.min(change.at);
                self.reasoning_is_invalid |= self.last_sealed.is_some_and(|sealed| sealed > change.at);
            }
        }

        let prompt_tokens = self.base_tokens + self.sent_tokens;
        let new_tokens: u64 = self.sent[new_from - self.start..].iter().map(|&id| texts.get(id).tokens).sum();
        let read_tokens = if self.is_first { 0 } else { prompt_tokens - new_tokens };
        self.is_first = false;
        Sent { prompt_tokens, read_tokens }
    }

    /// Empties the prompt, except for the base, because the client has compacted.
    fn restart(&mut self, start: usize, policy: Policy) {
        self.policy_run = PolicyRun::new(policy);
        self.sent.clear();
        self.start = start;
        self.sent_tokens = 0;
        self.visible.fill(0);
        self.strictly_visible.fill(0);
        self.last_sealed = None;
        self.reasoning_is_invalid = false;
    }

    fn arrive(&mut self, thread: &Thread<'_>, texts: &mut SeenTexts, at: usize) {
        let entry = &thread.entries[at];
        if entry.role == EntryRole::SealedReasoning {
            self.last_sealed = Some(at);
        }
        let id = match self.policy_run.arrive(at, &thread.entries, texts.counter()) {
            Arrival::In(form) => texts.id(&thread.entries, at, form),
            Arrival::As(text) => texts.id_as(entry, &text),
        };
        self.sent.push(id);
        self.show(texts, id);
    }

    /// Sends another text for an entry from now on; returns whether it differs from the text before.
    fn replace(&mut self, texts: &SeenTexts, at: usize, id: SeenId) -> bool {
        let before = std::mem::replace(&mut self.sent[at - self.start], id);
        if before == id {
            return false;
        }
        self.hide(texts, before);
        self.show(texts, id);
        true
    }

    fn hide(&mut self, texts: &SeenTexts, id: SeenId) {
        let seen = texts.get(id);
        self.sent_tokens -= seen.tokens;
        for &word in seen.atoms.iter().chain(&seen.lines) {
            self.visible[word as usize] -= 1;
        }
        for &word in seen.strict_atoms() {
            self.strictly_visible[word as usize] -= 1;
        }
    }

    fn show(&mut self, texts: &SeenTexts, id: SeenId) {
        if self.visible.len() < texts.words() {
            self.visible.resize(texts.words(), 0);
            self.strictly_visible.resize(texts.words(), 0);
        }
        let seen = texts.get(id);
        self.sent_tokens += seen.tokens;
        for &word in seen.atoms.iter().chain(&seen.lines) {
            self.visible[word as usize] += 1;
        }
        for &word in seen.strict_atoms() {
            self.strictly_visible[word as usize] += 1;
        }
    }

    /// Counts how much of what the answer used was visible, and adds the cost of fetching the rest again.
    fn answer(&self, texts: &SeenTexts, request: &ReplayedRequest<'_>, prompt_tokens: u64, measures: &mut Measures) {
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

        // One round trip for each entry is enough, however much of it is missing.
        missed.sort_unstable();
        missed.dedup();
        for entry in missed {
            measures.fetches += 1;
            measures.adjusted += self.weights.fetch(prompt_tokens, texts.get(entry).tokens);
        }
    }
}

fn is_seen(visible: &[u32], need: &Need) -> bool {
    visible.get(need.word as usize).is_some_and(|&entries| entries > 0)
}
