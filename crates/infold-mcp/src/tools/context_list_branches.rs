//! `context_list_branches`: the branches of a project's session, in the order they were opened.

use infold_core::{Branch, OwnTool};
use infold_engine::{CallKind, SessionView};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::reading::{self, Counted};
use super::schema::{self, Effect, ToolDraft};
use crate::answer::{self, ToolAnswer};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;

/// Branches in one answer, if the caller does not say how many.
const LIMIT_DEFAULT: u64 = 100;
/// Most branches in one answer.
const LIMIT_MAX: u64 = 1_000;

pub(super) fn definition() -> Tool {
    let input = json!({
        "project_path": schema::project_path(),
        "session_id": schema::session_in_project(),
        "offset": schema::number("Branches to skip", 0),
        "limit": schema::number("Most branches to list (default 100, max 1000)", 1),
    });
    let branch = json!({
        "id": schema::string(),
        "description": schema::string(),
        "status": schema::string(),
        "tokens": schema::count(),
        "created_at": schema::time(),
        "folded_at": schema::time(),
        "parent_branch_id": schema::string_or_null(),
    });
    let branch = schema::object(branch, &["id", "description", "status", "tokens", "created_at"]);
    let output = json!({
        "branches": { "type": "array", "items": branch },
        "total_branches": schema::count(),
        "active_branches": schema::count(),
        "folded_branches": schema::count(),
        "discarded_branches": schema::count(),
        "next_offset": schema::count(),
        "notices": schema::notices(),
    });
    let draft = ToolDraft {
        name: OwnTool::ContextListBranches.name(),
        title: "List branches",
        description: "List all branches for session.",
        effect: Effect::Reads,
    };
    draft.takes(
        schema::object(input, &["project_path"]),
        schema::object(output, &["branches", "total_branches", "active_branches", "folded_branches"]),
    )
}

pub(crate) async fn run(call: &ToolCall, arguments: &mut Arguments) -> Result<ToolAnswer, ToolRefused> {
    let session = call.session_by_project(arguments)?;
    let offset = arguments.optional_number("offset", 0)?.unwrap_or(0);
    let limit = arguments.optional_number("limit", 1)?.unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX);

    let view = call.engine.session_with_branches(&call.who, &session).await?;
    match reading::count(call, &view.session.id, CallKind::Query, body(&view, offset, limit)).await? {
        Counted::Shown(answer) => Ok(answer),
        Counted::Folded { notice, observed } => {
            let view = call.engine.session_with_branches(&call.who, &session).await?;
            Ok(reading::after_fold(body(&view, offset, limit), notice, observed))
        }
    }
}

fn body(view: &SessionView, offset: u64, limit: u64) -> JsonObject {
    let all = view.branches();
    let counted = |wanted: fn(&Branch) -> bool| all.iter().filter(|branch| wanted(branch)).count();
    let skip = usize::try_from(offset).unwrap_or(usize::MAX).min(all.len());
    let take = usize::try_from(limit).unwrap_or(usize::MAX).min(all.len() - skip);
    let shown: Vec<Value> = all[skip..skip + take].iter().map(|branch| line(branch)).collect();
    let mut body = answer::object(json!({
        "branches": shown,
        "total_branches": all.len(),
        "active_branches": counted(|branch| branch.is_open()),
        "folded_branches": counted(|branch| !branch.is_open() && !branch.discarded),
    }));
    let discarded = counted(|branch| branch.discarded);
    if discarded > 0 {
        body.insert("discarded_branches".to_owned(), json!(discarded));
    }
    if skip + take < all.len() {
        body.insert("next_offset".to_owned(), json!(skip + take));
    }
    body
}

fn line(branch: &Branch) -> Value {
    let mut line = json!({
        "id": branch.id,
        "description": branch.description.as_str(),
        "status": if branch.discarded { "discarded" } else { branch.status.in_context() },
        "tokens": branch.used_tokens,
        "created_at": answer::time(branch.opened_at_ms),
        "parent_branch_id": answer::parent(&branch.parent),
    });
    if let Some(end) = &branch.end {
        line["folded_at"] = json!(answer::time(end.at_ms));
    }
    line
}
