//! What Ollama documents of `/api/chat`, and its wording when a request differs. Fields that are not documented are
//! refused here, although Ollama would pass over them: whoever sends one expects something of it.

use serde_json::{Map, Value};

use crate::model::refusal::Refusal;
use crate::model::seal::Prefix;

#[cfg(test)]
mod tests;

const FIELDS: [&str; 8] = ["model", "messages", "tools", "format", "options", "stream", "keep_alive", "think"];
const MESSAGE_FIELDS: [&str; 6] = ["role", "content", "thinking", "images", "tool_calls", "tool_name"];
const CALL_FIELDS: [&str; 2] = ["type", "function"];

/// Checks a request, and returns its whole content as the prefix from which the answer's ids are made.
pub(crate) fn check(body: &Value) -> Result<Prefix, Refusal> {
    let fields = object(body, "the request")?;
    only(fields, &FIELDS, "the request")?;
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err(Refusal::ollama("model is required"));
    }
    check_think(body)?;
    check_options(&body["options"])?;
    let mut prefix = Prefix::default();
    for tool in body["tools"].as_array().into_iter().flatten() {
        check_tool(tool)?;
        prefix.take("tool", tool);
    }
    let messages = body["messages"].as_array().ok_or_else(|| Refusal::ollama("messages must be a list"))?;
    check_messages(messages)?;
    for message in messages {
        prefix.take("message", message);
    }
    Ok(prefix)
}

/// Refuses what is neither a yes nor a no, and levels for a model that has none.
fn check_think(body: &Value) -> Result<(), Refusal> {
    let has_levels = body["model"].as_str().is_some_and(|model| model.contains("gpt-oss"));
    match &body["think"] {
        Value::Null | Value::Bool(_) => Ok(()),
        Value::String(level) if !["low", "medium", "high"].contains(&level.as_str()) => Err(Refusal::ollama(&format!(
            "invalid think value: {level:?} (must be \"high\", \"medium\", \"low\", true, or false)"
        ))),
        Value::String(_) if has_levels => Ok(()),
        other => Err(Refusal::ollama(&format!("think value {other} is not supported for this model"))),
    }
}

/// Refuses counts of tokens that are none.
fn check_options(options: &Value) -> Result<(), Refusal> {
    for name in ["num_ctx", "num_predict"] {
        let count = &options[name];
        if !count.is_null() && count.as_u64().is_none_or(|count| count == 0) {
            return Err(Refusal::ollama(&format!("option {name} must be of type integer")));
        }
    }
    Ok(())
}

fn check_tool(tool: &Value) -> Result<(), Refusal> {
    let function = &tool["function"];
    let is_whole = tool["type"] == "function" && function["name"].is_string() && function["parameters"].is_object();
    if is_whole { Ok(()) } else { Err(Refusal::ollama("a tool needs a type, a name and parameters")) }
}

/// Refuses unknown roles and fields, arguments that are no object, and results that do not answer the calls before them.
fn check_messages(messages: &[Value]) -> Result<(), Refusal> {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        only(object(message, "a message")?, &MESSAGE_FIELDS, "a message")?;
        let role = message["role"].as_str().unwrap_or_default();
        if !message["content"].is_string() {
            return Err(Refusal::ollama(
                "json: cannot unmarshal into Go struct field ChatRequest.messages of type string",
            ));
        }
        if role == "tool" {
            let tool = message["tool_name"].as_str().unwrap_or_default();
            let Some(place) = open.iter().position(|known| *known == tool) else {
                return Err(Refusal::ollama(&format!("the result of {tool:?} answers no call of the message before")));
            };
            open.remove(place);
            continue;
        }
        if !open.is_empty() {
            return Err(Refusal::ollama(&format!("calls without a result: {}", open.join(", "))));
        }
        match role {
            "system" | "user" => {}
            "assistant" => open = called(message)?,
            _ => return Err(Refusal::ollama(&format!("invalid role {role:?}"))),
        }
    }
    if open.is_empty() { Ok(()) } else { Err(Refusal::ollama("the last calls have no result")) }
}

fn called(message: &Value) -> Result<Vec<&str>, Refusal> {
    let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    if calls.is_empty() && message["content"] == "" {
        return Err(Refusal::ollama("a message of the model says nothing"));
    }
    let mut tools = Vec::new();
    for call in calls {
        only(object(call, "a call")?, &CALL_FIELDS, "a call")?;
        let function = &call["function"];
        if !function["arguments"].is_object() {
            return Err(Refusal::ollama(
                "json: cannot unmarshal string into Go struct field ToolCallFunction.arguments",
            ));
        }
        tools.push(function["name"].as_str().ok_or_else(|| Refusal::ollama("a call needs the name of its tool"))?);
    }
    Ok(tools)
}

fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>, Refusal> {
    value.as_object().ok_or_else(|| Refusal::ollama(&format!("{what} must be an object")))
}

fn only(fields: &Map<String, Value>, known: &[&str], what: &str) -> Result<(), Refusal> {
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Refusal::ollama(&format!("{what} has the field {name:?}, which is not documented"))),
    }
}
