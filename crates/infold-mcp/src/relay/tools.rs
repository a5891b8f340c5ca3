//! The gateway's own tools: `tool_search` finds tools of servers, `tool_call` and `tool_call_read` call them.
//!
//! Their definitions are in every request of a session, so they are short, and the same from its beginning to its end.

use std::sync::Arc;

use infold_core::gateway::{GatewayTool, Lane};
use infold_engine::ServerTool;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::calling::refused;
use super::{CallAnswer, CallWay, ClientInput, Gateway, RelayCall, RelayCaller};
use crate::answer;
use crate::arguments::Arguments;

/// Tools in an answer, if the caller does not say how many.
const LIMIT_DEFAULT: u64 = 5;
const LIMIT_MAX: u64 = 50;
/// Bytes of an answer: long enough for several schemas, and short enough never to be offloaded.
const ANSWER_BYTES_MAX: usize = 8_000;
/// Characters of a description that an answer shows.
const DESCRIPTION_CHARS_MAX: usize = 600;
/// Bytes of servers' names in the description of `tool_search`.
const NAMES_BYTES_MAX: usize = 600;

/// The definitions of the gateway's tools, in the order in which they are listed.
pub(super) fn definitions<'a>(servers: impl Iterator<Item = &'a str>) -> Vec<Tool> {
    let searched = format!(
        "Finds tools of connected servers by what they do or by name, with the schemas of their arguments. \
         Call what it finds with the tool that its \"call\" names. Servers: {}",
        names(servers)
    );
    let called = "Calls a tool of a connected server that may change things. tool_search names it, and its arguments.";
    let read = "Calls a tool of a connected server that only reads. tool_search names it, and its arguments.";
    let search = json!({
        "query": { "type": "string", "description": "What the tool does, or its name" },
        "limit": { "type": "integer", "minimum": 1, "description": "Most tools (default 5)" },
    });
    let target = json!({
        "name": { "type": "string", "description": "Name from tool_search" },
        "arguments": { "type": "object", "description": "By the tool's input_schema" },
    });
    let only_reads = || ToolAnnotations::new().read_only(true).idempotent(true);
    vec![
        tool(GatewayTool::Search, searched, (&search, &["query"]), only_reads().open_world(false)),
        tool(GatewayTool::Call, called.to_owned(), (&target, &["name"]), ToolAnnotations::new().destructive(true)),
        tool(GatewayTool::CallRead, read.to_owned(), (&target, &["name"]), only_reads()),
    ]
}

fn tool(
    tool: GatewayTool,
    description: String,
    (properties, required): (&Value, &[&str]),
    annotations: ToolAnnotations,
) -> Tool {
    let input = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    Tool::new(tool.name(), description, Arc::new(answer::object(input))).with_annotations(annotations)
}

/// The names of servers, as many as there is room for.
fn names<'a>(servers: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for name in servers {
        if text.len() + name.len() > NAMES_BYTES_MAX {
            text.push_str(", …");
            break;
        }
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(name);
    }
    text
}

impl Gateway {
    /// Carries out a call of one of the gateway's own tools.
    pub(crate) async fn call_own(
        self: &Arc<Self>,
        tool: GatewayTool,
        caller: &RelayCaller,
        (given, input): (JsonObject, ClientInput),
    ) -> Result<CallAnswer, ErrorData> {
        let Some(definition) = self.own.iter().find(|definition| definition.name == tool.name()) else {
            return Ok(refused(format!("{} is not served", tool.name())).into());
        };
        let mut arguments = match Arguments::new(definition, Some(given)) {
            Ok(arguments) => arguments,
            Err(refusal) => return Ok(refused(refusal.to_string()).into()),
        };
        let lane = match tool {
            GatewayTool::Search => {
                let found = Box::pin(self.search(&mut arguments, caller)).await;
                return Ok(found.unwrap_or_else(|refusal| refused(refusal.to_string())).into());
            }
            GatewayTool::Call => Lane::Change,
            GatewayTool::CallRead => Lane::Read,
        };
        let named = arguments.text("name").and_then(|name| Ok((name, arguments.optional_object("arguments")?)));
        match named {
            Ok((name, arguments)) => {
                let arguments = Value::Object(arguments.unwrap_or_default());
                self.call(RelayCall { caller, name: &name, way: CallWay::Through(lane), arguments, input }).await
            }
            Err(refusal) => Ok(refused(refusal.to_string()).into()),
        }
    }

    async fn search(
        self: &Arc<Self>,
        arguments: &mut Arguments,
        caller: &RelayCaller,
    ) -> Result<CallToolResult, infold_core::Refusal> {
        let query = arguments.text("query")?;
        let limit = arguments.optional_number("limit", 1)?.unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX);
        let catalogue = self.renewed().await;
        let found = catalogue.search(&query, usize::try_from(limit).unwrap_or(usize::MAX));
        let mut shown: Vec<Value> = Vec::new();
        let mut bytes = 0;
        for target in &found {
            let tool = as_found(target);
            bytes += tool.to_string().len();
            if bytes > ANSWER_BYTES_MAX && !shown.is_empty() {
                break;
            }
            shown.push(tool);
        }
        let mut body = json!({ "tools": shown });
        let more = found.len() - shown.len();
        if more > 0 {
            body["more"] = json!(format!("{more} more fit: search for less at a time, or for a name"));
        }
        if found.is_empty() {
            let all = catalogue.len();
            body["hint"] = json!(format!("none of the {all} tools fits: say what the tool does in other words"));
        }
        let waiting = self.logins_missing();
        if !waiting.is_empty() {
            body["needs_login"] = json!(waiting);
        }
        self.promote(found.iter().map(|target| target.name.as_str()), &caller.client).await;
        if let Some(note) = self.catalogue().note() {
            body["note"] = json!(note);
        }
        Ok(CallToolResult::structured(body))
    }
}

/// A tool in the answer of a search.
fn as_found(target: &ServerTool) -> Value {
    let description = &target.definition.description;
    let description = match description.char_indices().nth(DESCRIPTION_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &description[..end]),
        None => description.clone(),
    };
    json!({
        "name": target.name.as_str(),
        "call": target.lane.tool().name(),
        "description": description,
        "input_schema": target.definition.input,
    })
}
