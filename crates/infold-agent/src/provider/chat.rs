//! Requests in the form of OpenAI's Chat Completions API, and the variant of it that Ollama's are translated from.

use serde_json::{Map, Value, json};

use super::rounds::{Round, Said, SentWords, rounds};
use super::{Prompt, ToolDefinition};

/// The type under which thoughts in plain words are kept, and the field of a message that they are sent back in.
pub(super) const REASONING: &str = "reasoning_content";

/// Who a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// OpenAI, or a compatible service. No thoughts are sent back: some refuse them, and OpenAI has none.
    OpenAi,
    /// Ollama, whose models want their thoughts back.
    Ollama,
}

/// Writes a request.
pub(super) fn body(prompt: &Prompt<'_>, dialect: Dialect) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(prompt.model));
    body.insert("stream".to_owned(), json!(true));
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    body.insert("max_completion_tokens".to_owned(), json!(prompt.max_output_tokens));
    if let Some(effort) = prompt.reasoning.word() {
        body.insert("reasoning_effort".to_owned(), json!(effort));
    }
    body.insert("prompt_cache_key".to_owned(), json!(prompt.session));
    if !prompt.tools.is_empty() {
        body.insert("tools".to_owned(), prompt.tools.iter().map(tool).collect());
    }
    let types: &[&str] = match dialect {
        Dialect::OpenAi => &[],
        Dialect::Ollama => &[REASONING],
    };
    let rounds = rounds(prompt, types);
    let system = (!prompt.system.is_empty()).then(|| message("system", prompt.system));
    body.insert("messages".to_owned(), system.into_iter().chain(rounds.into_iter().flat_map(messages)).collect());
    Value::Object(body)
}

fn tool(tool: &ToolDefinition) -> Value {
    let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
    json!({"type": "function", "function": function})
}

fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// Words alone are a text, and with images a list, because that is all that some services know.
fn said_by_user(words: &SentWords<'_>) -> Value {
    if words.images.is_empty() {
        return message("user", words.text);
    }
    let image = |address: String| json!({"type": "image_url", "image_url": {"url": address}});
    let images = words.images.iter().map(|sent| image(sent.address()));
    let content: Vec<Value> = [json!({"type": "text", "text": words.text})].into_iter().chain(images).collect();
    json!({"role": "user", "content": content})
}

fn messages(round: Round<'_>) -> Vec<Value> {
    let results =
        round.results.iter().map(|result| json!({"role": "tool", "tool_call_id": result.id, "content": result.text}));
    let words = round.words.iter().map(said_by_user);
    results.chain(words).chain(answer(&round.said)).collect()
}

/// The model's answer as one message, with its words in front of its calls.
fn answer(said: &[Said<'_>]) -> Option<Value> {
    let (mut words, mut thoughts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for part in said {
        match part {
            Said::Words(text) => words.push(*text),
            Said::Thought(sealed) => thoughts.extend(sealed["text"].as_str()),
            Said::Call(call) => {
                let function = json!({"name": call.tool, "arguments": call.arguments.to_string()});
                calls.push(json!({"id": call.id, "type": "function", "function": function}));
            }
        }
    }
    if words.is_empty() && calls.is_empty() {
        return None;
    }
    let text = (!words.is_empty()).then(|| words.join("\n"));
    let mut message = json!({"role": "assistant", "content": text});
    if !thoughts.is_empty() {
        message[REASONING] = json!(thoughts.join("\n"));
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    Some(message)
}
