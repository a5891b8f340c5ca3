//! What replaying came to, for a person or another program: per session and in all.

use serde::{Deserialize, Serialize};

use crate::shares::{Portion, PromptShare};
use crate::{Compactions, Curve, Folding, ForkTable, Measures, Policy, Price};

/// What the provider counted when the session was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Requests.
    pub requests: u64,
    /// The largest.
    pub peak_tokens: u64,
    /// Prompt tokens.
    pub prompt_tokens: u64,
    /// Of these, read from the cache.
    pub cache_read_tokens: u64,
    /// Tokens of the answers.
    pub output_tokens: u64,
}

/// One policy's part in a session or in all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyOutcome {
    /// What was measured.
    pub measures: Measures,
    /// What it costs in money, where prices are known: of a session, all of them; in all, those of the
    /// sessions that have a cost.
    pub cost: Option<f64>,
}

/// One session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionReport {
    /// Its name, as the caller gave it.
    pub name: String,
    /// Whose recording it is.
    pub client: String,
    /// The model that answered first.
    pub model: String,
    /// What the provider counted.
    pub recorded: Recorded,
    /// For each policy, in their order, how it went.
    pub outcomes: Vec<PolicyOutcome>,
    /// Its sub-tasks, if there were any.
    pub folding: Option<Folding>,
    /// Sizes of its requests under each policy, if they were kept.
    pub curve: Option<Curve>,
}

impl SessionReport {
    /// Whether the price of every model in it is known.
    pub fn has_cost(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.cost.is_some())
    }
}

/// A file that was not replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// One policy over all sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyReport {
    /// The policy.
    pub policy: Policy,
    /// It in a few words.
    pub label: String,
    /// Sums over all sessions.
    pub total: PolicyOutcome,
    /// What all sessions would cost at each price of the table, in its order.
    pub cost_at: Vec<f64>,
}

/// A portion of the tokens of all sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortionReport {
    /// What they were.
    pub portion: Portion,
    /// How many.
    #[serde(flatten)]
    pub share: PromptShare,
}

/// What replaying came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What was made of the clients' own compactions and clearings.
    pub compactions: Compactions,
    /// For each policy, the first being the one to compare with.
    pub policies: Vec<PolicyReport>,
    /// The price table.
    pub prices: Vec<Price>,
    /// Sessions with a model that the table has no price for. They are in no sum of money.
    pub unpriced_sessions: u64,
    /// Each session, in the order in which they were played.
    pub sessions: Vec<SessionReport>,
    /// What was left out.
    pub skipped: Vec<Skipped>,
    /// Where the tokens went, the largest portion first.
    pub portions: Vec<PortionReport>,
    /// Folding at all recorded sub-tasks, if there were any.
    pub folding: Option<Folding>,
    /// How forks did, if that was asked.
    pub forks: Option<ForkTable>,
}
