//! What the tools that end a branch take about lessons.

use infold_core::Refusal;
use infold_core::memory::{LessonDraft, MemoryKind};
use infold_engine::{Extraction, Teaching};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use crate::arguments::Arguments;

const LESSONS: &str = "lessons";

/// The schema of a list of lessons.
pub(super) fn lessons_schema() -> Value {
    let kinds = MemoryKind::ALL.map(MemoryKind::as_str);
    json!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "title": { "type": "string" },
                "lesson": { "type": "string" },
                "kind": { "type": "string", "enum": kinds },
            },
            "required": ["title", "lesson"],
        },
    })
}

/// The arguments `lessons`, `memories_used` and `extract_memory`.
pub(super) fn teaching(arguments: &mut Arguments) -> Result<Teaching, Refusal> {
    let lessons = arguments.optional_list(LESSONS)?.unwrap_or_default();
    let used = arguments.optional_list("memories_used")?.unwrap_or_default();
    Ok(Teaching {
        lessons: lessons.into_iter().map(lesson).collect::<Result<_, _>>()?,
        memories_used: used.into_iter().map(memory).collect::<Result<_, _>>()?,
        extraction: match arguments.optional_flag("extract_memory")? {
            Some(false) => Extraction::Unwanted,
            Some(true) | None => Extraction::Wished,
        },
    })
}

fn lesson(value: Value) -> Result<LessonDraft, Refusal> {
    let Value::Object(mut fields) = value else { return Err(wrong("must hold objects with title and lesson")) };
    let draft = LessonDraft {
        title: text(&mut fields, "title")?.ok_or_else(|| wrong("must each have a title"))?,
        lesson: text(&mut fields, "lesson")?.ok_or_else(|| wrong("must each have a lesson"))?,
        kind: text(&mut fields, "kind")?.map(|word| kind(LESSONS, &word)).transpose()?,
    };
    match fields.keys().next() {
        Some(_) => Err(wrong("may have title, lesson and kind, and nothing else")),
        None => Ok(draft),
    }
}

/// Reads the word for what a lesson tells.
pub(super) fn kind(field: &'static str, word: &str) -> Result<MemoryKind, Refusal> {
    let problem = "must be of a kind that is works, fails, fact or preference".to_owned();
    MemoryKind::parse(word).ok_or(Refusal::Invalid { field, problem })
}

fn text(fields: &mut JsonObject, name: &str) -> Result<Option<String>, Refusal> {
    match fields.shift_remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(&format!("must each have a string for {name}"))),
    }
}

fn memory(value: Value) -> Result<String, Refusal> {
    match value {
        Value::String(id) => Ok(id),
        _ => Err(Refusal::Invalid { field: "memories_used", problem: "must hold strings, as in mem_…".to_owned() }),
    }
}

fn wrong(problem: &str) -> Refusal {
    Refusal::Invalid { field: LESSONS, problem: problem.to_owned() }
}
