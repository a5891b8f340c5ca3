//! `branch_create`: opens a branch in a session that the caller names.

use infold_core::{Field, Limits};
use infold_engine::{OpenBranch, SessionRef};
use rmcp::model::Tool;
use serde_json::json;

use super::schema::{self, Draft, Effect};
use crate::answer::{self, Answer};
use crate::arguments::Arguments;
use crate::call::Call;
use crate::refused::Refused;

pub(super) fn definition(limits: &Limits) -> Tool {
    let wish =
        |what: &str, default: u64, max: u64| schema::number(&format!("{what} (default {default}, max {max})"), 1);
    let input = json!({
        "session_id": schema::new_session_id("Your name for this conversation; the same in every call"),
        "description": schema::text("What the branch will do, in a line", Field::BRANCH_DESCRIPTION.chars_max),
        "prompt": schema::text("Instructions: all the branch needs to know", Field::PROMPT.chars_max),
        "budget": wish("Token budget", limits.budget_default_tokens, limits.budget_max_tokens),
        "timeout_seconds": wish("Time limit", limits.timeout_default_s, limits.timeout_max_s),
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
        "notes": schema::strings(),
        "notices": schema::notices(),
    });
    let draft = Draft {
        name: "branch_create",
        title: "Open a branch",
        description: "Opens an isolated branch for a sub-task; only what it returns reaches its parent. End it with branch_return.",
        effect: Effect::Adds,
    };
    draft.takes(
        schema::object(input, &["session_id", "description"]),
        schema::object(output, &["branch_id", "budget_allocated", "depth"]),
    )
}

pub(super) async fn run(call: &Call, arguments: &mut Arguments) -> Result<Answer, Refused> {
    let session = call.in_session(SessionRef::by_id(&arguments.text("session_id")?)?);
    let request = OpenBranch {
        session,
        parent: arguments.optional_id("parent_branch_id")?,
        description: arguments.text("description")?,
        description_field: Field::BRANCH_DESCRIPTION,
        prompt: arguments.optional_text("prompt")?,
        budget_tokens: arguments.optional_number("budget", 1)?,
        timeout_s: arguments.optional_number("timeout_seconds", 1)?,
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
    if !opened.notes.is_empty() {
        body.insert("notes".to_owned(), json!(opened.notes));
    }
    Ok(Answer::new(body, opened.state).with_notices(&opened.notices))
}
