//! Reads answers of Anthropic's Messages API into an [`AnswerState`].

use super::state::{AnswerState, count};
use crate::request::json::{At, Document};

/// Reads one event of a stream.
pub(super) fn event(state: &mut AnswerState, document: &Document<'_>) {
    let field = |key: &str| document.field(0, key);
    match document.text_field(0, "type").as_deref() {
        Some("message_start") => {
            if let Some(message) = field("message") {
                state.model(document.text_field(message, "model").map(|model| model.into_owned()));
                usage(state, document, message);
            }
        }
        Some("content_block_start") => {
            if let Some(block) = field("content_block") {
                take_block(state, document, block, count(document, 0, "index").unwrap_or_default());
            }
        }
        Some("content_block_delta") => {
            if let Some(delta) = field("delta") {
                take_delta(state, document, delta, count(document, 0, "index").unwrap_or_default());
            }
        }
        Some("message_delta") => {
            if let Some(delta) = field("delta") {
                state.stop(document.text_field(delta, "stop_reason").map(|reason| reason.into_owned()));
            }
            usage(state, document, 0);
        }
        Some("message_stop") => state.end(),
        Some("error") => state.take_error_event(document),
        _ => {}
    }
}

/// Reads an answer that came as one JSON value. An answer to `count_tokens` has a count and nothing else.
pub(super) fn whole(state: &mut AnswerState, document: &Document<'_>) {
    if let Some(tokens) = count(document, 0, "input_tokens") {
        state.usage().fresh_tokens = tokens;
        return state.end();
    }
    state.model(document.text_field(0, "model").map(|model| model.into_owned()));
    let blocks = document.field(0, "content");
    for (index, block) in (0..).zip(blocks.into_iter().flat_map(|blocks| document.elements(blocks))) {
        take_block(state, document, block, index);
    }
    state.stop(document.text_field(0, "stop_reason").map(|reason| reason.into_owned()));
    usage(state, document, 0);
    if blocks.is_some() {
        state.end();
    }
}

/// Reads a content block, or the start of one.
fn take_block(state: &mut AnswerState, document: &Document<'_>, block: At, index: u64) {
    state.pause();
    match document.text_field(block, "type").as_deref() {
        Some("tool_use") => {
            let text = |key: &str| document.text_field(block, key).unwrap_or_default().into_owned();
            let call = state.begin_call((0, index), text("id"), text("name"));
            // A stream starts a call with an empty object and sends the arguments in later events.
            let input = document.field(block, "input").filter(|input| document.members(*input).next().is_some());
            if let (Some(input), Some(call)) = (input, call) {
                call.extend(document.raw(input));
            }
        }
        Some("text") => state.take_text(&document.text_field(block, "text").unwrap_or_default()),
        Some("thinking") => state.take_thought(&document.text_field(block, "thinking").unwrap_or_default()),
        _ => {}
    }
}

fn take_delta(state: &mut AnswerState, document: &Document<'_>, delta: At, index: u64) {
    match document.text_field(delta, "type").as_deref() {
        Some("text_delta") => state.take_text(&document.text_field(delta, "text").unwrap_or_default()),
        Some("thinking_delta") => state.take_thought(&document.text_field(delta, "thinking").unwrap_or_default()),
        Some("input_json_delta") => {
            if let Some(call) = state.call((0, index)) {
                call.extend(&document.text_field(delta, "partial_json").unwrap_or_default());
            }
        }
        _ => {}
    }
}

/// Reads the counts in an object's `usage`. Each is a total for the answer so far, so a new count replaces the old one,
/// and a missing one leaves it.
fn usage(state: &mut AnswerState, document: &Document<'_>, at: At) {
    let Some(said) = document.field(at, "usage").filter(|said| document.raw(*said) != "null") else { return };
    let counted = |key: &str| count(document, said, key);
    let usage = state.usage();
    for (place, tokens) in [
        (&mut usage.fresh_tokens, counted("input_tokens")),
        (&mut usage.cache_read_tokens, counted("cache_read_input_tokens")),
        (&mut usage.cache_write_tokens, counted("cache_creation_input_tokens")),
        (&mut usage.output_tokens, counted("output_tokens")),
    ] {
        *place = tokens.unwrap_or(*place);
    }
}
