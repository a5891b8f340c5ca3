//! `context_branch`: opens a branch in the caller's session for a project.

use infold_core::{Field, OwnTool};
use infold_engine::OpenBranch;
use rmcp::model::Tool;
use serde_json::json;

use super::opening;
use super::schema::{self, Effect, ToolDraft};
use crate::answer::{self, ToolAnswer};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;

pub(super) fn definition() -> Tool {
    let input = json!({
        "description": schema::text("Brief summary of subtask", Field::CONTEXT_DESCRIPTION.chars_max),
        "prompt": schema::text("Detailed instruction for branch execution", Field::PROMPT.chars_max),
        "project_path": schema::project_path(),
        "session_id": schema::session_in_project(),
        "isolation": schema::isolation(),
        "inject_memories": schema::flag("False: without notes of earlier work"),
        "parent_branch_id": schema::parent_branch_id(),
        "idempotency_key": schema::idempotency_key(),
    });
    let output = json!({
        "branch_id": schema::string(),
        "session_id": schema::string(),
        "parent_branch_id": schema::string_or_null(),
        "created_at": schema::time(),
        "branch_depth": schema::count(),
        "budget_allocated": schema::count(),
        "timeout_seconds": schema::count(),
        "isolation": schema::string(),
        "injected_context": schema::string(),
        "context_state": schema::context_state(),
        "context_health": schema::context_health(),
        "notices": schema::notices(),
    });
    let draft = ToolDraft {
        name: OwnTool::ContextBranch.name(),
        title: "Branch for a subtask",
        description: "Create sub-trajectory for focused subtask. End it with context_return.",
        effect: Effect::Adds,
    };
    draft.takes(
        schema::object(input, &["description", "prompt", "project_path"]),
        schema::object(output, &["branch_id", "session_id", "parent_branch_id", "branch_depth", "context_state"]),
    )
}

pub(crate) async fn run(call: &ToolCall, arguments: &mut Arguments) -> Result<ToolAnswer, ToolRefused> {
    let request = OpenBranch {
        session: call.session_by_project(arguments)?,
        parent: call.parent(arguments)?,
        description: arguments.text("description")?,
        description_field: Field::CONTEXT_DESCRIPTION,
        prompt: Some(arguments.text("prompt")?),
        budget_tokens: None,
        timeout_s: None,
        isolation: opening::isolation(arguments)?,
        memories: opening::memories(arguments)?,
        folder: call.folder(),
        start: call.start(),
        idempotency_key: call.idempotency_key(arguments)?,
    };

    let opened = call.engine.open_branch(&call.who, request).await?;

    let mut body = answer::object(json!({
        "branch_id": opened.branch_id,
        "session_id": opened.session_id,
        "parent_branch_id": answer::parent(&opened.parent),
        "created_at": answer::time(opened.opened_at_ms),
        "branch_depth": opened.depth,
        "budget_allocated": opened.budget_tokens,
        "timeout_seconds": opened.timeout_s,
        "context_state": answer::context_state(&opened.state),
        "context_health": answer::context_health(&opened.health),
    }));
    opening::add_to(&mut body, &opened);
    Ok(ToolAnswer::new(body, opened.state).with_notices(&opened.notices))
}
