//! Reads answers of OpenAI's Responses API into an [`AnswerState`].

use super::state::AnswerState;
use crate::request::joined;
use crate::request::json::{At, Document};

/// Reads one event of a stream.
pub(super) fn event(state: &mut AnswerState, document: &Document<'_>) {
    let whole = || document.field(0, "response");
    match document.text_field(0, "type").as_deref() {
        Some("response.output_text.delta" | "response.refusal.delta") => {
            state.take_text(&document.text_field(0, "delta").unwrap_or_default());
        }
        Some("response.reasoning_summary_text.delta" | "response.reasoning_text.delta") => {
            state.take_thought(&document.text_field(0, "delta").unwrap_or_default());
        }
        Some("response.output_item.done") => {
            if let Some(item) = document.field(0, "item") {
                pause_behind(state, document, item);
                take_call(state, document, item);
            }
        }
        Some("response.completed" | "response.incomplete" | "response.failed" | "response.cancelled") => {
            if let Some(at) = whole() {
                response(state, document, at);
            }
        }
        Some("error") => state.take_error_event(document),
        _ => {}
    }
}

/// Reads a `response` object: an answer that came as one value, or the copy of the whole answer that a stream ends
/// with. What the stream has already said is not read again.
pub(super) fn response(state: &mut AnswerState, document: &Document<'_>, at: At) {
    let text = |key: &str| document.text_field(at, key).map(|text| text.into_owned());
    state.model(text("model"));
    let items = document.field(at, "output");
    let items: Vec<At> = items.map_or_else(Vec::new, |items| document.elements(items).collect());
    if state.text_chars() == 0 {
        items.iter().for_each(|item| take_words(state, document, *item));
    }
    if !state.has_thought() {
        items.iter().for_each(|item| take_thoughts(state, document, *item));
    }
    items.iter().for_each(|item| take_call(state, document, *item));
    let details = document.field(at, "incomplete_details");
    let reason = details.and_then(|details| document.text_field(details, "reason")).map(|reason| reason.into_owned());
    let status = text("status");
    state.stop(reason.or_else(|| status.clone()));
    state.take_usage(document, at, ["input_tokens", "input_tokens_details", "output_tokens"]);
    let has_failed = state.take_error(document, at);
    match status.as_deref() {
        Some("completed" | "incomplete") | None => state.end(),
        Some("failed" | "cancelled") if !has_failed => state.fail(status, String::new()),
        Some(_) => {}
    }
}

/// Reads the words of an item, if it is a message.
fn take_words(state: &mut AnswerState, document: &Document<'_>, item: At) {
    if document.text_field(item, "type").as_deref() != Some("message") {
        return;
    }
    let parts = document.field(item, "content");
    for part in parts.into_iter().flat_map(|parts| document.elements(parts)) {
        let said = document.text_field(part, "text").or_else(|| document.text_field(part, "refusal"));
        state.take_text(&said.unwrap_or_default());
    }
    pause_behind(state, document, item);
}

/// Marks the words so far as whole, because their item is over, unless the model was stopped in the middle of it.
fn pause_behind(state: &mut AnswerState, document: &Document<'_>, item: At) {
    if document.text_field(item, "status").as_deref() != Some("incomplete") {
        state.pause();
    }
}

/// Reads the thoughts in an item, if it is a reasoning item and shows any.
fn take_thoughts(state: &mut AnswerState, document: &Document<'_>, item: At) {
    if document.text_field(item, "type").as_deref() != Some("reasoning") {
        return;
    }
    let parts = ["summary", "content"].iter().filter_map(|key| document.field(item, key));
    for part in parts.flat_map(|parts| document.elements(parts)) {
        state.take_thought(&document.text_field(part, "text").unwrap_or_default());
    }
}

/// Reads the call that an item is. A stream sends each item twice, alone and in the whole answer; only the first
/// counts.
fn take_call(state: &mut AnswerState, document: &Document<'_>, item: At) {
    let text = |key: &str| document.text_field(item, key);
    let kind = text("type").unwrap_or_default();
    let Some(id) = text("call_id").filter(|id| kind.ends_with("_call") && !state.has_call(id)) else { return };
    let name = text("name").unwrap_or_else(|| kind.trim_end_matches("_call").to_owned().into());
    let tool = joined(text("namespace").as_deref(), name).into_owned();
    let call = state.begin_call((0, 0), id.into_owned(), tool);
    let arguments = ["arguments", "input", "action", "operation"].iter().find_map(|key| document.field(item, key));
    if let (Some(at), Some(call)) = (arguments, call) {
        call.extend(&document.text(at).unwrap_or_else(|| document.raw(at).into()));
    }
}
