//! `branch_return`: ends a branch and hands one message to its parent.

use infold_core::{Field, OwnTool, Refusal, ReturnOutcome};
use infold_engine::{BranchRef, FoldBranch, SessionRef};
use rmcp::model::Tool;
use serde_json::json;

use super::schema::{self, Effect, ToolDraft};
use super::teaching::{lessons_schema, teaching};
use crate::answer::{self, ToolAnswer};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;

pub(super) fn definition() -> Tool {
    let input = json!({
        "branch_id": schema::id("The branch that returns"),
        "message": schema::text("What the parent gets: findings, evidence, what is open", Field::MESSAGE.chars_max),
        "failed": schema::flag("The sub-task failed; message says why"),
        "lessons": lessons_schema(),
        "memories_used": schema::strings(),
        "extract_memory": schema::flag("False: nothing is learnt but lessons"),
        "idempotency_key": schema::idempotency_key(),
    });
    let output = json!({
        "success": { "type": "boolean" },
        "tokens_used": schema::count(),
        "message": schema::string(),
        "branch_id": schema::string(),
        "status": schema::string(),
        "tokens_saved": schema::count(),
        "secrets_scrubbed": schema::count(),
        "folded_with_it": schema::strings(),
        "lessons_kept": schema::count(),
        "notices": schema::notices(),
    });
    let draft = ToolDraft {
        name: OwnTool::BranchReturn.name(),
        title: "Return from a branch",
        description: "Ends a branch: its parent gets message, without secrets, and nothing else. Without it a branch is cut short. lessons: what may help others later.",
        effect: Effect::Ends,
    };
    draft.takes(
        schema::object(input, &["branch_id", "message"]),
        schema::object(output, &["success", "tokens_used", "message"]),
    )
}

pub(crate) async fn run(call: &ToolCall, arguments: &mut Arguments) -> Result<ToolAnswer, ToolRefused> {
    if let Some(session) = call.issued_session() {
        call.in_session(session);
    }
    let branch = branch(call, arguments)?;
    if call.session().is_none()
        && let Some(session) = call.engine.session_of_branch(&call.who, &branch).await?
    {
        call.in_session(SessionRef::Id(session));
    }
    let request = FoldBranch {
        branch: BranchRef::Id { branch, session: None },
        message: arguments.text("message")?,
        outcome: outcome(arguments)?,
        teaching: teaching(arguments)?,
        idempotency_key: call.idempotency_key(arguments)?,
    };

    let folded = call.engine.fold_branch(&call.who, request).await?;

    let mut body = answer::object(json!({
        "success": true,
        "tokens_used": folded.tokens_used,
        "message": folded.message,
        "branch_id": folded.branch_id,
        "status": folded.status,
        "tokens_saved": folded.tokens_saved,
        "secrets_scrubbed": folded.secrets_scrubbed,
    }));
    if !folded.folded_with_it.is_empty() {
        body.insert("folded_with_it".to_owned(), json!(folded.folded_with_it));
    }
    if folded.lessons_kept > 0 {
        body.insert("lessons_kept".to_owned(), json!(folded.lessons_kept));
    }
    Ok(ToolAnswer::new(body, folded.state).with_notices(&folded.notices))
}

/// The branch that returns: the one that the arguments name, else the one in which the proxy saw the call.
fn branch(call: &ToolCall, arguments: &mut Arguments) -> Result<String, Refusal> {
    match (arguments.optional_id("branch_id")?, call.issued_branch()) {
        (Some(branch), _) | (None, Some(branch)) => Ok(branch),
        (None, None) => {
            let problem = "is required: pass a string".to_owned();
            Err(Refusal::Invalid { field: "branch_id", problem })
        }
    }
}

/// The argument `failed`: whether the branch did what it was asked.
pub(super) fn outcome(arguments: &mut Arguments) -> Result<ReturnOutcome, ToolRefused> {
    Ok(match arguments.optional_flag("failed")? {
        Some(true) => ReturnOutcome::Failed,
        Some(false) | None => ReturnOutcome::Completed,
    })
}
