//! `branch_status`: the status and budget usage of a branch.

use infold_core::{OwnTool, Refusal};
use infold_engine::{BranchRef, BranchView, CallKind, SessionRef};
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::reading::{self, Counted};
use super::schema::{self, Effect, ToolDraft};
use crate::answer::{self, ToolAnswer};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;

pub(super) fn definition() -> Tool {
    let input = json!({
        "branch_id": schema::id("The branch"),
        "session_id": schema::id("Or the session whose active branch is meant; one of the two is required"),
    });
    let output = json!({
        "branch_id": schema::string_or_null(),
        "session_id": schema::string(),
        "status": schema::string(),
        "depth": schema::count(),
        "budget_used": schema::count(),
        "budget_total": schema::count(),
        "description": schema::string(),
        "created_at": schema::time(),
        "completed_at": schema::time(),
        "parent_branch_id": schema::string_or_null(),
        "reason": schema::string(),
        "result": schema::string(),
        "notices": schema::notices(),
    });
    let draft = ToolDraft {
        name: OwnTool::BranchStatus.name(),
        title: "Branch status",
        description: "Status and budget usage of a branch, or of a session's active branch.",
        effect: Effect::Reads,
    };
    draft.takes(schema::object(input, &[]), schema::object(output, &["branch_id", "status"]))
}

pub(crate) async fn run(call: &ToolCall, arguments: &mut Arguments) -> Result<ToolAnswer, ToolRefused> {
    let branch = branch(call, arguments)?;

    let Some(view) = call.engine.branch(&call.who, &branch, call.thread.as_deref()).await? else {
        return none(call, &branch).await;
    };
    let id = view.session_id.clone();
    match reading::count(call, &id, CallKind::Query, body(&view)).await? {
        Counted::Shown(answer) => Ok(answer),
        Counted::Folded { notice, observed } => {
            let view = call.engine.branch(&call.who, &branch, call.thread.as_deref()).await?;
            let body = view.as_ref().map_or_else(no_branch, body);
            Ok(reading::after_fold(body, notice, observed))
        }
    }
}

fn branch(call: &ToolCall, arguments: &mut Arguments) -> Result<BranchRef, ToolRefused> {
    let branch = arguments.optional_id("branch_id")?;
    let named = arguments.optional_text("session_id")?.map(|session| SessionRef::by_id(&session)).transpose()?;
    let session = call.issued_session().or(named).map(|session| call.in_session(session));
    match (branch.or_else(|| call.issued_branch()), session) {
        (Some(branch), session) => Ok(BranchRef::Id { branch, session }),
        (None, Some(session)) => Ok(BranchRef::Active(session)),
        (None, None) => {
            let problem = "or session_id is required: pass one of them".to_owned();
            Err(Refusal::Invalid { field: "branch_id", problem }.into())
        }
    }
}

fn body(view: &BranchView) -> JsonObject {
    let branch = &view.branch;
    let mut body = answer::object(json!({
        "branch_id": branch.id,
        "session_id": view.session_id,
        "status": branch.status,
        "depth": branch.depth,
        "budget_used": branch.budget_used_tokens(),
        "budget_total": branch.budget_tokens,
        "description": branch.description.as_str(),
        "created_at": answer::time(branch.opened_at_ms),
        "parent_branch_id": answer::parent(&branch.parent),
    }));
    if let Some(end) = &branch.end {
        body.insert("completed_at".to_owned(), json!(answer::time(end.at_ms)));
        body.insert("reason".to_owned(), json!(end.reason.as_str()));
    }
    if let Some(result) = &view.result {
        body.insert("result".to_owned(), json!(result));
    }
    body
}

fn no_branch() -> JsonObject {
    answer::object(json!({ "branch_id": null, "status": "No active branch found" }))
}

/// The answer if there is no branch to show. A session that was asked for still has figures, and perhaps notices.
async fn none(call: &ToolCall, branch: &BranchRef) -> Result<ToolAnswer, ToolRefused> {
    let BranchRef::Active(session) = branch else {
        return Ok(ToolAnswer::without_state(no_branch()));
    };
    match call.engine.session(&call.who, session).await {
        Ok(view) => match reading::count(call, &view.session.id, CallKind::Query, no_branch()).await? {
            Counted::Shown(answer) => Ok(answer),
            Counted::Folded { notice, observed } => Ok(reading::after_fold(no_branch(), notice, observed)),
        },
        Err(_absent) => Ok(ToolAnswer::without_state(no_branch())),
    }
}
