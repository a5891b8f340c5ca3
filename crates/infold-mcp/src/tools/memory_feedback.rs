//! `memory_feedback`: says whether a memory helped.

use infold_core::{OwnTool, Refusal};
use rmcp::model::Tool;
use serde_json::json;

use super::schema::{self, Effect, ToolDraft};
use crate::answer::{self, ToolAnswer};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;

pub(super) fn definition() -> Tool {
    let input = json!({
        "memory_id": schema::id("The memory"),
        "helpful": schema::flag("Whether it was true and of use"),
    });
    let output = json!({ "memory_id": schema::string(), "confidence": { "type": "number" } });
    let draft = ToolDraft {
        name: OwnTool::MemoryFeedback.name(),
        title: "Judge a memory",
        description: "Says whether a memory helped; its confidence moves.",
        effect: Effect::Adds,
    };
    let required = ["memory_id", "helpful"];
    draft.takes(schema::object(input, &required), schema::object(output, &["memory_id", "confidence"]))
}

pub(crate) async fn run(call: &ToolCall, arguments: &mut Arguments) -> Result<ToolAnswer, ToolRefused> {
    let id = arguments.id("memory_id")?;
    let missing = || Refusal::Invalid { field: "helpful", problem: "is required: pass true or false".to_owned() };
    let helpful = arguments.optional_flag("helpful")?.ok_or_else(missing)?;

    let (id, confidence) = call.engine.judge_memory(&call.who, &id, helpful.into()).await?;

    let confidence = (confidence * 100.0).round() / 100.0;
    Ok(ToolAnswer::without_state(answer::object(json!({ "memory_id": id, "confidence": confidence }))))
}
