//! A request as its provider's cache sees it: the parts of the prompt in the order in which the provider puts
//! them, byte for byte, without the marks.

use serde_json::Value;

use super::anthropic::rules::is_attribution;
use super::cache::{Lifetime, Part};
use super::received::{Api, Received};

impl Received {
    /// The parts of the prompt, for the cache.
    pub(crate) fn prompt(&self) -> Vec<Part> {
        let body = &self.body;
        let mut parts = vec![part("model", &body["model"])];
        match self.api {
            Api::Messages | Api::CountTokens => anthropic(body, &mut parts),
            Api::Responses => {
                parts.extend(list(&body["tools"]).map(|tool| part("tool", tool)));
                parts.push(part("instructions", &body["instructions"]));
                parts.extend(list(&body["input"]).map(|item| part("item", item)));
            }
            Api::Chat | Api::Ollama => {
                parts.extend(list(&body["tools"]).map(|tool| part("tool", tool)));
                parts.extend(list(&body["messages"]).map(|message| part("message", message)));
            }
        }
        // An image counts by its pixels, not by its base64.
        for image in self.images() {
            let holding = parts.iter_mut().filter(|part| part.text.contains(&image.base64));
            holding.for_each(|part| part.text = part.text.replace(&image.base64, &image.weight()));
        }
        parts
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Adds tools, system and messages. A deferred tool is not part of the prompt until it is loaded, and then it
/// is in the message that loaded it.
fn anthropic(body: &Value, parts: &mut Vec<Part>) {
    let listed = list(&body["tools"]).filter(|tool| tool["defer_loading"] != true);
    parts.extend(listed.map(|tool| part("tool", tool)));
    add_content("system", &body["system"], parts);
    // A change of the reasoning settings changes the prompt.
    parts.push(part("thinking", &body["thinking"]));
    parts.push(part("effort", &body["output_config"]));
    for message in list(&body["messages"]) {
        add_content(message["role"].as_str().unwrap_or_default(), &message["content"], parts);
    }
}

fn add_content(role: &str, content: &Value, parts: &mut Vec<Part>) {
    match content {
        Value::Array(blocks) => {
            parts.extend(blocks.iter().filter(|block| !is_attribution(block)).map(|block| part(role, block)));
        }
        Value::Null => {}
        other => parts.push(part(role, other)),
    }
}

fn part(kind: &str, value: &Value) -> Part {
    let mark = match &value["cache_control"] {
        Value::Null => None,
        mark if mark["ttl"] == "1h" => Some(Lifetime::OneHour),
        _ => Some(Lifetime::FiveMinutes),
    };
    let mut value = value.clone();
    if let Value::Object(fields) = &mut value {
        fields.shift_remove("cache_control");
    }
    Part { text: format!("{kind}\0{value}"), mark }
}
