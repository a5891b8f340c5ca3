//! Ollama's own API as a form of Chat Completions: the engine prepares and reads Chat Completions, and here the prepared
//! body becomes the one that is posted to `/api/chat`, and the lines of the answer become events.
//!
//! Ollama's calls have objects as arguments and no ids, and its results name their tool. The ids that the agent needs
//! are made here.

mod answer;

use std::borrow::Cow;
use std::collections::HashMap;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::ProviderApi;
use super::chat::REASONING;
use answer::OllamaLines;

/// A prepared body that cannot be translated, because it is no request of Chat Completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the prepared request is no request of Chat Completions")]
pub struct UnreadableBody;

/// The body that is sent for the one that the engine has prepared. Ollama learns how many tokens the model's window has,
/// because it would otherwise use a small one and drop the beginning of the thread without a word.
pub fn outgoing_body(api: ProviderApi, prepared: Bytes, window_tokens: u64) -> Result<Bytes, UnreadableBody> {
    match api {
        ProviderApi::Anthropic | ProviderApi::Responses | ProviderApi::Chat => Ok(prepared),
        ProviderApi::Ollama => {
            let chat: Value = serde_json::from_slice(&prepared).map_err(|_| UnreadableBody)?;
            Ok(Bytes::from(ollama_body(&chat, window_tokens)?.to_string()))
        }
    }
}

/// Turns the bytes of an answer into those that the engine's listener and the decoder read.
#[derive(Debug)]
pub struct AnswerTranslator(Option<OllamaLines>);

impl AnswerTranslator {
    /// A translator for one answer. The ids of calls that have none are made from `answer_id`, which no other answer of
    /// the thread may have.
    pub fn new(api: ProviderApi, answer_id: &str) -> Self {
        match api {
            ProviderApi::Anthropic | ProviderApi::Responses | ProviderApi::Chat => Self(None),
            ProviderApi::Ollama => Self(Some(OllamaLines::new(answer_id))),
        }
    }

    /// Translates the next piece, which may end anywhere.
    pub fn push(&mut self, piece: Bytes) -> Bytes {
        match &mut self.0 {
            None => piece,
            Some(lines) => Bytes::from(lines.push(&piece)),
        }
    }

    /// Translates what is left when no more comes: a last line without its end.
    pub fn finish(self) -> Bytes {
        self.0.map_or_else(Bytes::new, |lines| Bytes::from(lines.finish()))
    }
}

fn ollama_body(chat: &Value, window_tokens: u64) -> Result<Value, UnreadableBody> {
    let messages = chat["messages"].as_array().ok_or(UnreadableBody)?;
    let mut body = Map::new();
    body.insert("model".to_owned(), chat["model"].clone());
    body.insert("stream".to_owned(), json!(true));
    body.insert("think".to_owned(), think(chat));
    let mut options = json!({ "num_ctx": window_tokens });
    if let Some(tokens) = chat["max_completion_tokens"].as_u64() {
        options["num_predict"] = json!(tokens);
    }
    body.insert("options".to_owned(), options);
    if let Some(tools) = chat["tools"].as_array() {
        body.insert("tools".to_owned(), json!(tools));
    }
    let mut tools = HashMap::new();
    let messages: Vec<Value> = messages.iter().map(|said| message(said, &mut tools)).collect();
    body.insert("messages".to_owned(), Value::Array(messages));
    Ok(Value::Object(body))
}

/// Whether the model is to think, which is always said, because without a word some models think and some do not. All
/// models but these refuse to be asked how much.
fn think(chat: &Value) -> Value {
    let has_levels = chat["model"].as_str().is_some_and(|model| model.contains("gpt-oss"));
    match chat["reasoning_effort"].as_str() {
        Some(effort) if has_levels => json!(effort),
        effort => json!(effort.is_some()),
    }
}

/// A message as Ollama has it. `tools` has the tool of each call so far, by the id that its result repeats.
fn message<'a>(said: &'a Value, tools: &mut HashMap<&'a str, &'a str>) -> Value {
    let mut message = json!({"role": said["role"], "content": words(&said["content"])});
    let images = images(&said["content"]);
    if !images.is_empty() {
        message["images"] = json!(images);
    }
    if let Some(thoughts) = said[REASONING].as_str() {
        message["thinking"] = json!(thoughts);
    }
    if let Some(calls) = said["tool_calls"].as_array() {
        let calls = calls.iter().map(|call| {
            let function = &call["function"];
            if let (Some(id), Some(tool)) = (call["id"].as_str(), function["name"].as_str()) {
                tools.insert(id, tool);
            }
            json!({"function": {"name": function["name"], "arguments": arguments(&function["arguments"])}})
        });
        message["tool_calls"] = calls.collect();
    }
    if said["role"] == "tool" {
        let tool = said["tool_call_id"].as_str().and_then(|id| tools.get(id).copied());
        message["tool_name"] = json!(tool.unwrap_or("unnamed"));
    }
    message
}

/// The text of a content, which may be a list of parts.
fn words(content: &Value) -> Cow<'_, str> {
    match content {
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            Cow::Owned(texts.join("\n"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Cow::Borrowed(""),
    }
}

/// The images of a content, in base64 without the address around it.
fn images(content: &Value) -> Vec<&str> {
    let addresses = content.as_array().into_iter().flatten().filter_map(|part| part["image_url"]["url"].as_str());
    addresses.filter_map(|address| Some(address.split_once(";base64,")?.1)).collect()
}

/// Arguments as an object, which they always are in what the agent writes.
fn arguments(text: &Value) -> Value {
    let read = text.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    read.filter(Value::is_object).unwrap_or_else(|| json!({ "input": text }))
}

#[cfg(test)]
mod tests;
