//! `read_result`: reads part of an offloaded result.

use infold_core::{OwnTool, Refusal};
use infold_engine::{CallKind, FindInResults, Portion, ReadResult, ResultPart};
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::reading::{self, Counted};
use super::schema::{self, Effect, ToolDraft};
use crate::answer::{self, ToolAnswer};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;

/// Bytes in one answer, if the caller does not say how many.
const LIMIT_DEFAULT_BYTES: u64 = 4_096;

pub(super) fn definition() -> Tool {
    let input = json!({
        "ref_id": schema::id("Handle of the stored result; without it all are searched for pattern"),
        "offset": schema::number("First byte (default 0)", 0),
        "limit": schema::number("Most bytes to return (default 4096, max 65536)", 1),
        "start_line": schema::number("Instead of offset, or with pattern: first line, from 1", 1),
        "end_line": schema::number("Last line", 1),
        "pattern": schema::text("Instead of offset: lines that match this regular expression", 1_000),
        "context": schema::number("Lines around each match (max 50)", 0),
        "session_id": schema::id("Without ref_id: whose"),
    });
    let output = json!({
        "ref_id": schema::string(),
        "tool_name": schema::string(),
        "content": schema::string(),
        "total_bytes": schema::count(),
        "total_lines": schema::count(),
        "offset": schema::count(),
        "next_offset": schema::count(),
        "start_line": schema::count(),
        "next_line": schema::count(),
        "searched": schema::count(),
        "notices": schema::notices(),
    });
    let draft = ToolDraft {
        name: OwnTool::ReadResult.name(),
        title: "Read a stored result",
        description: "Reads part of a long tool result that was stored outside the context: by bytes, by lines, or by a regular expression.",
        effect: Effect::Reads,
    };
    draft.takes(schema::object(input, &[]), schema::object(output, &["content"]))
}

/// Whether a part's position is counted in bytes or in lines.
#[derive(Clone, Copy)]
enum PortionUnit {
    Bytes,
    Lines,
}

pub(crate) async fn run(call: &ToolCall, arguments: &mut Arguments) -> Result<ToolAnswer, ToolRefused> {
    let limit = arguments.optional_number("limit", 1)?.unwrap_or(LIMIT_DEFAULT_BYTES);
    let Some(ref_id) = arguments.optional_id("ref_id")? else {
        return search(call, arguments, size(limit)).await;
    };
    let portion = portion(arguments)?;
    let unit = match &portion {
        Portion::Bytes { .. } => PortionUnit::Bytes,
        Portion::Lines { .. } | Portion::Matches { .. } => PortionUnit::Lines,
    };
    let request = ReadResult { ref_id, thread: call.thread.clone(), portion, limit_bytes: size(limit) };

    let part = call.engine.read_result(&call.who, &request).await?;
    match reading::count(call, &part.session_id, CallKind::Content, body(&part, unit)).await? {
        Counted::Shown(answer) => Ok(answer),
        Counted::Folded { notice, observed } => Err(ToolRefused::withheld(&notice, observed)),
    }
}

/// Searches all results that the caller may read.
async fn search(call: &ToolCall, arguments: &mut Arguments, limit_bytes: usize) -> Result<ToolAnswer, ToolRefused> {
    let Some(pattern) = arguments.optional_text("pattern")? else {
        let problem = "is required: pass the handle of a result, or a pattern to search for in all of them";
        return Err(Refusal::Invalid { field: "ref_id", problem: problem.to_owned() }.into());
    };
    for field in ["start_line", "end_line", "context"] {
        if arguments.optional_number(field, 0)?.is_some() {
            let problem = "goes with ref_id: pass that too, or leave it out";
            return Err(Refusal::Invalid { field, problem: problem.to_owned() }.into());
        }
    }
    let session = call.session_by_id(arguments)?;
    let passed_over = size(arguments.optional_number("offset", 0)?.unwrap_or(0));
    let request = FindInResults { session, thread: call.thread.clone(), pattern, passed_over, limit_bytes };
    let found = call.engine.find_in_results(&call.who, &request).await?;
    let content = match found.content.as_str() {
        "" => format!("[No line of {} results matches {:?}.]", found.searched, request.pattern),
        content => content.to_owned(),
    };
    let mut body = answer::object(json!({ "content": content, "searched": found.searched }));
    if let Some(next) = &found.next {
        body.insert("next_offset".to_owned(), json!(next));
    }
    match reading::count(call, &found.session_id, CallKind::Content, body).await? {
        Counted::Shown(answer) => Ok(answer),
        Counted::Folded { notice, observed } => Err(ToolRefused::withheld(&notice, observed)),
    }
}

fn portion(arguments: &mut Arguments) -> Result<Portion, ToolRefused> {
    let offset = arguments.optional_number("offset", 0)?;
    let first = arguments.optional_number("start_line", 1)?;
    let last = arguments.optional_number("end_line", 1)?;
    let pattern = arguments.optional_text("pattern")?;
    let context = arguments.optional_number("context", 0)?;
    let by_lines = first.is_some() || last.is_some();
    let refuse =
        |field: &'static str, problem: &str| Err(Refusal::Invalid { field, problem: problem.to_owned() }.into());
    match (pattern, by_lines, offset) {
        (Some(_), ..) if last.is_some() => refuse("end_line", "does not go with pattern: leave it out"),
        (Some(_), _, Some(_)) => refuse("pattern", "cannot be combined with offset: pass one or the other"),
        (None, true, Some(_)) => refuse("start_line", "cannot be combined with offset: pass one or the other"),
        (None, ..) if context.is_some() => refuse("context", "goes with pattern: pass pattern too, or leave it out"),
        (Some(pattern), _, None) => {
            let (context, first) = (size(context.unwrap_or(0)), size(first.unwrap_or(1)));
            Ok(Portion::Matches { pattern, context, first })
        }
        (None, true, None) => {
            let first = first.unwrap_or(1);
            let last = last.unwrap_or(u64::MAX);
            if last < first {
                return refuse("end_line", "must not be before start_line");
            }
            Ok(Portion::Lines { first: size(first), last: size(last).min(usize::MAX - 1) })
        }
        (None, false, offset) => Ok(Portion::Bytes { offset: size(offset.unwrap_or(0)) }),
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn body(part: &ResultPart, unit: PortionUnit) -> JsonObject {
    let mut body = answer::object(json!({
        "ref_id": part.ref_id,
        "tool_name": part.tool_name,
        // A model that gets an empty text would not know whether its pattern was wrong.
        "content": part.no_match.as_ref().unwrap_or(&part.content),
        "total_bytes": part.total_bytes,
        "total_lines": part.total_lines,
    }));
    let (here, next) = match unit {
        PortionUnit::Bytes => ("offset", "next_offset"),
        PortionUnit::Lines => ("start_line", "next_line"),
    };
    body.insert(here.to_owned(), json!(part.offset));
    if let Some(next_offset) = part.next_offset {
        body.insert(next.to_owned(), json!(next_offset));
    }
    body
}
