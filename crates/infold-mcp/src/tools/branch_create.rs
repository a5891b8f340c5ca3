//! `branch_create`: opens a branch in a session that the caller names.

use infold_core::{Field, Limits, OwnTool};
use infold_engine::OpenBranch;
use rmcp::model::Tool;
use serde_json::json;

use super::opening;
use super::schema::{self, Effect, ToolDraft};
use crate::answer::{self, ToolAnswer};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;

pub(super) fn definition(limits: &Limits) -> Tool {
    let wish =
        |what: &str, default: u64, max: u64| schema::number(&format!("{what} (default {default}, max {max})"), 1);
    let input = json!({
        "session_id": schema::new_session_id("Your name for this conversation; the same in every call"),
        "description": schema::text("What the branch will do, in a line", Field::BRANCH_DESCRIPTION.chars_max),
        "prompt": schema::text("Instructions: all the branch needs to know", Field::PROMPT.chars_max),
        "budget": wish("Token budget", limits.budget_default_tokens, limits.budget_max_tokens),
        "timeout_seconds": wish("Time limit", limits.timeout_default_s, limits.timeout_max_s),
        "isolation": schema::isolation(),
        "inject_memories": schema::flag("False: without notes of earlier work"),
        "parent_branch_id": schema::parent_branch_id(),
        "idempotency_key": schema::idempotency_key(),
    });
    let output = json!({
        "branch_id": schema::string(),
        "budget_allocated": schema::count(),
        "depth": schema::count(),
        "session_id": schema::string(),
        "parent_branch_id": schema::string_or_null(),
        "timeout_seconds": schema::count(),
        "isolation": schema::string(),
        "injected_context": schema::string(),
        "notes": schema::strings(),
        "notices": schema::notices(),
    });
    let draft = ToolDraft {
        name: OwnTool::BranchCreate.name(),
        title: "Open a branch",
        description: "Opens a branch for a noisy sub-task: searching, many files or logs, builds, tests. Not for one short call. It sees only description and prompt; only what branch_return gives back stays.",
        effect: Effect::Adds,
    };
    draft.takes(
        schema::object(input, &["session_id", "description"]),
        schema::object(output, &["branch_id", "budget_allocated", "depth"]),
    )
}

pub(crate) async fn run(call: &ToolCall, arguments: &mut Arguments) -> Result<ToolAnswer, ToolRefused> {
    let request = OpenBranch {
        session: call.session_by_id(arguments)?,
        parent: call.parent(arguments)?,
        description: arguments.text("description")?,
        description_field: Field::BRANCH_DESCRIPTION,
        prompt: arguments.optional_text("prompt")?,
        budget_tokens: arguments.optional_number("budget", 1)?,
        timeout_s: arguments.optional_number("timeout_seconds", 1)?,
        isolation: opening::isolation(arguments)?,
        memories: opening::memories(arguments)?,
        folder: call.folder(),
        start: call.start(),
        idempotency_key: call.idempotency_key(arguments)?,
    };

    let opened = call.engine.open_branch(&call.who, request).await?;

    let mut body = answer::object(json!({
        "branch_id": opened.branch_id,
        "budget_allocated": opened.budget_tokens,
        "depth": opened.depth,
        "session_id": opened.session_id,
        "parent_branch_id": answer::parent(&opened.parent),
        "timeout_seconds": opened.timeout_s,
    }));
    opening::add_to(&mut body, &opened);
    if !opened.notes.is_empty() {
        body.insert("notes".to_owned(), json!(opened.notes));
    }
    Ok(ToolAnswer::new(body, opened.state).with_notices(&opened.notices))
}
