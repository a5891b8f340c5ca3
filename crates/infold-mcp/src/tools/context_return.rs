//! `context_return`: ends a branch of the caller's session for a project.

use infold_core::{Field, OwnTool};
use infold_engine::{BranchRef, FoldBranch};
use rmcp::model::Tool;
use serde_json::json;

use super::branch_return::outcome;
use super::schema::{self, Effect, ToolDraft};
use super::teaching::{lessons_schema, teaching};
use crate::answer::{self, ToolAnswer};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;

pub(super) fn definition() -> Tool {
    let input = json!({
        "message": schema::text("Summary of branch outcome", Field::MESSAGE.chars_max),
        "project_path": schema::project_path(),
        "branch_id": schema::id("Branch to fold (defaults to current active branch)"),
        "session_id": schema::session_in_project(),
        "failed": schema::flag("The subtask failed; message says why"),
        "lessons": lessons_schema(),
        "memories_used": schema::strings(),
        "extract_memory": schema::flag("False: nothing is learnt but lessons"),
        "idempotency_key": schema::idempotency_key(),
    });
    let summary = json!({
        "tokens_folded": schema::count(),
        "tokens_saved": schema::count(),
        "operations_count": schema::count(),
        "secrets_scrubbed": schema::count(),
        "summary_redacted": { "type": "boolean" },
        "lessons_kept": schema::count(),
    });
    let output = json!({
        "folded_at": schema::time(),
        "branch_id": schema::string(),
        "parent_branch_id": schema::string_or_null(),
        "status": schema::string(),
        "message": schema::string(),
        "summary": schema::object(summary, &["tokens_folded", "tokens_saved"]),
        "context_state": schema::context_state(),
        "context_health": schema::context_health(),
        "notices": schema::notices(),
    });
    let draft = ToolDraft {
        name: OwnTool::ContextReturn.name(),
        title: "Fold a branch",
        description: "Fold branch and return to parent with summary. lessons: what may help others later.",
        effect: Effect::Ends,
    };
    draft.takes(
        schema::object(input, &["message", "project_path"]),
        schema::object(output, &["folded_at", "branch_id", "parent_branch_id", "message", "summary", "context_state"]),
    )
}

pub(crate) async fn run(call: &ToolCall, arguments: &mut Arguments) -> Result<ToolAnswer, ToolRefused> {
    let session = call.session_by_project(arguments)?;
    let branch = match arguments.optional_id("branch_id")?.or_else(|| call.issued_branch()) {
        Some(branch) => BranchRef::Id { branch, session: Some(session) },
        None => BranchRef::Active(session),
    };
    let request = FoldBranch {
        branch,
        message: arguments.text("message")?,
        outcome: outcome(arguments)?,
        teaching: teaching(arguments)?,
        idempotency_key: call.idempotency_key(arguments)?,
    };

    let folded = call.engine.fold_branch(&call.who, request).await?;

    let body = answer::object(json!({
        "folded_at": answer::time(folded.folded_at_ms),
        "branch_id": folded.branch_id,
        "parent_branch_id": answer::parent(&folded.parent),
        "status": folded.status.in_context(),
        "message": folded.message,
        "summary": {
            "tokens_folded": folded.tokens_used,
            "tokens_saved": folded.tokens_saved,
            "operations_count": folded.operations,
            "secrets_scrubbed": folded.secrets_scrubbed,
            "summary_redacted": folded.summary_redacted,
            "lessons_kept": folded.lessons_kept,
        },
        "context_state": answer::context_state(&folded.state),
        "context_health": answer::context_health(&folded.health),
    }));
    Ok(ToolAnswer::new(body, folded.state).with_notices(&folded.notices))
}
