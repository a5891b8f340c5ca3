//! Requests that follow and that break each of Anthropic's rules.

use serde_json::{Value, json};

use super::check;
use crate::model::seal::Prefix;

fn refusal(body: &Value) -> String {
    check(body).err().map(|refusal| refusal.message).unwrap_or_default()
}

fn request(messages: Value) -> Value {
    json!({"model": "m", "system": "be brief", "tools": [{"name": "Read"}], "messages": messages})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "a"}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "x"})
}

#[test]
fn parallel_calls_answered_in_the_next_user_message_pass() {
    let body = request(json!([
        {"role": "user", "content": "go"},
        {"role": "system", "content": []},
        {"role": "assistant", "content": [call("a"), call("b")]},
        {"role": "user", "content": [result("b"), result("a"), {"type": "text", "text": "and more"}]},
        {"role": "system", "content": "the date"},
    ]));
    assert_eq!(refusal(&body), "");
}

#[test]
fn a_call_without_its_result_is_refused() {
    let body = request(json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call("a"), call("b")]},
        {"role": "user", "content": [result("a")]},
    ]));
    assert!(refusal(&body).starts_with("messages.1: `tool_use` ids were found without `tool_result` blocks"));
}

#[test]
fn a_result_after_text_does_not_count_as_one() {
    let body = request(json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call("a")]},
        {"role": "user", "content": [{"type": "text", "text": "first"}, result("a")]},
    ]));
    assert!(refusal(&body).contains("immediately after: a"));
}

#[test]
fn a_result_without_its_call_is_refused() {
    let body = request(json!([{"role": "user", "content": [result("srvtoolu_1")]}]));
    assert!(refusal(&body).contains("unexpected `tool_use_id` found in `tool_result` blocks: srvtoolu_1"));
}

#[test]
fn the_last_word_is_the_users() {
    let body = request(json!([{"role": "user", "content": "go"}, {"role": "assistant", "content": "I"}]));
    assert!(refusal(&body).contains("must end with a user message"));
}

#[test]
fn a_fifth_cache_mark_is_refused() {
    let marked = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
    let blocks = |count: usize| json!([{"role": "user", "content": vec![marked.clone(); count]}]);
    assert_eq!(refusal(&request(blocks(4))), "");
    assert_eq!(refusal(&request(blocks(5))), "A maximum of 4 blocks with cache_control may be provided. Found 5.");
}

#[test]
fn long_lived_cache_marks_come_first() {
    let marked = |ttl: &str| json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": ttl}});
    let body =
        |first: &str, second: &str| request(json!([{"role": "user", "content": [marked(first), marked(second)]}]));
    assert_eq!(refusal(&body("1h", "5m")), "");
    assert!(refusal(&body("5m", "1h")).contains("must not come after"));
}

#[test]
fn reasoning_comes_back_only_after_what_it_was_said_after() {
    let first = request(json!([{"role": "user", "content": "go"}]));
    let prefix: Prefix = check(&first).unwrap();
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": prefix.seal("hm")});
    let then = |asked: &str, thought: &Value| {
        request(json!([
            {"role": "user", "content": asked},
            {"role": "assistant", "content": [thought, call("a")]},
            {"role": "user", "content": [result("a")]},
        ]))
    };
    assert_eq!(refusal(&then("go", &thought)), "");
    assert!(refusal(&then("go on", &thought)).contains("bound to a different conversation"));
    let changed = json!({"type": "thinking", "thinking": "hum", "signature": prefix.seal("hm")});
    assert!(refusal(&then("go", &changed)).contains("in the latest assistant message cannot be modified"));
    let foreign = json!({"type": "thinking", "thinking": "hm", "signature": "somebody else's"});
    assert!(refusal(&then("go", &foreign)).contains("Invalid `signature`"));
}

/// A request with one part of every kind that reasoning is bound to.
fn long_request() -> Value {
    let mut body = request(json!([
        {"role": "user", "content": [{"type": "text", "text": "rules"}, {"type": "text", "text": "go"}]},
        {"role": "system", "content": "environment"},
        {"role": "assistant", "content": [call("a")]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "printed"}]},
    ]));
    body["tools"] = json!([{"name": "Read", "description": "reads"}]);
    body["system"] = json!([{"type": "text", "text": "you are"}]);
    body
}

/// The same request, followed by reasoning with this signature and a call.
fn thought_after(body: &Value, signature: &str) -> Value {
    let mut body = body.clone();
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": signature});
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": [thought, call("b")]}));
    messages.push(json!({"role": "user", "content": [result("b")]}));
    body
}

#[test]
fn reasoning_is_bound_to_everything_before_it() {
    let body = long_request();
    let signature = check(&body).unwrap().seal("hm");
    assert_eq!(refusal(&thought_after(&body, &signature)), "");
    let places = [
        "/tools/0/description",
        "/system/0/text",
        "/messages/0/content/0/text",
        "/messages/0/content/1/text",
        "/messages/1/content",
        "/messages/2/content/0/input",
        "/messages/3/content/0/content",
    ];
    for place in places {
        let mut edited = body.clone();
        *edited.pointer_mut(place).unwrap() = json!("something else");
        let refused = refusal(&thought_after(&edited, &signature));
        assert!(refused.contains("bound to a different conversation"), "{place}: {refused}");
    }
    let mut shorter = body.clone();
    shorter["messages"][0]["content"].as_array_mut().unwrap().remove(0);
    assert!(refusal(&thought_after(&shorter, &signature)).contains("bound to a different conversation"));
}

#[test]
fn reasoning_is_not_bound_to_cache_marks_forms_of_text_or_settings() {
    let body = long_request();
    let signature = check(&body).unwrap().seal("hm");
    let mut same = body;
    same["messages"][0]["content"][1]["cache_control"] = json!({"type": "ephemeral"});
    same["messages"][1]["content"] = json!([{"type": "text", "text": "environment"}]);
    same["messages"][3]["content"][0]["content"] = json!([{"type": "text", "text": "printed"}]);
    same["max_tokens"] = json!(9);
    same["metadata"] = json!({"user_id": "another"});
    assert_eq!(refusal(&thought_after(&same, &signature)), "");
}

#[test]
fn nobody_says_nothing() {
    let body = request(json!([{"role": "user", "content": []}]));
    assert!(refusal(&body).contains("must have non-empty content"));
    let body = request(json!([{"role": "user", "content": [{"type": "text", "text": ""}]}]));
    assert!(refusal(&body).contains("text content blocks must be non-empty"));
}

#[test]
fn what_is_referred_to_as_loaded_is_among_the_tools() {
    let body = request(json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call("a")]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "tool_reference", "tool_name": "Gone"}]},
        ]},
    ]));
    assert_eq!(refusal(&body), "Tool reference 'Gone' not found in available tools");
}
