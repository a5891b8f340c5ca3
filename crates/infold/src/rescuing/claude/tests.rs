//! Trees of lines, and the lines that count; lines, and what becomes of them.

use insta::assert_snapshot;
use serde_json::json;

use super::*;
use crate::rescuing::{Edit, NewSession};

/// The numbers of the lines that count, in order.
fn live(lines: &[Value]) -> String {
    let mut survey = Survey::default();
    for (number, line) in (1..).zip(lines) {
        survey.look(number, Span { offset: 0, bytes: 0 }, &line.to_string());
    }
    survey.live().iter().map(|live| live.number.to_string()).collect::<Vec<_>>().join(" ")
}

fn line(kind: &str, uuid: &str, parent: Option<&str>, more: Value) -> Value {
    let mut line = json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "old"});
    for (key, value) in more.as_object().into_iter().flatten() {
        line[key] = value.clone();
    }
    line
}

fn user(uuid: &str, parent: Option<&str>) -> Value {
    line("user", uuid, parent, json!({"message": {"role": "user", "content": "hello"}}))
}

fn call(uuid: &str, parent: &str, message: &str, id: &str) -> Value {
    let content = json!([{"type": "tool_use", "id": id, "name": "Read", "input": {}}]);
    line("assistant", uuid, Some(parent), json!({"message": {"id": message, "content": content}}))
}

fn result(uuid: &str, parent: &str, id: &str) -> Value {
    let content = json!([{"type": "tool_result", "tool_use_id": id, "content": "x"}]);
    line("user", uuid, Some(parent), json!({"message": {"role": "user", "content": content}}))
}

fn boundary(uuid: &str, metadata: Value) -> Value {
    line("system", uuid, None, json!({"subtype": "compact_boundary", "compactMetadata": metadata}))
}

#[test]
fn what_was_rewound_does_not_count() {
    let lines = [user("a", None), call("b", "a", "m1", "1"), result("c", "b", "1"), user("d", Some("a"))];
    assert_eq!(live(&lines), "1 4");
}

#[test]
fn notes_of_progress_link_lines_and_are_not_said() {
    let progress = line("progress", "p", Some("a"), json!({}));
    assert_eq!(live(&[user("a", None), progress.clone(), user("b", Some("p")), progress]), "1 3");
}

#[test]
fn results_of_calls_made_at_once_hang_beside_the_chain() {
    let lines = [
        user("a", None),
        call("b", "a", "m1", "1"),
        call("c", "b", "m1", "2"),
        result("d", "b", "1"),
        result("e", "c", "2"),
        user("f", Some("e")),
    ];
    assert_eq!(live(&lines), "1 2 3 4 5 6");
}

#[test]
fn a_result_that_was_written_before_its_call_comes_after_it() {
    let lines = [user("a", None), result("c", "b", "1"), call("b", "a", "m1", "1"), user("d", Some("c"))];
    assert_eq!(live(&lines), "1 3 2 4");
}

#[test]
fn a_call_beside_the_chain_comes_with_its_message() {
    let lines = [
        user("a", None),
        call("b", "a", "m1", "1"),
        call("c", "b", "m1", "2"),
        result("e", "c", "2"),
        result("d", "b", "1"),
        user("f", Some("d")),
    ];
    assert_eq!(live(&lines), "1 2 3 4 5 6");
}

#[test]
fn nothing_before_the_latest_compaction_counts_but_what_it_kept() {
    let kept = json!({"preservedMessages": {"anchorUuid": "s", "uuids": ["b", "c"]}});
    let lines = [
        user("a", None),
        call("b", "a", "m1", "1"),
        result("c", "b", "1"),
        boundary("x", kept),
        user("s", Some("x")),
        user("d", Some("s")),
    ];
    assert_eq!(live(&lines), "5 2 3 6");
    let segment = json!({"preservedSegment": {"anchorUuid": "s", "headUuid": "b", "tailUuid": "c"}});
    let lines = [&lines[..3], &[boundary("x", segment)], &lines[4..]].concat();
    assert_eq!(live(&lines), "5 2 3 6");
}

#[test]
fn subagents_and_lost_parents() {
    let lines = [
        user("a", None),
        line("user", "side", None, json!({"isSidechain": true})),
        user("b", Some("nowhere")),
        user("c", Some("b")),
    ];
    assert_eq!(live(&lines), "1 3 4");
    assert_eq!(live(&[user("a", Some("b")), user("b", Some("a"))]), "1 2");
    assert_eq!(live(&[user("a", Some("a"))]), "1");
    assert_eq!(live(&[]), "");
}

fn session() -> NewSession {
    NewSession { id: "new".to_owned(), old_id: "old".to_owned() }
}

#[test]
fn links_and_usage_change_and_every_other_byte_stays() {
    let text = r#"{"parentUuid":"p", "type":"assistant","message":{"content":[{"type":"text","text":"\u00e9 old"}],"usage":{"input_tokens":190000}},"sessionId":"old", "n":1.0e2}"#;
    assert_snapshot!(rewrite(text, &[], &session(), Some("q")).unwrap(), @r#"{"parentUuid":"q", "type":"assistant","message":{"content":[{"type":"text","text":"\u00e9 old"}],"usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}},"sessionId":"new", "n":1.0e2}"#);
}

#[test]
fn a_moved_result_leaves_no_second_copy() {
    let text = r#"{"parentUuid":"p","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"long"}],"is_error":true}]},"toolUseResult":{"stdout":"long"},"sessionId":"old"}"#;
    let edits = [(0, Edit::Result("a \"reference\"".to_owned()))];
    assert_snapshot!(rewrite(text, &edits, &session(), None).unwrap(), @r#"{"parentUuid":null,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"a \"reference\"","is_error":true}]},"toolUseResult":"moved out of the context by infold","sessionId":"new"}"#);
}

#[test]
fn blocks_go_and_a_line_without_any_goes_whole() {
    let text = r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"t"},{"type":"tool_use","id":"1","input":{"a":"long"}}]}}"#;
    let edits = [(0, Edit::Drop), (1, Edit::Input(r#"{"a":"s"}"#.to_owned()))];
    assert_snapshot!(rewrite(text, &edits, &session(), None).unwrap(), @r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","input":{"a":"s"}}]}}"#);
    assert_eq!(rewrite(text, &[(0, Edit::Drop), (1, Edit::Drop)], &session(), None), None);
    let note = r#"{"type":"attachment","attachment":{"type":"date"},"sessionId":"old"}"#;
    assert_eq!(rewrite(note, &[(0, Edit::Drop)], &session(), None), None);
    assert!(rewrite(note, &[], &session(), None).is_some());
}

#[test]
fn only_text_can_be_moved() {
    let with =
        |content: Value| json!({"message": {"content": [{"type": "tool_result", "content": content}]}}).to_string();
    assert_eq!(editable(&with(json!("text"))), [true]);
    assert_eq!(editable(&with(json!([{"type": "text", "text": "x"}]))), [true]);
    assert_eq!(editable(&with(json!([{"type": "text", "text": "x"}, {"type": "image"}]))), [false]);
}

#[test]
fn a_line_with_many_blocks_is_gone_over_a_few_times_and_not_once_for_each() {
    let result = |id: u32| json!({"type": "tool_result", "tool_use_id": id.to_string(), "content": "long"});
    let blocks: Vec<Value> = (0..20_000).map(result).collect();
    let text = json!({"type": "user", "uuid": "u", "message": {"content": blocks}}).to_string();
    let edit = |part: u32| (part, if part.is_multiple_of(2) { Edit::Drop } else { Edit::Result("s".to_owned()) });
    let edits: Vec<(u32, Edit)> = (0..20_000).map(edit).collect();
    let began = std::time::Instant::now();
    assert_eq!(editable(&text).len(), 20_000);
    let new: Value = serde_json::from_str(&rewrite(&text, &edits, &session(), None).unwrap()).unwrap();
    assert_eq!(new["message"]["content"].as_array().unwrap().len(), 10_000);
    // Once for each takes minutes.
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}
