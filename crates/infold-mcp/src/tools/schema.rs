//! JSON schemas of tools' arguments and answers, built from a few common parts. Descriptions are short, because a
//! client may send every schema along with every request. The top level of a tool's arguments has no `anyOf` or
//! the like, because one of the large model APIs refuses a request that has them there.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// What calling a tool does to a session.
#[derive(Debug, Clone, Copy)]
pub(super) enum Effect {
    /// It only reads.
    Reads,
    /// It adds something; two calls add two things.
    Adds,
    /// It ends or discards something.
    Ends,
}

/// A tool before its schemas are added.
pub(super) struct ToolDraft {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) effect: Effect,
}

impl ToolDraft {
    /// The tool, with the schemas of its arguments and its answer. Other arguments are not allowed.
    pub(super) fn takes(self, mut input: Value, output: Value) -> Tool {
        input["additionalProperties"] = json!(false);
        let annotations = ToolAnnotations::with_title(self.title).open_world(false);
        let annotations = match self.effect {
            Effect::Reads => annotations.read_only(true).idempotent(true),
            Effect::Adds => annotations.read_only(false).destructive(false).idempotent(false),
            Effect::Ends => annotations.read_only(false).destructive(true).idempotent(false),
        };
        Tool::new(self.name, self.description, Arc::new(map(input)))
            .with_title(self.title)
            .with_raw_output_schema(Arc::new(map(output)))
            .with_annotations(annotations)
    }
}

/// The tool with some arguments left out of its schema and some made optional. A call may still pass the ones that
/// are left out.
pub(super) fn without(mut tool: Tool, left_out: &[&str], optional: &[&str]) -> Tool {
    let mut input = JsonObject::clone(&tool.input_schema);
    if let Some(Value::Object(properties)) = input.get_mut("properties") {
        properties.retain(|name, _| !left_out.contains(&name.as_str()));
    }
    if let Some(Value::Array(required)) = input.get_mut("required") {
        let is_free =
            |name: &Value| name.as_str().is_some_and(|name| left_out.contains(&name) || optional.contains(&name));
        required.retain(|name| !is_free(name));
    }
    tool.input_schema = Arc::new(input);
    tool
}

fn map(schema: Value) -> JsonObject {
    crate::answer::object(schema)
}

/// An object with these properties, of which some are required.
pub(super) fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

/// A text of at most `chars_max` characters. The schema does not say that it must not be empty, to save words.
pub(super) fn text(description: &str, chars_max: usize) -> Value {
    json!({ "type": "string", "description": description, "maxLength": chars_max })
}

/// A whole number of at least `least`.
pub(super) fn number(description: &str, least: u64) -> Value {
    json!({ "type": "integer", "description": description, "minimum": least })
}

/// A session id that the caller may make up.
pub(super) fn new_session_id(description: &str) -> Value {
    json!({ "type": "string", "description": description, "pattern": "^[A-Za-z0-9._:-]{1,128}$" })
}

/// The session id that a caller needs only if it runs several sessions in one project.
pub(super) fn session_in_project() -> Value {
    id("Only if you run several sessions in this project")
}

/// The absolute path of a project's folder.
pub(super) fn project_path() -> Value {
    text("Absolute path to project directory", infold_core::Field::PROJECT_PATH.chars_max)
}

/// An id that the caller got from an earlier answer.
pub(super) fn id(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// The id of the branch to open a new one under, or `main`.
pub(super) fn parent_branch_id() -> Value {
    id("Open under this branch, or \"main\"; default: the active branch")
}

/// What a branch begins with: its brief alone, or its parent's conversation. There is no description, because the
/// two words say enough.
pub(super) fn isolation() -> Value {
    json!({ "type": "string", "enum": ["isolated", "inherit"] })
}

/// The key that makes repeating a call safe.
pub(super) fn idempotency_key() -> Value {
    text("Same key, same answer: makes a retry safe", infold_core::Field::IDEMPOTENCY_KEY.chars_max)
}

/// A true or false.
pub(super) fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

/// A text in an answer, without a description.
pub(super) fn string() -> Value {
    json!({ "type": "string" })
}

/// A text in an answer that may be `null`.
pub(super) fn string_or_null() -> Value {
    json!({ "type": ["string", "null"] })
}

/// An argument that is one of these words.
pub(super) fn choice(description: &str, words: &[&str]) -> Value {
    json!({ "type": "string", "description": description, "enum": words })
}

/// A whole number of 0 or more in an answer.
pub(super) fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

/// A list of texts or ids in an answer.
pub(super) fn strings() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

/// A time in an answer, in RFC 3339.
pub(super) fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

/// Notices of branches that were folded by force since the last answer.
pub(super) fn notices() -> Value {
    let notice = json!({
        "branch_id": string(),
        "parent_branch_id": string_or_null(),
        "status": string(),
        "reason": string(),
        "result": string(),
    });
    json!({ "type": "array", "items": object(notice, &["branch_id", "status", "reason", "result"]) })
}

/// The context's figures in answers of `context_*` tools.
pub(super) fn context_state() -> Value {
    let figures = json!({
        "active_branch_id": string_or_null(),
        "branch_depth": count(),
        "total_tokens": count(),
        "main_thread_tokens": count(),
        "current_branch_tokens": count(),
        "root_budget_remaining": count(),
    });
    object(figures, &["active_branch_id", "branch_depth", "total_tokens"])
}

/// How full the main thread is, as a word and as a share of the limit.
pub(super) fn context_health() -> Value {
    let figures = json!({
        "warning": { "type": "string", "enum": ["none", "medium", "high"] },
        "main_thread_usage": { "type": "number", "minimum": 0 },
    });
    object(figures, &["warning", "main_thread_usage"])
}
