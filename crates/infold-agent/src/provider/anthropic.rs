//! Requests in the form of Anthropic's Messages API.
//!
//! What must hold: nothing in front of the messages changes while a thread grows, and of a message nothing but the place
//! of a cache mark; at most four blocks carry one. Content is always a list of blocks, because a text and a list with that
//! text are different prefixes for the provider's cache.

use serde_json::{Map, Value, json};

use super::rounds::{Round, Said, SentWords, is_blank, rounds};
use super::{Prompt, ToolDefinition};
use crate::ResultOutcome;

/// The blocks that reasoning comes in.
pub(super) const REASONING: [&str; 2] = ["thinking", "redacted_thinking"];
/// Most blocks with a cache mark that a request may have.
const MARKS_MAX: usize = 4;
/// How many of them the instructions may use, so that one is left for the messages.
const SYSTEM_MARKS_MAX: usize = MARKS_MAX - 1;
/// How many blocks in front of a mark the provider looks for an earlier one.
const LOOK_BACK_BLOCKS: usize = 20;

/// Writes a request.
pub(super) fn body(prompt: &Prompt<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(prompt.model));
    body.insert("max_tokens".to_owned(), json!(prompt.max_output_tokens));
    body.insert("stream".to_owned(), json!(true));
    if let Some(effort) = prompt.reasoning.word() {
        // Current models decide themselves when to think, and show their thoughts only if they are asked to.
        body.insert("thinking".to_owned(), json!({"type": "adaptive", "display": "summarized"}));
        body.insert("output_config".to_owned(), json!({ "effort": effort }));
    }
    if !prompt.tools.is_empty() {
        body.insert("tools".to_owned(), prompt.tools.iter().map(tool).collect());
    }
    let system = system(prompt.system, prompt.breakpoints);
    let marks_left = MARKS_MAX - system.iter().filter(|block| !block["cache_control"].is_null()).count();
    if !system.is_empty() {
        body.insert("system".to_owned(), Value::Array(system));
    }
    let rounds = rounds(prompt, &REASONING);
    let mut messages = messages(rounds);
    mark_messages(&mut messages, marks_left);
    body.insert("messages".to_owned(), Value::Array(messages));
    Value::Object(body)
}

fn tool(tool: &ToolDefinition) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
}

/// The instructions in blocks that end at the breakpoints, the last ones of which carry marks.
fn system(text: &str, breakpoints: &[usize]) -> Vec<Value> {
    let mut blocks = Vec::new();
    let mut start = 0;
    for end in breakpoints.iter().map(|at| text.floor_char_boundary(*at)) {
        // A part of white space alone would be refused, and goes with the next one.
        if end > start && !is_blank(&text[start..end]) {
            blocks.push(text_block(&text[start..end]));
            start = end;
        }
    }
    let marked = blocks.len();
    for block in blocks.iter_mut().skip(marked.saturating_sub(SYSTEM_MARKS_MAX)) {
        mark(block);
    }
    if !is_blank(&text[start..]) {
        blocks.push(text_block(&text[start..]));
    }
    blocks
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

fn messages(rounds: Vec<Round<'_>>) -> Vec<Value> {
    let mut messages = Vec::new();
    for round in rounds {
        let results = round.results.into_iter().map(|result| {
            let mut block = json!({"type": "tool_result", "tool_use_id": result.id, "content": result.text});
            if result.outcome == ResultOutcome::Failed {
                block["is_error"] = json!(true);
            }
            block
        });
        let user: Vec<Value> = results.chain(round.words.into_iter().flat_map(words_blocks)).collect();
        let model: Vec<Value> = round.said.into_iter().map(said_block).collect();
        for (role, content) in [("user", user), ("assistant", model)] {
            if !content.is_empty() {
                messages.push(json!({"role": role, "content": content}));
            }
        }
    }
    messages
}

/// Images come before the words about them, so that the words are where a cache mark may be.
fn words_blocks(words: SentWords<'_>) -> Vec<Value> {
    let images = words.images.iter().map(|image| {
        json!({"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.base64}})
    });
    images.chain([text_block(words.text)]).collect()
}

fn said_block(said: Said<'_>) -> Value {
    match said {
        Said::Words(text) => text_block(text),
        Said::Thought(sealed) => sealed.clone(),
        Said::Call(call) => {
            json!({"type": "tool_use", "id": call.id, "name": call.tool, "input": call.arguments})
        }
    }
}

/// Marks the last block, so that the next request finds everything up to it in the cache. If this request has so many
/// new blocks that the provider would not look back as far as the mark of the one before, that mark stays as well.
fn mark_messages(messages: &mut [Value], marks_left: usize) {
    let users: Vec<usize> = (0..messages.len()).filter(|at| messages[*at]["role"] == "user").collect();
    let earlier = users.len().checked_sub(2).map(|at| users[at]);
    let new_blocks = |from: usize| messages[from + 1..].iter().map(|message| blocks_of(message).len()).sum::<usize>();
    let far = earlier.filter(|from| marks_left > 1 && new_blocks(*from) >= LOOK_BACK_BLOCKS);
    for at in users.last().copied().into_iter().chain(far) {
        // The user's side has texts that are not blank, and results, all of which may carry a mark.
        if let Some(block) = messages[at]["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
            mark(block);
        }
    }
}

fn blocks_of(message: &Value) -> &[Value] {
    message["content"].as_array().map(Vec::as_slice).unwrap_or_default()
}
