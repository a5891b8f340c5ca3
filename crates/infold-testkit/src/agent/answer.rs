//! Reads a model's reply from its stream, as each client does. A stream that is not whole is an error.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{Client, RawReply};
use crate::sse::EventReader;

/// A model's reply to one request.
#[derive(Debug, Clone, Default)]
pub struct ModelReply {
    /// The words that the model said, joined.
    pub text: String,
    /// The calls that the model asks for, in order.
    pub calls: Vec<ReplyCall>,
    /// The entries that the client adds to its transcript.
    pub entries: Vec<Value>,
    /// The usage that the provider reported, in the provider's form; null if it reported none.
    pub usage: Value,
}

/// A call of a tool in a model's reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyCall {
    /// The id that the provider gave the call.
    pub id: String,
    /// The tool's name, with its namespace in front if it has one.
    pub tool: String,
    /// The call's arguments: an object, or a text for a custom tool.
    pub arguments: Value,
}

impl ModelReply {
    /// Whether the reply calls a tool whose name ends with `name`.
    pub fn calls_tool(&self, name: &str) -> bool {
        self.calls.iter().any(|call| call.tool.ends_with(name))
    }
}

/// Reads a response's stream; fails if it is a refusal, broken off or not whole.
pub(super) fn read(client: Client, raw: &RawReply) -> Result<ModelReply> {
    if raw.status != 200 {
        bail!("the request got {}: {}", raw.status, raw.text());
    }
    let events: Vec<Value> = EventReader::default()
        .push(&raw.bytes)
        .iter()
        .map(|data| if data == "[DONE]" { Ok(json!({"type": "done"})) } else { serde_json::from_str(data) })
        .collect::<Result<_, _>>()
        .with_context(|| format!("an event is not JSON: {}", raw.text()))?;
    if let Some(failed) = events.iter().find(|event| event["type"] == "error" || !event["error"].is_null()) {
        bail!("the stream says that it failed: {failed}");
    }
    let said = match client {
        Client::ClaudeCode => claude(&events),
        Client::Codex => codex(&events),
        Client::OpenCode => opencode(&events),
    };
    said.with_context(|| format!("the stream is not whole ({:?}): {}", raw.cut, raw.text()))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments))
}

fn claude(events: &[Value]) -> Option<ModelReply> {
    let mut blocks: Vec<Value> = Vec::new();
    let mut json = String::new();
    let mut usage = Value::Null;
    for event in events {
        match event["type"].as_str()? {
            "content_block_start" => {
                blocks.push(event["content_block"].clone());
                json.clear();
            }
            "content_block_delta" => {
                let block = blocks.last_mut()?;
                let delta = &event["delta"];
                for field in ["text", "thinking", "signature"] {
                    if let Some(more) = delta[field].as_str() {
                        block[field] = json!(text(&block[field]) + more);
                    }
                }
                json.push_str(delta["partial_json"].as_str().unwrap_or_default());
            }
            "content_block_stop" if !json.is_empty() => blocks.last_mut()?["input"] = parsed(&json),
            "message_delta" => usage = event["usage"].clone(),
            _ => {}
        }
    }
    if events.last()?["type"] != "message_stop" {
        return None;
    }
    let of_kind = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
    let calls = of_kind("tool_use").map(|block| ReplyCall {
        id: text(&block["id"]),
        tool: text(&block["name"]),
        arguments: block["input"].clone(),
    });
    Some(ModelReply {
        text: of_kind("text").map(|block| text(&block["text"])).collect(),
        calls: calls.collect(),
        usage,
        entries: vec![json!({"role": "assistant", "content": blocks})],
    })
}

fn codex(events: &[Value]) -> Option<ModelReply> {
    let done = events.iter().filter(|event| event["type"] == "response.output_item.done");
    let items: Vec<Value> = done.map(|event| event["item"].clone()).collect();
    let last = events.last().filter(|event| event["type"] == "response.completed")?;
    let calls = items.iter().filter(|item| item["call_id"].is_string()).map(|item| {
        let name = item["name"].as_str().unwrap_or("tool_search");
        let tool = item["namespace"].as_str().map_or(name.to_owned(), |space| format!("{space}__{name}"));
        let arguments = match &item["arguments"] {
            Value::String(arguments) => parsed(arguments),
            Value::Null => item["input"].clone(),
            arguments => arguments.clone(),
        };
        ReplyCall { id: text(&item["call_id"]), tool, arguments }
    });
    let words = items.iter().filter(|item| item["type"] == "message");
    Some(ModelReply {
        text: words.map(|item| text(&item["content"][0]["text"])).collect(),
        calls: calls.collect(),
        usage: last["response"]["usage"].clone(),
        entries: items.clone(),
    })
}

fn opencode(events: &[Value]) -> Option<ModelReply> {
    let mut said = ModelReply::default();
    let mut calls: Vec<Value> = Vec::new();
    for event in events {
        if !event["usage"].is_null() {
            said.usage = event["usage"].clone();
        }
        let delta = &event["choices"][0]["delta"];
        said.text.push_str(delta["content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            calls.push(json!({"id": call["id"], "type": "function", "function": call["function"]}));
        }
    }
    if events.last()?["type"] != "done" {
        return None;
    }
    said.calls = calls
        .iter()
        .map(|call| ReplyCall {
            id: text(&call["id"]),
            tool: text(&call["function"]["name"]),
            arguments: parsed(&text(&call["function"]["arguments"])),
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": said.text});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    said.entries = vec![message];
    Some(said)
}
