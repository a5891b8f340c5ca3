//! Tests of rewriting lines of Codex rollouts.

use insta::assert_snapshot;

use super::*;

fn line(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "t", "type": kind, "payload": payload})
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
    let edits = [(0, LineEdit::Result("short".to_owned()))];
    assert_snapshot!(rewrite(output, &edits, &session(), 0).unwrap(), @r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"1","output":"short"}}"#);
    let call =
        r#"{"type":"response_item","payload":{"type":"function_call","call_id":"1","arguments":"{\"a\":\"long\"}"}}"#;
    let edits = [(0, LineEdit::Input(r#"{"a":"s"}"#.to_owned()))];
    assert_snapshot!(rewrite(call, &edits, &session(), 0).unwrap(), @r#"{"type":"response_item","payload":{"type":"function_call","call_id":"1","arguments":"{\"a\":\"s\"}"}}"#);
    assert_eq!(rewrite(call, &[(0, LineEdit::Drop)], &session(), 0), None);
}

#[test]
fn what_a_compaction_holds_changes_inside_of_it() {
    let text = r#"{"type":"compacted","payload":{"message":"m","replacement_history":[{"type":"message"},{"type":"reasoning"},{"type":"function_call_output","output":"long"}],"replacement_history_metadata":[1,2,3],"latest_token_usage_record":{"thread_id":"old","usage":{"input_tokens":9}}}}"#;
    let edits = [(1, LineEdit::Drop), (2, LineEdit::Result("short".to_owned()))];
    assert_snapshot!(rewrite(text, &edits, &session(), 0).unwrap(), @r#"{"type":"compacted","payload":{"message":"m","replacement_history":[{"type":"message"},{"type":"function_call_output","output":"short"}],"replacement_history_metadata":[1,3],"latest_token_usage_record":null}}"#);
}

#[test]
fn only_text_can_be_moved() {
    let result = json!({"type": "function_call_output", "output": "x"});
    let image = json!({"type": "function_call_output", "output": [{"type": "input_image"}]});
    assert_eq!(traits(&line("response_item", result.clone()).to_string()).editable, [true]);
    assert_eq!(traits(&line("response_item", image.clone()).to_string()).editable, [false]);
    assert_eq!(traits(&line("response_item", json!({"type": "web_search_call"})).to_string()).editable, [false]);
    let compaction = line("compacted", json!({"message": "m", "replacement_history": [image, result]}));
    assert_eq!(traits(&compaction.to_string()).editable, [false, true]);
}
