//! Lines of rollouts, those that count, and what becomes of them.

use insta::assert_snapshot;

use super::*;

fn live(lines: &[Value]) -> String {
    let mut survey = Survey::default();
    for (number, line) in (1..).zip(lines) {
        survey.look(number, Span { offset: 0, bytes: 0 }, &line.to_string());
    }
    survey.live().iter().map(|live| live.number.to_string()).collect::<Vec<_>>().join(" ")
}

fn line(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "t", "type": kind, "payload": payload})
}

fn meta() -> Value {
    line("session_meta", json!({"id": "old"}))
}

fn user() -> [Value; 2] {
    [
        line("response_item", json!({"type": "message", "role": "user"})),
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
fn a_compaction_stands_for_everything_before_it_with_the_settings() {
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

fn session() -> NewSession {
    NewSession { id: "new".to_owned(), old_id: "old".to_owned() }
}

#[test]
fn the_id_changes_where_it_names_the_session_and_nowhere_else() {
    let meta =
        r#"{"timestamp":"t", "ordinal":7,"type":"session_meta","payload":{"id":"old","session_id":"old","cwd":"old"}}"#;
    assert_snapshot!(rewrite(meta, &[], &session(), 0).unwrap(), @r#"{"timestamp":"t", "ordinal":0,"type":"session_meta","payload":{"id":"new","session_id":"new","cwd":"old"}}"#);
    let said = r#"{"type":"response_item","payload":{"type":"message","id":"old","content":[{"text":"old"}]}}"#;
    assert_eq!(rewrite(said, &[], &session(), 3).unwrap(), said);
}

#[test]
fn results_and_inputs_change_in_place() {
    let output = r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"1","output":"long"}}"#;
    let edits = [(0, Edit::Result("short".to_owned()))];
    assert_snapshot!(rewrite(output, &edits, &session(), 0).unwrap(), @r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"1","output":"short"}}"#);
    let call =
        r#"{"type":"response_item","payload":{"type":"function_call","call_id":"1","arguments":"{\"a\":\"long\"}"}}"#;
    let edits = [(0, Edit::Input(r#"{"a":"s"}"#.to_owned()))];
    assert_snapshot!(rewrite(call, &edits, &session(), 0).unwrap(), @r#"{"type":"response_item","payload":{"type":"function_call","call_id":"1","arguments":"{\"a\":\"s\"}"}}"#);
    assert_eq!(rewrite(call, &[(0, Edit::Drop)], &session(), 0), None);
}

#[test]
fn what_a_compaction_holds_changes_inside_of_it() {
    let text = r#"{"type":"compacted","payload":{"message":"m","replacement_history":[{"type":"message"},{"type":"reasoning"},{"type":"function_call_output","output":"long"}],"replacement_history_metadata":[1,2,3],"latest_token_usage_record":{"thread_id":"old","usage":{"input_tokens":9}}}}"#;
    let edits = [(1, Edit::Drop), (2, Edit::Result("short".to_owned()))];
    assert_snapshot!(rewrite(text, &edits, &session(), 0).unwrap(), @r#"{"type":"compacted","payload":{"message":"m","replacement_history":[{"type":"message"},{"type":"function_call_output","output":"short"}],"replacement_history_metadata":[1,3],"latest_token_usage_record":null}}"#);
}

#[test]
fn only_text_can_be_moved() {
    let result = json!({"type": "function_call_output", "output": "x"});
    let image = json!({"type": "function_call_output", "output": [{"type": "input_image"}]});
    assert_eq!(editable(&line("response_item", result.clone()).to_string()), [true]);
    assert_eq!(editable(&line("response_item", image.clone()).to_string()), [false]);
    assert_eq!(editable(&item("web_search_call").to_string()), [false]);
    let compaction = line("compacted", json!({"message": "m", "replacement_history": [image, result]}));
    assert_eq!(editable(&compaction.to_string()), [false, true]);
}
