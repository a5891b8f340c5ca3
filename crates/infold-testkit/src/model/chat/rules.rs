//! OpenAI's rules for a Chat Completions request, and its wording when one is broken.

use serde_json::Value;

use crate::model::refusal::Refusal;
use crate::model::seal::Prefix;

#[cfg(test)]
mod tests;

/// Checks a request, and returns its whole content as the prefix from which the answer's ids are made.
pub(crate) fn check(body: &Value) -> Result<Prefix, Refusal> {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    check_pairs(messages)?;
    let mut prefix = Prefix::default();
    for tool in body["tools"].as_array().into_iter().flatten() {
        prefix.take("tool", tool);
    }
    for message in messages {
        prefix.take("message", message);
    }
    Ok(prefix)
}

/// Refuses a call that is not followed by its own `tool` message before anything else.
fn check_pairs(messages: &[Value]) -> Result<(), Refusal> {
    let mut open: Vec<&str> = Vec::new();
    let mut opened_at = 0;
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(place) = open.iter().position(|known| *known == id) else {
                let message = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
                return Err(Refusal::openai(message.to_owned(), &format!("messages.[{at}].role"), None));
            };
            open.remove(place);
            continue;
        }
        refuse_unanswered(opened_at, &open)?;
        refuse_empty(at, message)?;
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open = calls.filter_map(|call| call["id"].as_str()).collect();
        opened_at = at;
    }
    refuse_unanswered(opened_at, &open)
}

/// Refuses a message of the model without words and calls, and an empty list of calls.
fn refuse_empty(at: usize, message: &Value) -> Result<(), Refusal> {
    let calls = &message["tool_calls"];
    if calls.as_array().is_some_and(Vec::is_empty) {
        let message =
            format!("Invalid 'messages[{at}].tool_calls': empty array. Expected an array with minimum length 1.");
        return Err(Refusal::openai(message, &format!("messages[{at}].tool_calls"), Some("empty_array")));
    }
    if message["role"] == "assistant" && message["content"].is_null() && calls.is_null() {
        let message = format!("Invalid value for 'content': expected a string, got null. (messages[{at}])");
        return Err(Refusal::openai(message, &format!("messages.[{at}].content"), None));
    }
    Ok(())
}

fn refuse_unanswered(at: usize, open: &[&str]) -> Result<(), Refusal> {
    if open.is_empty() {
        return Ok(());
    }
    let message = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. \
         The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    );
    Err(Refusal::openai(message, &format!("messages.[{at}].role"), None))
}
