//! Requests that follow and that break the rule about calls and their answers.

use serde_json::{Value, json};

use super::check;

fn refusal(messages: Value) -> String {
    check(&json!({"messages": messages})).err().map(|refusal| refusal.message).unwrap_or_default()
}

fn calling(id: &str) -> Value {
    let call = json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": "{}"}});
    json!({"role": "assistant", "content": null, "tool_calls": [call]})
}

#[test]
fn every_call_is_followed_by_its_own_answer() {
    let answer = json!({"role": "tool", "tool_call_id": "a", "content": "x"});
    let user = json!({"role": "user", "content": "go"});
    assert_eq!(refusal(json!([user, calling("a"), answer, user])), "");
    assert!(refusal(json!([user, calling("a"), user])).contains("did not have response messages: a"));
    assert!(refusal(json!([user, answer])).contains("must be a response to a preceeding message"));
}
