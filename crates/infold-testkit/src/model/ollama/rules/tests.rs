//! The documented form passes; each way to differ from it is refused.

use serde_json::{Value, json};

use super::check;

fn request(messages: Value) -> Value {
    let tools = json!([{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]);
    json!({"model": "m", "messages": messages, "tools": tools, "stream": true, "options": {"num_ctx": 4096}})
}

fn call() -> Value {
    json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "read", "arguments": {"a": 1}}}]})
}

fn refusal(body: &Value) -> Option<String> {
    check(body).err().map(|refusal| refusal.message)
}

#[test]
fn a_call_with_its_result_passes() {
    let result = json!({"role": "tool", "tool_name": "read", "content": "x"});
    let body = request(json!([{"role": "user", "content": "go"}, call(), result]));
    assert_eq!(refusal(&body), None);
}

#[test]
fn what_ollama_does_not_document_is_refused() {
    let user = json!({"role": "user", "content": "go"});
    let mut extra = request(json!([user]));
    extra["prompt_cache_key"] = json!("k");
    let mut level = request(json!([user]));
    level["think"] = json!("low");
    let mut text = call();
    text["tool_calls"][0]["function"]["arguments"] = json!("{}");
    let mut with_id = call();
    with_id["tool_calls"][0]["id"] = json!("call_1");
    let other = json!({"role": "tool", "tool_name": "write", "content": "x"});
    for (body, part) in [
        (extra, "prompt_cache_key"),
        (level, "not supported for this model"),
        (request(json!([user, text])), "arguments"),
        (request(json!([user, with_id])), "\"id\""),
        (request(json!([user, call()])), "have no result"),
        (request(json!([user, call(), other])), "answers no call"),
        (request(json!([user, call(), user])), "calls without a result"),
        (request(json!([{"role": "user", "content": null}])), "of type string"),
    ] {
        assert!(refusal(&body).is_some_and(|message| message.contains(part)), "{part}: {:?}", refusal(&body));
    }
}
