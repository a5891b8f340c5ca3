//! The codec by itself; whole sessions are in the provider's own tests.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{UnreadableBody, outgoing_body};
use crate::provider::ProviderApi;

fn translated(chat: &Value) -> Value {
    let body = outgoing_body(ProviderApi::Ollama, Bytes::from(chat.to_string()), 4_096).unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[test]
fn other_bodies_are_sent_as_they_are() {
    let body = Bytes::from_static(b"{ \"odd\":  1}");
    for api in [ProviderApi::Anthropic, ProviderApi::Responses, ProviderApi::Chat] {
        assert_eq!(outgoing_body(api, body.clone(), 1), Ok(body.clone()));
    }
}

#[test]
fn content_in_parts_and_odd_arguments_are_translated() {
    let calls = json!([{"id": "c", "type": "function", "function": {"name": "run", "arguments": "cut {"}}]);
    let body = translated(&json!({"model": "m", "messages": [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": null, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "out"}]},
    ]}));
    assert_eq!(body["think"], json!(false));
    assert_eq!(body["options"], json!({"num_ctx": 4096}));
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": "a\nb"},
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "run", "arguments": {"input": "cut {"}}}]},
            {"role": "tool", "content": "out", "tool_name": "run"},
        ])
    );
}

#[test]
fn only_models_with_levels_are_asked_how_much_to_think() {
    let asked = |model: &str| translated(&json!({"model": model, "reasoning_effort": "low", "messages": []}));
    assert_eq!(asked("library/gpt-oss:20b")["think"], json!("low"));
    assert_eq!(asked("qwen3")["think"], json!(true));
}

#[test]
fn what_is_no_chat_request_is_not_sent() {
    for body in ["no json", "{\"model\": \"m\"}"] {
        let body = Bytes::from_static(body.as_bytes());
        assert_eq!(outgoing_body(ProviderApi::Ollama, body, 1), Err(UnreadableBody));
    }
}
