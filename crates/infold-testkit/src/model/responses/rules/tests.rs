//! Requests that follow and that break each of OpenAI's rules for Responses.

use serde_json::{Value, json};

use std::collections::HashMap;

use super::Checked;
use crate::model::refusal::Refusal;

fn check(body: &Value) -> Result<Checked, Refusal> {
    super::check(body, &HashMap::new())
}

fn refusal(input: Value) -> String {
    check(&json!({"input": input})).err().map(|refusal| refusal.message).unwrap_or_default()
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "exec_command", "arguments": "{}"})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "x"})
}

#[test]
fn calls_with_their_outputs_pass() {
    assert_eq!(refusal(json!([user("go"), call("a"), call("b"), output("b"), output("a")])), "");
}

#[test]
fn a_call_without_its_output_is_refused() {
    assert_eq!(refusal(json!([user("go"), call("a")])), "No tool output found for function call a.");
}

#[test]
fn an_output_without_its_call_is_refused() {
    let input = json!([user("go"), {"type": "custom_tool_call_output", "call_id": "a", "output": "x"}]);
    assert_eq!(refusal(input), "No tool call found for custom tool call output with call_id a.");
}

#[test]
fn reasoning_by_itself_is_refused() {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"});
    assert!(refusal(json!([user("go"), reasoning, user("on")])).contains("without its required following item"));
}

#[test]
fn reasoning_of_another_origin_is_refused_and_moved_reasoning_is_dropped() {
    let first = check(&json!({"input": [user("go")]})).unwrap();
    let summary = json!([{"type": "summary_text", "text": "hm"}]);
    let own =
        json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": first.prefix.seal("hm")});
    let same = check(&json!({"input": [user("go"), own, call("a"), output("a")]})).unwrap();
    assert_eq!(same.reasoning_dropped, 0);
    let moved = check(&json!({"input": [user("go on"), own, call("a"), output("a")]})).unwrap();
    assert_eq!(moved.reasoning_dropped, 1);
    let forged = json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "x"});
    assert!(refusal(json!([user("go"), forged, call("a"), output("a")])).contains("could not be verified"));
}
