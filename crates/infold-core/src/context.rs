//! How full a session's context is, in the figures that every answer of infold's tools carries.
//!
//! The names of the fields are part of those answers.

use serde::{Deserialize, Serialize};

use crate::{BranchId, Limits, Session, SessionId};

/// How many tokens are in a session's context. The total is the main thread and the open branches; branches that have
/// folded are counted apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextState {
    /// The session that the figures are of.
    pub session_id: SessionId,
    /// The branch that works now; `None` if the main thread does.
    pub active_branch_id: Option<BranchId>,
    /// How deep that branch is nested; 0 for the main thread.
    pub branch_depth: u32,
    /// Tokens of the main thread and all open branches.
    pub total_tokens: u64,
    /// Tokens of the main thread alone, with the messages that its branches returned.
    pub main_thread_tokens: u64,
    /// Tokens of the branch that works now.
    pub current_branch_tokens: u64,
    /// Tokens of branches that have folded.
    pub folded_tokens: u64,
    /// The total divided by the context limit, rounded to two decimals; above 1 if it is over the limit.
    pub context_usage: f64,
    /// What is left of the session's budget, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_budget_remaining: Option<u64>,
}

/// How full something is, in three steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextWarning {
    /// At most half of the limit.
    None,
    /// More than half of the limit.
    Medium,
    /// More than seven tenths of the limit.
    High,
}

impl ContextWarning {
    /// The step for something that holds `tokens` of at most `limit_tokens`.
    pub fn of(tokens: u64, limit_tokens: u64) -> Self {
        match () {
            () if tokens * 10 > limit_tokens * 7 => Self::High,
            () if tokens * 2 > limit_tokens => Self::Medium,
            () => Self::None,
        }
    }
}

/// How full the main thread is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextHealth {
    /// The step that the main thread has reached.
    pub warning: ContextWarning,
    /// The main thread's tokens divided by the context limit, rounded to two decimals.
    pub main_thread_usage: f64,
}

impl ContextState {
    /// Works the figures out from a session and the limits that it is held to.
    pub fn of(session: &Session, limits: &Limits) -> Self {
        let active = session.active_branch();
        Self {
            session_id: session.id.clone(),
            active_branch_id: active.map(|branch| branch.id.clone()),
            branch_depth: active.map_or(0, |branch| branch.depth),
            total_tokens: session.total_tokens(),
            main_thread_tokens: session.main_tokens,
            current_branch_tokens: active.map_or(0, |branch| branch.used_tokens),
            folded_tokens: session.folded_tokens,
            context_usage: share(session.total_tokens(), limits.context_limit_tokens),
            root_budget_remaining: limits
                .session_budget_tokens
                .map(|budget| session.budget_left_tokens(budget, limits.allocation)),
        }
    }
}

impl ContextHealth {
    /// Measures a session's main thread against the context limit.
    pub fn of(session: &Session, limits: &Limits) -> Self {
        let (main, limit) = (session.main_tokens, limits.context_limit_tokens);
        Self { warning: ContextWarning::of(main, limit), main_thread_usage: share(main, limit) }
    }
}

/// The part as a share of the whole, rounded to two decimals.
fn share(part: u64, whole: u64) -> f64 {
    let hundredths = (part as f64 * 100.0 / whole.max(1) as f64).round();
    hundredths / 100.0
}
