//! JSON of a session's context: its size, how full it is, and notices of branches that were folded by force.

use schemars::JsonSchema;
use serde::Serialize;

use super::branch::Status;
use super::branch_of;

/// What is in a session's context. Total is the main thread and the open branches; what has folded is
/// counted apart.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContextState {
    /// The id of the session that the figures are of.
    session_id: String,
    /// The active branch; null is the main thread.
    active_branch_id: Option<String>,
    /// How deeply the active thread is nested; the main thread has depth 0.
    branch_depth: u32,
    /// Tokens of the main thread and all open branches.
    total_tokens: u64,
    /// Tokens of the main thread alone.
    main_thread_tokens: u64,
    /// Tokens of the active branch; 0 if the main thread is active.
    current_branch_tokens: u64,
    /// Tokens of branches that have folded.
    folded_tokens: u64,
    /// Total tokens as a share of the context limit; 1.0 is full.
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
    /// At most half full.
    None,
    /// More than half full.
    Medium,
    /// More than 70 % full.
    High,
}

/// How full the main thread is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContextHealth {
    /// How full it is, in a word.
    warning: WarningShape,
    /// The main thread's tokens as a share of the context limit; 1.0 is full.
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

/// A notice for a parent: one of its branches was folded by force since the last answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Notice {
    /// The id of the branch that was folded.
    branch_id: String,
    /// The branch that gets the result; null is the main thread.
    parent_branch_id: Option<String>,
    /// The state in which it ended.
    status: Status,
    /// Why it was folded, in words.
    reason: &'static str,
    /// What it had found so far, in place of the message that it did not return.
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

/// Each of the engine's notices as JSON.
pub(crate) fn notices(notices: &[infold_engine::Notice]) -> Vec<Notice> {
    notices.iter().map(Notice::from).collect()
}
