//! Tests with recordings of Codex, whose lines are in a row.

use serde_json::{Value, json};

use crate::form::Format;

fn live(lines: &[Value]) -> String {
    super::loaded(Format::Codex, lines)
}

fn line(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "t", "type": kind, "payload": payload})
}

fn meta() -> Value {
    line("session_meta", json!({"id": "old"}))
}

fn user() -> [Value; 2] {
    [
        line(
            "response_item",
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}),
        ),
        line("event_msg", json!({"type": "user_message"})),
    ]
}

fn item(kind: &str) -> Value {
    line("response_item", json!({"type": kind}))
}

fn event(kind: &str) -> Value {
    line("event_msg", json!({"type": kind}))
}

#[test]
fn items_count_and_of_events_those_that_show_the_conversation() {
    let mut lines = vec![meta(), line("turn_context", json!({"model": "gpt-5.5"}))];
    lines.extend(user());
    lines.extend([item("reasoning"), event("agent_reasoning"), event("token_count"), event("exec_command_end")]);
    lines.extend([item("message"), event("agent_message"), line("token_usage_record", json!({}))]);
    assert_eq!(live(&lines), "1 2 3 4 5 9 10");
}

#[test]
fn a_compaction_replaces_everything_before_it_except_the_settings() {
    let mut lines = vec![meta(), line("turn_context", json!({}))];
    lines.extend(user());
    lines.push(line("compacted", json!({"message": "m", "replacement_history": []})));
    lines.extend(user());
    assert_eq!(live(&lines), "1 2 5 6 7");
}

#[test]
fn an_old_compaction_leaves_the_users_messages() {
    let mut lines = vec![meta(), item("message")];
    lines.extend(user());
    lines.extend([item("function_call"), line("compacted", json!({"message": "m"})), item("message")]);
    assert_eq!(live(&lines), "1 3 6 7");
}

#[test]
fn the_users_messages_outlast_any_number_of_old_compactions() {
    let mut lines = vec![meta()];
    lines.extend(user());
    lines.push(line("compacted", json!({"message": "first"})));
    lines.extend(user());
    lines.push(item("function_call"));
    lines.push(line("compacted", json!({"message": "second"})));
    lines.push(line("compacted", json!({"message": "third"})));
    assert_eq!(live(&lines), "1 2 5 9");
}

#[test]
fn what_was_rolled_back_does_not_count() {
    let mut lines = vec![meta()];
    lines.extend(user());
    lines.extend(user());
    lines.push(item("function_call"));
    lines.extend(user());
    lines.push(line("event_msg", json!({"type": "thread_rolled_back", "num_turns": 2})));
    lines.push(item("message"));
    assert_eq!(live(&lines), "1 2 3 10");
}
