//! Anthropic's rules, and its wording when one is broken: calls and results that do not pair, a last message
//! that is not the user's, too many cache marks, reasoning after other words than it was made on.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::model::reach::references;
use crate::model::refusal::Refusal;
use crate::model::seal::{Prefix, Verdict};

#[cfg(test)]
mod tests;

/// Most cache marks that one request may carry.
const CACHE_MARKS_MAX: usize = 4;

/// What a client writes about itself in front of its instructions. It changes from run to run, and
/// reasoning is not bound to it.
const ATTRIBUTION: &str = "x-anthropic-billing-header";

/// Checks a request, and returns its whole content as the prefix to which the answer's reasoning is bound.
pub(crate) fn check(body: &Value) -> Result<Prefix, Refusal> {
    let messages: Vec<Message<'_>> = messages(body);
    check_last(&messages)?;
    check_content(&messages)?;
    check_pairs(&messages)?;
    check_references(body)?;
    check_cache_marks(body, &messages)?;
    check_reasoning(body, &messages)
}

/// A message with its content as blocks, and its number for the provider's wording.
struct Message<'a> {
    at: usize,
    role: &'a str,
    blocks: Vec<Value>,
}

impl Message<'_> {
    fn of_kind<'b>(&'b self, kind: &'b str) -> impl Iterator<Item = (usize, &'b Value)> {
        self.blocks.iter().enumerate().filter(move |(_, block)| block["type"] == kind)
    }
}

fn messages(body: &Value) -> Vec<Message<'_>> {
    let messages = body["messages"].as_array().into_iter().flatten().enumerate();
    messages
        .map(|(at, message)| {
            let role = message["role"].as_str().unwrap_or_default();
            Message { at, role, blocks: blocks(&message["content"]) }
        })
        .collect()
}

/// Content as a list of blocks; a plain text becomes one text block.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

/// Refuses a conversation that does not end with the user, not counting entries with role `system`.
fn check_last(messages: &[Message<'_>]) -> Result<(), Refusal> {
    match messages.iter().rev().find(|message| message.role != "system") {
        Some(last) if last.role == "user" => Ok(()),
        Some(_) => Err(Refusal::anthropic(
            "This model does not support assistant message prefill. The conversation must end with a user message."
                .to_owned(),
        )),
        None => Err(Refusal::anthropic("messages: at least one message is required".to_owned())),
    }
}

/// Refuses messages without blocks, and empty texts.
fn check_content(messages: &[Message<'_>]) -> Result<(), Refusal> {
    for message in messages.iter().filter(|message| message.role != "system") {
        if message.blocks.is_empty() {
            let at = message.at;
            return Err(Refusal::anthropic(format!("messages.{at}: all messages must have non-empty content")));
        }
        if message.of_kind("text").any(|(_, block)| block["text"] == "") {
            return Err(Refusal::anthropic("messages: text content blocks must be non-empty".to_owned()));
        }
    }
    Ok(())
}

/// Refuses a reference to a loaded tool that is not among the tools.
fn check_references(body: &Value) -> Result<(), Refusal> {
    let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let unknown = references(body).into_iter().find(|name| !tools.iter().any(|tool| tool["name"] == name.as_str()));
    match unknown {
        None => Ok(()),
        Some(name) => Err(Refusal::anthropic(format!("Tool reference '{name}' not found in available tools"))),
    }
}

/// Refuses a call without its result in the very next user message, before any text, and a result without its call.
fn check_pairs(messages: &[Message<'_>]) -> Result<(), Refusal> {
    let mut seen = HashSet::new();
    let mut open: Vec<String> = Vec::new();
    let mut opened_at = 0;
    for message in messages.iter().filter(|message| message.role != "system") {
        if message.role == "assistant" {
            refuse_unanswered(opened_at, &open)?;
            open = message.of_kind("tool_use").map(|(_, block)| id_of(block, "id")).collect();
            opened_at = message.at;
            if let Some(twice) = open.iter().find(|id| !seen.insert((*id).clone())) {
                return Err(Refusal::anthropic(format!(
                    "messages.{}: `tool_use` ids must be unique: {twice}",
                    message.at
                )));
            }
            continue;
        }
        let first_other = message.blocks.iter().position(|block| block["type"] != "tool_result");
        for (at, block) in message.of_kind("tool_result") {
            let id = id_of(block, "tool_use_id");
            let in_front = first_other.is_none_or(|other| at < other);
            let Some(place) = open.iter().position(|known| *known == id) else {
                return Err(Refusal::anthropic(format!(
                    "messages.{}.content.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                     `tool_result` block must have a corresponding `tool_use` block in the previous message.",
                    message.at
                )));
            };
            if in_front {
                open.remove(place);
            }
        }
        refuse_unanswered(opened_at, &open)?;
        open.clear();
    }
    refuse_unanswered(opened_at, &open)
}

fn refuse_unanswered(at: usize, open: &[String]) -> Result<(), Refusal> {
    if open.is_empty() {
        return Ok(());
    }
    Err(Refusal::anthropic(format!(
        "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` \
         block must have a corresponding `tool_result` block in the next message.",
        open.join(", ")
    )))
}

fn id_of(block: &Value, field: &str) -> String {
    block[field].as_str().unwrap_or_default().to_owned()
}

/// Refuses more than four cache marks, marks on reasoning or empty text, and long-lived marks after short-lived ones.
fn check_cache_marks(body: &Value, messages: &[Message<'_>]) -> Result<(), Refusal> {
    let tools = body["tools"].as_array().into_iter().flatten();
    let system = blocks(&body["system"]);
    let said = messages.iter().flat_map(|message| &message.blocks);
    let marked: Vec<&Value> =
        tools.chain(&system).chain(said).filter(|block| !block["cache_control"].is_null()).collect();
    if marked.len() > CACHE_MARKS_MAX {
        return Err(Refusal::anthropic(format!(
            "A maximum of {CACHE_MARKS_MAX} blocks with cache_control may be provided. Found {}.",
            marked.len()
        )));
    }
    if marked.iter().any(|block| matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))) {
        return Err(Refusal::anthropic("thinking.cache_control: Extra inputs are not permitted".to_owned()));
    }
    if marked.iter().any(|block| block["type"] == "text" && block["text"] == "") {
        return Err(Refusal::anthropic("cache_control cannot be set for empty text blocks".to_owned()));
    }
    let lasting = |block: &&Value| block["cache_control"]["ttl"] == "1h";
    let first_short = marked.iter().position(|block| !lasting(block)).unwrap_or(marked.len());
    if marked[first_short..].iter().any(lasting) {
        return Err(Refusal::anthropic(
            "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.".to_owned(),
        ));
    }
    Ok(())
}

/// Refuses reasoning that does not come after exactly what it was made on.
fn check_reasoning(body: &Value, messages: &[Message<'_>]) -> Result<Prefix, Refusal> {
    let mut prefix = Prefix::default();
    for tool in body["tools"].as_array().into_iter().flatten() {
        // A deferred tool is added to the list when a search loads it, which does not change the prompt.
        if tool["defer_loading"] != true {
            prefix.take("tool", tool);
        }
    }
    for block in blocks(&body["system"]) {
        if !is_attribution(&block) {
            prefix.take("system", &block);
        }
    }
    let latest = messages.iter().rfind(|message| message.role == "assistant").map(|message| message.at);
    for message in messages {
        for (at, block) in message.blocks.iter().enumerate() {
            if let Some((words, seal)) = reasoning(block) {
                let place = format!("messages.{}.content.{at}", message.at);
                let age = if latest == Some(message.at) { Age::Latest } else { Age::Earlier };
                refuse_reasoning(prefix.verdict(seal, words), age, &place)?;
            }
            prefix.take(message.role, block);
        }
    }
    Ok(prefix)
}

/// The words of a reasoning block and the seal on them; `None` for other blocks.
fn reasoning(block: &Value) -> Option<(&str, &str)> {
    let text = |field: &str| block[field].as_str().unwrap_or_default();
    match block["type"].as_str() {
        Some("thinking") => Some((text("thinking"), text("signature"))),
        Some("redacted_thinking") => Some(("", text("data"))),
        _ => None,
    }
}

/// Whether a block is what a client writes about itself.
pub(crate) fn is_attribution(block: &Value) -> bool {
    block["text"].as_str().is_some_and(|text| text.starts_with(ATTRIBUTION))
}

/// Whether reasoning is in the model's latest message or in an earlier one.
#[derive(Clone, Copy)]
enum Age {
    Latest,
    Earlier,
}

fn refuse_reasoning(verdict: Verdict, age: Age, place: &str) -> Result<(), Refusal> {
    match (verdict, age) {
        (Verdict::Holds, _) => Ok(()),
        (Verdict::Changed, Age::Latest) => Err(Refusal::anthropic(format!(
            "{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. \
             These blocks must remain as they were in the original response."
        ))),
        (Verdict::Forged, _) | (Verdict::Changed, Age::Earlier) => {
            Err(Refusal::anthropic(format!("{place}: Invalid `signature` in `thinking` block")))
        }
        (Verdict::OtherPrefix, _) => Err(Refusal::anthropic(format!(
            "{place}: `thinking` block signature is bound to a different conversation. Blocks must be sent back with \
             the system prompt, tools and messages that preceded them unchanged."
        ))),
    }
}
