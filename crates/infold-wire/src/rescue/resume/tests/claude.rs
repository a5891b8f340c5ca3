//! Tests with recordings of Claude Code, whose lines form a tree.

use serde_json::{Value, json};

use crate::form::Format;

fn live(lines: &[Value]) -> String {
    super::loaded(Format::ClaudeCode, lines)
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
        line("user", "s", Some("x"), json!({"isCompactSummary": true, "message": {"role": "user", "content": "sum"}})),
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
