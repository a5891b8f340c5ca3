//! A tool's answer, and how it is written: as structured content, as the same JSON in text, and with the
//! context's figures in `_meta` and, over HTTP, in a header.

use http::HeaderValue;
use infold_core::{BranchId, ContextHealth, ContextState, SessionId, Thread};
use infold_engine::Notice;
use rmcp::model::{CallToolResult, JsonObject, MetaObject};
use serde::Serialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The key in a result's `_meta` under which the context's figures are.
const CONTEXT_STATE: &str = "infold/contextState";

/// A tool's answer: a JSON object, and the context of its session if there is one.
#[derive(Debug)]
pub(crate) struct ToolAnswer {
    body: JsonObject,
    pub(crate) state: Option<ContextState>,
}

impl ToolAnswer {
    /// An answer in a session whose context is `state`.
    pub(crate) fn new(body: JsonObject, state: ContextState) -> Self {
        Self { body, state: Some(state) }
    }

    /// An answer that belongs to no session, so that there are no figures to add.
    pub(crate) fn without_state(body: JsonObject) -> Self {
        Self { body, state: None }
    }

    /// Adds the branches that were folded by force since the last answer, if there are any. This is the only
    /// way in which their parents learn of it.
    pub(crate) fn with_notices(mut self, notices: &[Notice]) -> Self {
        if !notices.is_empty() {
            self.body.insert("notices".to_owned(), notices.iter().map(notice).collect());
        }
        self
    }

    /// The answer as JSON text.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(&self.body).unwrap_or_default()
    }

    /// The answer as the protocol's result, with the figures in `_meta`.
    pub(crate) fn into_result(self) -> CallToolResult {
        CallToolResult::structured(Value::Object(self.body)).with_meta(self.state.as_ref().map(meta))
    }
}

/// The fields of a JSON object. Callers leave out a field that is not known or does not apply, except where a
/// document shows it as `null`.
pub(crate) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        other => JsonObject::from_iter([("value".to_owned(), other)]),
    }
}

/// The notice that a parent gets of a branch that was folded by force.
pub(crate) fn notice(notice: &Notice) -> Value {
    json!({
        "branch_id": notice.branch_id,
        "parent_branch_id": parent(&notice.parent),
        "status": notice.status,
        "reason": notice.reason.as_str(),
        "result": notice.result,
    })
}

/// The id of a parent; `null` for the main thread.
pub(crate) fn parent(parent: &Thread) -> Value {
    json!(parent.branch())
}

/// The `context_state` in answers of `context_*` tools.
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

/// The `context_health` in answers of `context_*` tools.
pub(crate) fn context_health(health: &ContextHealth) -> Value {
    json!({ "warning": health.warning, "main_thread_usage": health.main_thread_usage })
}

/// The context's figures that every response carries in addition to its answer.
#[derive(Debug, Serialize)]
pub(crate) struct ContextFigures<'a> {
    session_id: &'a SessionId,
    active_branch_id: Option<&'a BranchId>,
    branch_depth: u32,
    total_tokens: u64,
    folded_tokens: u64,
    context_usage: f64,
}

impl<'a> ContextFigures<'a> {
    pub(crate) fn of(state: &'a ContextState) -> Self {
        let (session_id, active_branch_id) = (&state.session_id, state.active_branch_id.as_ref());
        let ContextState { branch_depth, total_tokens, folded_tokens, context_usage, .. } = *state;
        Self { session_id, active_branch_id, branch_depth, total_tokens, folded_tokens, context_usage }
    }
}

/// The context's figures as a result's `_meta`.
pub(crate) fn meta(state: &ContextState) -> MetaObject {
    MetaObject(JsonObject::from_iter([(CONTEXT_STATE.to_owned(), json!(ContextFigures::of(state)))]))
}

/// The context's figures as the value of a header. Ids are plain ASCII, so this always succeeds.
pub(crate) fn header(state: &ContextState) -> Option<HeaderValue> {
    HeaderValue::from_str(&serde_json::to_string(&ContextFigures::of(state)).ok()?).ok()
}

/// A time in RFC 3339, in UTC.
pub(crate) fn time(at_ms: u64) -> String {
    let nanos = i128::from(at_ms) * 1_000_000;
    let formatted = OffsetDateTime::from_unix_timestamp_nanos(nanos).ok().and_then(|at| at.format(&Rfc3339).ok());
    formatted.unwrap_or_else(|| format!("{at_ms} ms since 1970"))
}

#[cfg(test)]
mod tests;
