//! What a model said, read from its stream as a client reads it: an answer that is not whole is none.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{Client, Raw};
use crate::sse::EventReader;

/// An answer.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// The model's words.
    pub text: String,
    /// Its calls.
    pub calls: Vec<SaidCall>,
    /// What the client keeps of it in its transcript.
    pub entries: Vec<Value>,
    /// What the provider says that it took.
    pub usage: Value,
}

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct SaidCall {
    /// Its id.
    pub id: String,
    /// The tool, with its namespace in front.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
}

impl Said {
    /// Whether a tool is called whose name ends with `name`.
    pub fn calls_tool(&self, name: &str) -> bool {
        self.calls.iter().any(|call| call.tool.ends_with(name))
    }
}

/// Reads a stream.
pub(super) fn read(client: Client, raw: &Raw) -> Result<Said> {
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

fn claude(events: &[Value]) -> Option<Said> {
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
    let calls = of_kind("tool_use").map(|block| SaidCall {
        id: text(&block["id"]),
        tool: text(&block["name"]),
        arguments: block["input"].clone(),
    });
    Some(Said {
        text: of_kind("text").map(|block| text(&block["text"])).collect(),
        calls: calls.collect(),
        usage,
        entries: vec![json!({"role": "assistant", "content": blocks})],
    })
}

fn codex(events: &[Value]) -> Option<Said> {
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
        SaidCall { id: text(&item["call_id"]), tool, arguments }
    });
    let words = items.iter().filter(|item| item["type"] == "message");
    Some(Said {
        text: words.map(|item| text(&item["content"][0]["text"])).collect(),
        calls: calls.collect(),
        usage: last["response"]["usage"].clone(),
        entries: items.clone(),
    })
}

fn opencode(events: &[Value]) -> Option<Said> {
    let mut said = Said::default();
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
        .map(|call| SaidCall {
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
