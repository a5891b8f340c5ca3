//! The bounds that decisions are held to. Every number comes from settings; none has a default here.

use serde::{Deserialize, Serialize};

/// What a branch's budget is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allocation {
    /// Each branch has a budget of its own, which costs its parent nothing.
    Independent,
    /// A branch's parent lends it its budget, and gets back what is unused.
    Pool,
}

/// Whether a full context refuses new work or is only reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextBound {
    /// It is only reported, in the context's health.
    Soft,
    /// New branches are refused until something has folded.
    Hard,
}

/// The bounds of one instance. An instance is a database, not a process.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Budget of a branch whose caller names none.
    pub budget_default_tokens: u64,
    /// Largest budget; a caller who asks for more gets this.
    pub budget_max_tokens: u64,
    /// Time of a branch whose caller names none.
    pub timeout_default_s: u64,
    /// Longest time; a caller who asks for more gets this.
    pub timeout_max_s: u64,
    /// How deep branches may be nested; one under the main thread is at 1.
    pub depth_max: u32,
    /// How many branches of one session may be open at a time.
    pub open_per_session_max: u64,
    /// How many branches may be open at a time in the whole database.
    pub open_per_instance_max: u64,
    /// How many branches of one principal may be open, in percent of those that all others could still open. `None` is
    /// no bound, where there is only one principal.
    pub fair_share_percent: Option<u64>,
    /// How many branches one session may open in any 60 seconds.
    pub openings_per_minute_max: u64,
    /// What a branch's budget is taken from.
    pub allocation: Allocation,
    /// Tokens that a whole session may use; `None` is no bound.
    pub session_budget_tokens: Option<u64>,
    /// The window that usage is measured against.
    pub context_limit_tokens: u64,
    /// What happens when the window is full.
    pub context_bound: ContextBound,
    /// How long ending a session may take.
    pub session_end_ms: u64,
}
