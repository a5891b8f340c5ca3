//! The agent's tools that are not about files: branches, results that were offloaded, notes, skills, compaction. Their
//! descriptions are paid for in every request, so they are short.

use infold_core::Counter;
use serde_json::{Value, json};

use crate::instructions::Instructions;
use crate::provider::ToolDefinition;
use crate::tools::LocalTool;

/// Opens a branch.
pub(crate) const BRANCH_CREATE: &str = "branch_create";
/// Folds a branch.
pub(crate) const BRANCH_RETURN: &str = "branch_return";
/// Reads an offloaded result.
pub(crate) const READ_RESULT: &str = "read_result";
/// Starts the thread anew.
pub(crate) const COMPACT_CONTEXT: &str = "compact_context";
/// Keeps notes.
pub(crate) const NOTES: &str = "notes";
/// Activates a skill.
pub(crate) const SKILL: &str = "skill";

/// Whether a tool is one of them.
pub(crate) fn is_own(tool: &str) -> bool {
    [BRANCH_CREATE, BRANCH_RETURN, READ_RESULT, COMPACT_CONTEXT, NOTES, SKILL].contains(&tool)
}

/// Their definitions.
pub(crate) fn definitions(instructions: &Instructions) -> Vec<ToolDefinition> {
    let mut tools = vec![
        tool(
            BRANCH_CREATE,
            "Give a sub-task to a branch. It works out of your sight with the same tools, within a token budget, and you \
             get the one message that it returns. Several in one message work side by side.",
            json!({
                "description": text("The task in a few words, at most 500 characters."),
                "prompt": text("The task at length: all that the branch has to know. It sees nothing else."),
                "budget": { "type": "integer", "description": "Tokens that it may use." },
                "timeout_seconds": { "type": "integer" },
                "isolation": { "type": "string", "enum": ["isolated", "inherit"],
                    "description": "inherit: it sees this conversation." },
            }),
            &["description"],
        ),
        tool(
            BRANCH_RETURN,
            "End this branch: its message goes to whoever opened it, and nothing else of its work does.",
            json!({
                "message": text("What you found, the evidence for it, what is still open."),
                "failed": { "type": "boolean", "description": "true if the task could not be done." },
            }),
            &["message"],
        ),
        tool(
            READ_RESULT,
            "Read part of a stored result by its ref_id: by lines, by a pattern, or from a byte on. Without ref_id, search \
             all of them for a pattern.",
            json!({
                "ref_id": text("The handle in the reference."),
                "first_line": { "type": "integer" },
                "last_line": { "type": "integer" },
                "pattern": text("A regular expression."),
                "offset": { "type": "integer" },
                "limit": { "type": "integer", "description": "Bytes, by default 4096." },
            }),
            &[],
        ),
        tool(
            COMPACT_CONTEXT,
            "Free space in the context: what is old is replaced by a summary and references. Use it before a large step.",
            json!({}),
            &[],
        ),
        tool(
            NOTES,
            "Keep notes for yourself: decisions, what is done, what comes next. The text replaces all earlier notes.",
            json!({ "text": text("All of the notes.") }),
            &["text"],
        ),
    ];
    if !instructions.skills.is_empty() {
        let parameters = json!({ "name": text("The skill's name.") });
        tools.push(tool(SKILL, "Activate a skill: you get its instructions.", parameters, &["name"]));
    }
    tools
}

/// The definition of a tool for files and commands.
pub(crate) fn local(tool: LocalTool) -> ToolDefinition {
    let definition = tool.definition();
    ToolDefinition {
        name: definition.name.to_owned(),
        description: definition.description.to_owned(),
        parameters: definition.schema,
    }
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn tool(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolDefinition {
    let mut parameters = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        parameters["required"] = json!(required);
    }
    ToolDefinition { name: name.to_owned(), description: description.to_owned(), parameters }
}

/// What a definition takes of a prompt.
pub(crate) fn tokens(tool: &ToolDefinition, counter: &Counter) -> u64 {
    counter.count(&tool.name) + counter.count(&tool.description) + counter.count(&tool.parameters.to_string())
}
