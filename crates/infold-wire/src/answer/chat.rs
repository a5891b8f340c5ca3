//! Reads answers of OpenAI's Chat Completions API, and of servers that imitate it, into an [`AnswerState`].

use super::state::{AnswerState, count};
use crate::request::json::{At, Document};

/// Reads one event of a stream.
pub(super) fn event(state: &mut AnswerState, document: &Document<'_>) {
    if !state.take_error(document, 0) {
        take_choices(state, document, "delta");
    }
}

/// Reads an answer that came as one JSON value.
pub(super) fn whole(state: &mut AnswerState, document: &Document<'_>) {
    take_choices(state, document, "message");
    if document.field(0, "choices").is_some() {
        state.end();
    }
}

fn take_choices(state: &mut AnswerState, document: &Document<'_>, inner: &str) {
    state.model(document.text_field(0, "model").map(|model| model.into_owned()));
    let choices = document.field(0, "choices");
    for choice in choices.into_iter().flat_map(|choices| document.elements(choices)) {
        let index = count(document, choice, "index").unwrap_or_default();
        if let Some(said) = document.field(choice, inner) {
            take_message(state, document, said, index);
        }
        if let Some(reason) = document.text_field(choice, "finish_reason") {
            state.stop(Some(reason.into_owned()));
            // Not every server sends the `[DONE]` that ends a stream.
            state.end();
        }
    }
    // Only the last event of a stream has usage, and only if the client asked for it.
    let names = ["prompt_tokens", "prompt_tokens_details", "completion_tokens"];
    state.take_usage(document, 0, names);
}

/// Reads what a choice says, or the next part of it: words, thoughts and calls.
fn take_message(state: &mut AnswerState, document: &Document<'_>, said: At, choice: u64) {
    let words = document.text_field(said, "content").or_else(|| document.text_field(said, "refusal"));
    // A client continues with one choice, and the words of several would be mixed up.
    if choice == 0 {
        state.take_text(&words.unwrap_or_default());
    }
    let thought = document.text_field(said, "reasoning_content").or_else(|| document.text_field(said, "reasoning"));
    state.take_thought(&thought.unwrap_or_default());
    let calls = document.field(said, "tool_calls");
    for (place, call) in (0..).zip(calls.into_iter().flat_map(|calls| document.elements(calls))) {
        let key = (choice, count(document, call, "index").unwrap_or(place));
        let inner = document.field(call, "function").or_else(|| document.field(call, "custom"));
        let text = |key: &str| inner.and_then(|inner| document.text_field(inner, key));
        let id = document.text_field(call, "id").unwrap_or_default();
        // An event that continues a call may repeat its id, or leave it out.
        let goes_on = state.call(key).is_some_and(|call| id.is_empty() || call.id == id);
        if !goes_on {
            state.begin_call(key, id.into_owned(), text("name").unwrap_or_default().into_owned());
        }
        if let Some(call) = state.call(key) {
            call.extend(&text("arguments").or_else(|| text("input")).unwrap_or_default());
        }
    }
}
