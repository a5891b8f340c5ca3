//! `context_branch_status`: where a project's session is, and what fills its context.

use infold_engine::{CallKind, SessionView};
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::reading::{self, Counted};
use super::schema::{self, Effect, ToolDraft};
use crate::answer::{self, ToolAnswer};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;
use infold_core::OwnTool;

pub(super) fn definition() -> Tool {
    let input = json!({ "project_path": schema::project_path(), "session_id": schema::session_in_project() });
    let output = json!({
        "session_id": schema::string(),
        "active_branch_id": schema::string_or_null(),
        "branch_depth": schema::count(),
        "branch_path": schema::strings(),
        "token_breakdown": { "type": "object", "additionalProperties": schema::count() },
        "context_limit": schema::count(),
        "usage_percent": schema::count(),
        "root_budget_remaining": schema::count(),
        "context_health": schema::context_health(),
        "notices": schema::notices(),
    });
    let draft = ToolDraft {
        name: OwnTool::ContextBranchStatus.name(),
        title: "Context status",
        description: "Get current branch state and what fills the context.",
        effect: Effect::Reads,
    };
    draft.takes(
        schema::object(input, &["project_path"]),
        schema::object(output, &["session_id", "active_branch_id", "branch_depth", "branch_path", "token_breakdown"]),
    )
}

pub(crate) async fn run(call: &ToolCall, arguments: &mut Arguments) -> Result<ToolAnswer, ToolRefused> {
    let session = call.session_by_project(arguments)?;

    let view = call.engine.session(&call.who, &session).await?;
    match reading::count(call, &view.session.id, CallKind::Query, body(&view)).await? {
        Counted::Shown(answer) => Ok(answer),
        Counted::Folded { notice, observed } => {
            let view = call.engine.session(&call.who, &session).await?;
            Ok(reading::after_fold(body(&view), notice, observed))
        }
    }
}

fn body(view: &SessionView) -> JsonObject {
    let (session, state) = (&view.session, &view.state);
    let mut breakdown = JsonObject::new();
    breakdown.insert("main_thread".to_owned(), json!(session.main_tokens));
    for branch in view.branches().into_iter().filter(|branch| branch.is_open()) {
        breakdown.insert(branch.id.to_string(), json!(branch.used_tokens));
    }
    breakdown.insert("total".to_owned(), json!(state.total_tokens));
    breakdown.insert("folded_total".to_owned(), json!(state.folded_tokens));
    let path: Vec<String> = session.path(&session.active).iter().map(ToString::to_string).collect();
    let mut body = answer::object(json!({
        "session_id": state.session_id,
        "active_branch_id": state.active_branch_id,
        "branch_depth": state.branch_depth,
        "branch_path": path,
        "token_breakdown": breakdown,
        "context_limit": view.context_limit_tokens,
        "usage_percent": (state.context_usage * 100.0).round() as u64,
        "context_health": answer::context_health(&view.health),
    }));
    if let Some(left) = state.root_budget_remaining {
        body.insert("root_budget_remaining".to_owned(), json!(left));
    }
    body
}
