//! What is in a session's context, in the figures that every answer carries.

use serde::{Deserialize, Serialize};

use crate::{BranchId, Limits, Session, SessionId};

/// What is in a session's context. Total is the main thread and the open branches; what has folded
/// is counted apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextState {
    /// The session.
    pub session_id: SessionId,
    /// The branch that works now; none is the main thread.
    pub active_branch_id: Option<BranchId>,
    /// How deep it lies.
    pub branch_depth: u32,
    /// Tokens of the main thread and all open branches.
    pub total_tokens: u64,
    /// Tokens of the main thread.
    pub main_thread_tokens: u64,
    /// Tokens of the branch that works now.
    pub current_branch_tokens: u64,
    /// Tokens of branches that have folded.
    pub folded_tokens: u64,
    /// Total as a share of the context limit.
    pub context_usage: f64,
    /// What is left of the session's budget, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_budget_remaining: Option<u64>,
}

/// How full the main thread is, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextWarning {
    /// At most half.
    None,
    /// Over half.
    Medium,
    /// Over seven tenths.
    High,
}

impl ContextWarning {
    /// How full something is that holds `tokens` of at most `limit_tokens`.
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
    /// In a word.
    pub warning: ContextWarning,
    /// As a share of the context limit.
    pub main_thread_usage: f64,
}

impl ContextState {
    /// The figures of a session.
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
    /// The health of a session.
    pub fn of(session: &Session, limits: &Limits) -> Self {
        let (main, limit) = (session.main_tokens, limits.context_limit_tokens);
        Self { warning: ContextWarning::of(main, limit), main_thread_usage: share(main, limit) }
    }
}

/// A share with two decimals.
fn share(part: u64, whole: u64) -> f64 {
    let hundredths = (part as f64 * 100.0 / whole.max(1) as f64).round();
    hundredths / 100.0
}
