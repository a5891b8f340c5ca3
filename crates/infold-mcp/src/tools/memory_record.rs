//! `memory_record`: keeps a lesson at any time.

use infold_core::OwnTool;
use infold_core::memory::{LessonDraft, MemoryKind};
use infold_engine::{MemoryRecorded, RecordMemory};
use rmcp::model::Tool;
use serde_json::json;

use super::schema::{self, Effect, ToolDraft};
use super::teaching::kind;
use crate::answer::{self, ToolAnswer};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;

pub(super) fn definition() -> Tool {
    let kinds = MemoryKind::ALL.map(MemoryKind::as_str);
    let input = json!({
        "title": schema::text("The lesson in a line", LessonDraft::TITLE_CHARS_MAX),
        "lesson": schema::text("The lesson in a few sentences", LessonDraft::LESSON_CHARS_MAX),
        "kind": schema::choice("What it tells (default works)", &kinds),
        "replaces": schema::id("The memory that it corrects"),
        "session_id": schema::id("Your conversation"),
        "project_path": schema::project_path(),
    });
    let output = json!({
        "memory_id": schema::string(),
        "state": schema::string(),
        "merged": { "type": "boolean" },
        "note": schema::string(),
    });
    let draft = ToolDraft {
        name: OwnTool::MemoryRecord.name(),
        title: "Keep a lesson",
        description: "Keeps what would help or mislead later work in this project. No secrets.",
        effect: Effect::Adds,
    };
    draft.takes(schema::object(input, &["title", "lesson"]), schema::object(output, &["state"]))
}

pub(crate) async fn run(call: &ToolCall, arguments: &mut Arguments) -> Result<ToolAnswer, ToolRefused> {
    let request = RecordMemory {
        draft: LessonDraft {
            title: arguments.text("title")?,
            lesson: arguments.text("lesson")?,
            kind: arguments.optional_text("kind")?.map(|word| kind("kind", &word)).transpose()?,
        },
        replaces: arguments.optional_id("replaces")?,
        session: call.session_if_named(arguments)?,
        folder: call.folder(),
    };

    let recorded = call.engine.record_memory(&call.who, request).await?;

    let answer = match recorded {
        MemoryRecorded::Kept { id, state, is_merged } => {
            json!({ "memory_id": id, "state": state, "merged": is_merged })
        }
        MemoryRecorded::SaidBy { file } => {
            json!({ "state": "not_kept", "note": format!("your rule file {file} says this already") })
        }
    };
    Ok(ToolAnswer::without_state(answer::object(answer)))
}
