//! `context_rollback`: opens a branch again as it was, and discards what was opened since.

use infold_engine::{Restore, RollBack};
use rmcp::model::Tool;
use serde_json::json;

use super::schema::{self, Effect, ToolDraft};
use crate::answer::{self, ToolAnswer};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;
use infold_core::OwnTool;

pub(super) fn definition() -> Tool {
    let input = json!({
        "project_path": schema::project_path(),
        "branch_id": schema::id("Branch to go back to"),
        "restore_state": { "type": "boolean", "description": "false only reports what would happen (default true)" },
        "session_id": schema::session_in_project(),
        "idempotency_key": schema::idempotency_key(),
    });
    let output = json!({
        "rolled_back_to": schema::string(),
        "branches_discarded": schema::strings(),
        "tokens_recovered": schema::count(),
        "context_state": schema::context_state(),
        "session_id": schema::string(),
        "generation": schema::count(),
        "restored": { "type": "boolean" },
        "notices": schema::notices(),
    });
    let draft = ToolDraft {
        name: OwnTool::ContextRollback.name(),
        title: "Roll back to a branch",
        description: "Rollback to specific branch point: the branch is active again, later branches are discarded.",
        effect: Effect::Ends,
    };
    draft.takes(
        schema::object(input, &["project_path", "branch_id"]),
        schema::object(output, &["rolled_back_to", "branches_discarded", "tokens_recovered", "context_state"]),
    )
}

pub(crate) async fn run(call: &ToolCall, arguments: &mut Arguments) -> Result<ToolAnswer, ToolRefused> {
    let restore = match arguments.optional_flag("restore_state")? {
        Some(false) => Restore::No,
        Some(true) | None => Restore::Yes,
    };
    let request = RollBack {
        session: call.session_by_project(arguments)?,
        to: arguments.id("branch_id")?,
        restore,
        idempotency_key: call.idempotency_key(arguments)?,
    };

    let rolled = call.engine.roll_back(&call.who, request).await?;

    let body = answer::object(json!({
        "rolled_back_to": rolled.to,
        "branches_discarded": rolled.discarded,
        "tokens_recovered": rolled.tokens_recovered,
        "context_state": answer::context_state(&rolled.state),
        "session_id": rolled.session_id,
        "generation": rolled.generation,
        "restored": restore == Restore::Yes,
    }));
    Ok(ToolAnswer::new(body, rolled.state).with_notices(&rolled.notices))
}
