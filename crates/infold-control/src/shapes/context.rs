//! What is in a session's context, and what its parents have to be told.

use schemars::JsonSchema;
use serde::Serialize;

use super::branch::Status;
use super::branch_of;

/// What is in a session's context. Total is the main thread and the open branches; what has folded is
/// counted apart.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContextState {
    /// The session.
    session_id: String,
    /// The branch that works now; null is the main thread.
    active_branch_id: Option<String>,
    /// How deep it lies; the main thread is 0.
    branch_depth: u32,
    /// Tokens of the main thread and all open branches.
    total_tokens: u64,
    /// Tokens of the main thread.
    main_thread_tokens: u64,
    /// Tokens of the branch that works now.
    current_branch_tokens: u64,
    /// Tokens of branches that have folded.
    folded_tokens: u64,
    /// Total as a share of the context limit.
    context_usage: f64,
    /// What is left of the session's budget; null if it has none.
    root_budget_remaining: Option<u64>,
}

impl From<&infold_core::ContextState> for ContextState {
    fn from(state: &infold_core::ContextState) -> Self {
        Self {
            session_id: state.session_id.to_string(),
            active_branch_id: state.active_branch_id.as_ref().map(ToString::to_string),
            branch_depth: state.branch_depth,
            total_tokens: state.total_tokens,
            main_thread_tokens: state.main_thread_tokens,
            current_branch_tokens: state.current_branch_tokens,
            folded_tokens: state.folded_tokens,
            context_usage: state.context_usage,
            root_budget_remaining: state.root_budget_remaining,
        }
    }
}

/// How full the main thread is, in a word.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Warning")]
enum WarningShape {
    /// At most half.
    None,
    /// Over half.
    Medium,
    /// Over seven tenths.
    High,
}

/// How full the main thread is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContextHealth {
    /// In a word.
    warning: WarningShape,
    /// As a share of the context limit.
    main_thread_usage: f64,
}

impl From<&infold_core::ContextHealth> for ContextHealth {
    fn from(health: &infold_core::ContextHealth) -> Self {
        let warning = match health.warning {
            infold_core::ContextWarning::None => WarningShape::None,
            infold_core::ContextWarning::Medium => WarningShape::Medium,
            infold_core::ContextWarning::High => WarningShape::High,
        };
        Self { warning, main_thread_usage: health.main_thread_usage }
    }
}

/// A branch that was cut short since the last answer, told to its parent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Notice {
    /// The branch.
    branch_id: String,
    /// The branch that gets the result; null is the main thread.
    parent_branch_id: Option<String>,
    /// How it ended.
    status: Status,
    /// Why.
    reason: &'static str,
    /// What it had found so far.
    result: String,
}

impl From<&infold_engine::Notice> for Notice {
    fn from(notice: &infold_engine::Notice) -> Self {
        Self {
            branch_id: notice.branch_id.to_string(),
            parent_branch_id: branch_of(&notice.parent),
            status: notice.status.into(),
            reason: notice.reason.as_str(),
            result: notice.result.clone(),
        }
    }
}

/// All of them.
pub(crate) fn notices(notices: &[infold_engine::Notice]) -> Vec<Notice> {
    notices.iter().map(Notice::from).collect()
}
