//! The report of a replay, for people and other programs: the figures of each session and of all together.

use serde::{Deserialize, Serialize};

use crate::shares::{Portion, PromptShare};
use crate::{Compactions, Curve, Folding, ForkTable, Measures, Policy, Price};

/// The figures that the provider reported when the session was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedUsage {
    /// How many requests the provider answered.
    pub requests: u64,
    /// The prompt tokens of the largest request.
    pub peak_tokens: u64,
    /// The prompt tokens of all requests.
    pub prompt_tokens: u64,
    /// Of the prompt tokens, those read from the provider's cache.
    pub cache_read_tokens: u64,
    /// The tokens of all answers.
    pub output_tokens: u64,
}

/// The figures of one policy, for a session or for all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyOutcome {
    /// The sizes, the bill and the recall under the policy.
    pub measures: Measures,
    /// The cost in dollars. For one session it is `None` unless the price of every model in it is known; for all, it is
    /// the sum over the sessions that have a cost.
    pub cost: Option<f64>,
}

/// The figures of one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionReport {
    /// The name that the caller gave the session.
    pub name: String,
    /// The name of the client that recorded it, for people.
    pub client: String,
    /// The name of the model that gave the first answer; empty if the recording does not say.
    pub model: String,
    /// The figures that the provider reported at the time.
    pub recorded: RecordedUsage,
    /// The figures under each policy, in the order of [`Report::policies`].
    pub outcomes: Vec<PolicyOutcome>,
    /// What its sub-tasks saved; `None` if none was recorded with its work.
    pub folding: Option<Folding>,
    /// The sizes of its requests under each policy; `None` if its bill is too small for its curve to be kept.
    pub curve: Option<Curve>,
}

impl SessionReport {
    /// Whether the price of every model in the session is known.
    pub fn has_cost(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.cost.is_some())
    }
}

/// A file that was not replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The name that the caller gave it.
    pub name: String,
    /// Why it was not replayed, as a phrase for people.
    pub reason: String,
}

/// The figures of one policy over all sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyReport {
    /// The policy with its limits.
    pub policy: Policy,
    /// The policy in a few words, as [`Policy::label`] gives them.
    pub label: String,
    /// The sums over all sessions.
    pub total: PolicyOutcome,
    /// What all sessions would cost in dollars at each price, in the order of [`Report::prices`].
    pub cost_at: Vec<f64>,
}

/// The tokens of one kind of content, over all sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortionReport {
    /// The kind of content.
    pub portion: Portion,
    /// How many tokens it has, counted once and counted in every request.
    #[serde(flatten)]
    pub share: PromptShare,
}

/// All figures of a replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Whether the clients' own compactions and clearings happened.
    pub compactions: Compactions,
    /// The sums for each policy; the others are compared with the first.
    pub policies: Vec<PolicyReport>,
    /// The prices that costs were worked out with.
    pub prices: Vec<Price>,
    /// How many sessions have a model without a known price. They are in no sum of money.
    pub unpriced_sessions: u64,
    /// The sessions, in the order in which they were played.
    pub sessions: Vec<SessionReport>,
    /// The files and sessions that could not be played.
    pub skipped: Vec<Skipped>,
    /// Where the tokens went, the largest portion first.
    pub portions: Vec<PortionReport>,
    /// What all recorded sub-tasks saved; `None` if none was recorded with its work.
    pub folding: Option<Folding>,
    /// How forks did; `None` if they were not measured.
    pub forks: Option<ForkTable>,
}
