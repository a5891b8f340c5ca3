//! Plays sessions one at a time, and puts their figures together into a report.

use infold_core::transcript::{Client, Transcript};

use crate::folding::folding;
use crate::play::{PlayedThread, play};
use crate::report::{PolicyOutcome, PolicyReport, PortionReport, RecordedUsage, Report, SessionReport, Skipped};
use crate::seen_texts::SeenTexts;
use crate::shares::Shares;
use crate::thread::Thread;
use crate::{Compactions, Curve, Folding, ForkTable, Measures, Policy, Prices};

#[cfg(test)]
mod tests;

/// What to play sessions against, and how much to keep for drawing.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The policies to play; the others are compared with the first.
    pub policies: Vec<Policy>,
    /// Whether the clients' own compactions and clearings happen.
    pub compactions: Compactions,
    /// The price of each model, to give costs in money as well.
    pub prices: Prices,
    /// For how many sessions, those with the largest bills, the sizes of requests are kept for drawing.
    pub curves_max: usize,
    /// How many points each of these curves has at most.
    pub curve_points_max: usize,
}

/// How far the work on one session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// How many steps are done.
    pub done: usize,
    /// How many steps there are in all.
    pub steps: usize,
}

/// A replay in progress. Sessions are added one at a time, so that only one needs to be in memory.
#[derive(Debug)]
pub struct Replay {
    options: Options,
    sessions: Vec<SessionReport>,
    skipped: Vec<Skipped>,
    shares: Shares,
}

impl Replay {
    /// Starts a replay without any session.
    pub fn new(options: Options) -> Self {
        Self { options, sessions: Vec::new(), skipped: Vec::new(), shares: Shares::default() }
    }

    /// Plays a session against every policy and adds it under `name`. `progress` is called after each step.
    pub fn add(&mut self, name: &str, transcript: &Transcript, mut progress: impl FnMut(Progress)) {
        let steps = self.options.policies.len() + 2;
        let mut report = |done| progress(Progress { done, steps });
        let (thread, mut texts) = Thread::main(transcript, self.options.compactions);
        report(1);
        if thread.requests.is_empty() {
            return self.skip(name, "it holds no answer of a model");
        }

        let mut played = Vec::with_capacity(self.options.policies.len());
        for policy in &self.options.policies {
            played.push(play(&thread, &mut texts, *policy));
            report(played.len() + 1);
        }
        let folding = self.folding(transcript, &thread, &mut texts, &played);
        self.shares.add(&thread, &texts);
        let session = self.session(name, transcript, &thread, played, folding);
        self.sessions.push(session);
        self.keep_largest_curves();
        report(steps);
    }

    /// Records that something could not be played, and why.
    pub fn skip(&mut self, name: &str, reason: &str) {
        self.skipped.push(Skipped { name: name.to_owned(), reason: reason.to_owned() });
    }

    /// Makes the report over all sessions. `forks` is the table of a separate trial of forks, if there was one.
    pub fn finish(self, forks: Option<ForkTable>) -> Report {
        let policies = self.options.policies.iter().enumerate().map(|(at, policy)| self.total(at, *policy)).collect();
        let mut all = Folding::default();
        self.sessions.iter().filter_map(|session| session.folding.as_ref()).for_each(|folding| all.add(folding));
        let portions =
            self.shares.sorted().into_iter().map(|(portion, share)| PortionReport { portion, share }).collect();
        let unpriced = self.sessions.iter().filter(|session| !session.has_cost()).count();
        Report {
            compactions: self.options.compactions,
            policies,
            prices: self.options.prices.0,
            unpriced_sessions: unpriced as u64,
            sessions: self.sessions,
            skipped: self.skipped,
            portions,
            folding: (all.subtasks > 0).then_some(all),
            forks,
        }
    }

    /// Measures what folding saved. Sub-tasks are always played as they were and shaped, whatever policies are asked
    /// for.
    fn folding(
        &self,
        transcript: &Transcript,
        thread: &Thread<'_>,
        texts: &mut SeenTexts,
        played: &[PlayedThread],
    ) -> Option<Folding> {
        if transcript.subtasks.is_empty() {
            return None;
        }
        let mut of = |policy| match self.options.policies.iter().position(|asked| *asked == policy) {
            Some(at) => played[at].measures.clone(),
            None => play(thread, texts, policy).measures,
        };
        let own = self.options.policies.iter().find(|policy| matches!(policy, Policy::Shaped { .. }));
        let (folded, shaped) = (of(Policy::AsItWas), of(own.copied().unwrap_or(Policy::SHAPED)));
        folding(transcript, thread, self.options.compactions, &folded, &shaped)
    }

    fn session(
        &self,
        name: &str,
        transcript: &Transcript,
        thread: &Thread<'_>,
        played: Vec<PlayedThread>,
        folding: Option<Folding>,
    ) -> SessionReport {
        let curve = Curve::of(&played, self.options.curve_points_max);
        let outcomes = played.into_iter().map(|played| self.outcome(thread, played)).collect();
        SessionReport {
            name: name.to_owned(),
            client: client_name(transcript.client).to_owned(),
            model: thread.requests.first().map_or("", |request| request.model).to_owned(),
            recorded: recorded(transcript),
            outcomes,
            folding,
            curve: Some(curve),
        }
    }

    /// The outcome of a policy with its cost in money, each request at the price of its own model.
    fn outcome(&self, thread: &Thread<'_>, played: PlayedThread) -> PolicyOutcome {
        let mut cost = Some(0.0);
        for (request, sent) in thread.requests.iter().zip(&played.sent) {
            let one = Measures {
                cache_read_tokens: sent.read_tokens,
                cache_write_tokens: sent.prompt_tokens - sent.read_tokens,
                output_tokens: request.output_tokens,
                ..Measures::default()
            };
            let price = self.options.prices.of(request.model);
            cost = cost.zip(price).map(|(cost, price)| cost + one.cost(price));
        }
        PolicyOutcome { measures: played.measures, cost }
    }

    fn total(&self, at: usize, policy: Policy) -> PolicyReport {
        let mut total = PolicyOutcome::default();
        for session in &self.sessions {
            total.measures.add(&session.outcomes[at].measures);
            if let Some(cost) = session.outcomes[at].cost {
                total.cost = Some(total.cost.unwrap_or(0.0) + cost);
            }
        }
        let cost_at = self.options.prices.0.iter().map(|price| total.measures.cost(price)).collect();
        PolicyReport { policy, label: policy.label(), total, cost_at }
    }

    /// Drops the curve of the session with the smallest bill, if there are more curves than allowed.
    fn keep_largest_curves(&mut self) {
        let bill = |session: &SessionReport| session.outcomes.first().map_or(0.0, |outcome| outcome.measures.billed);
        let kept = self.sessions.iter().filter(|session| session.curve.is_some()).count();
        if kept <= self.options.curves_max {
            return;
        }
        let smallest = self
            .sessions
            .iter_mut()
            .filter(|session| session.curve.is_some())
            .min_by(|one, other| bill(one).total_cmp(&bill(other)));
        if let Some(session) = smallest {
            session.curve = None;
        }
    }
}

fn recorded(transcript: &Transcript) -> RecordedUsage {
    let mut recorded = RecordedUsage::default();
    for call in transcript.calls.iter().filter(|call| call.usage.prompt_tokens() > 0) {
        recorded.requests += 1;
        recorded.peak_tokens = recorded.peak_tokens.max(call.usage.prompt_tokens());
        recorded.prompt_tokens += call.usage.prompt_tokens();
        recorded.cache_read_tokens += call.usage.cache_read_tokens;
        recorded.output_tokens += call.usage.output_tokens;
    }
    recorded
}

fn client_name(client: Client) -> &'static str {
    match client {
        Client::ClaudeCode => "Claude Code",
        Client::Codex => "Codex",
        Client::OpenCode => "OpenCode",
        Client::Infold => "infold",
        Client::Anthropic => "Anthropic request",
        Client::OpenAi => "OpenAI request",
        Client::Normalized => "normalized",
    }
}
