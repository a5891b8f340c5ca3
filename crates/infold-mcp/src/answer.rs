//! What a tool answers, and how it is rendered: structured content, the same JSON as text, and the
//! context's figures in `_meta` and, over HTTP, in a header.

use http::HeaderValue;
use infold_core::{ContextHealth, ContextState, Thread};
use infold_engine::Notice;
use rmcp::model::{CallToolResult, JsonObject, MetaObject};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Where a result's `_meta` carries the context's figures.
const CONTEXT_STATE: &str = "infold/contextState";

/// A tool's answer.
#[derive(Debug)]
pub(crate) struct ToolAnswer {
    body: JsonObject,
    pub(crate) state: Option<ContextState>,
}

impl ToolAnswer {
    /// An answer in the context that `state` describes.
    pub(crate) fn new(body: JsonObject, state: ContextState) -> Self {
        Self { body, state: Some(state) }
    }

    /// An answer about nothing that exists.
    pub(crate) fn without_state(body: JsonObject) -> Self {
        Self { body, state: None }
    }

    /// Adds the branches that were cut short since the last answer, if there are any: their parents
    /// learn of it here, because nobody else could tell them.
    pub(crate) fn with_notices(mut self, notices: &[Notice]) -> Self {
        if !notices.is_empty() {
            self.body.insert("notices".to_owned(), notices.iter().map(notice).collect());
        }
        self
    }

    /// What it says, as JSON.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(&self.body).unwrap_or_default()
    }

    /// The result that is sent.
    pub(crate) fn into_result(self) -> CallToolResult {
        CallToolResult::structured(Value::Object(self.body)).with_meta(self.state.as_ref().map(meta))
    }
}

/// An object of the fields that are there: `null` says that something is not known or does not apply,
/// which is told by leaving it out, except where a document shows it as `null`.
pub(crate) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        other => JsonObject::from_iter([("value".to_owned(), other)]),
    }
}

/// A branch that was cut short, as its parent is told.
pub(crate) fn notice(notice: &Notice) -> Value {
    json!({
        "branch_id": notice.branch_id,
        "parent_branch_id": parent(&notice.parent),
        "status": notice.status,
        "reason": notice.reason.as_str(),
        "result": notice.result,
    })
}

/// A parent's id; `null` is the main thread.
pub(crate) fn parent(parent: &Thread) -> Value {
    json!(parent.branch())
}

/// The `context_state` that `context_*` answers carry.
pub(crate) fn context_state(state: &ContextState) -> Value {
    let mut value = json!({
        "active_branch_id": state.active_branch_id,
        "branch_depth": state.branch_depth,
        "total_tokens": state.total_tokens,
        "main_thread_tokens": state.main_thread_tokens,
        "current_branch_tokens": state.current_branch_tokens,
    });
    if let Some(left) = state.root_budget_remaining {
        value["root_budget_remaining"] = json!(left);
    }
    value
}

/// The `context_health` that `context_*` answers carry.
pub(crate) fn context_health(health: &ContextHealth) -> Value {
    json!({ "warning": health.warning, "main_thread_usage": health.main_thread_usage })
}

/// The figures that every response carries beside its answer.
fn figures(state: &ContextState) -> Value {
    json!({
        "session_id": state.session_id,
        "active_branch_id": state.active_branch_id,
        "branch_depth": state.branch_depth,
        "total_tokens": state.total_tokens,
        "folded_tokens": state.folded_tokens,
        "context_usage": state.context_usage,
    })
}

/// The figures in `_meta`.
pub(crate) fn meta(state: &ContextState) -> MetaObject {
    MetaObject(JsonObject::from_iter([(CONTEXT_STATE.to_owned(), figures(state))]))
}

/// The figures as a header. Ids are plain ASCII, so this always works.
pub(crate) fn header(state: &ContextState) -> Option<HeaderValue> {
    HeaderValue::from_str(&figures(state).to_string()).ok()
}

/// A time as text.
pub(crate) fn time(at_ms: u64) -> String {
    let nanos = i128::from(at_ms) * 1_000_000;
    let formatted = OffsetDateTime::from_unix_timestamp_nanos(nanos).ok().and_then(|at| at.format(&Rfc3339).ok());
    formatted.unwrap_or_else(|| format!("{at_ms} ms since 1970"))
}

#[cfg(test)]
mod tests;
