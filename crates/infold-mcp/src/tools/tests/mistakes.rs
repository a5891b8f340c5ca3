//! Spoils every argument of every tool: missing, empty, of the wrong type, too long, and beside one that does
//! not exist. Each mistake gets a clear sentence, and nothing is stored.

use infold_core::Principal;
use serde_json::{Value, json};

use infold_testkit::documented_limits;

use crate::testing::{Client, server, settings};
use crate::tools::{OwnTool, definition};

/// Arguments that are right, except that their ids do not exist.
fn right(tool: OwnTool) -> Value {
    let (branch, project) = ("br_00000000-0000-8000-8000-000000000000", "/projects/project");
    match tool {
        OwnTool::BranchCreate => json!({
            "session_id": "s1", "description": "d", "prompt": "p", "budget": 100, "timeout_seconds": 10,
            "parent_branch_id": "main", "inject_memories": true, "idempotency_key": "k",
        }),
        OwnTool::BranchReturn => {
            json!({
                "branch_id": branch, "message": "m", "failed": false, "extract_memory": true, "idempotency_key": "k",
            })
        }
        OwnTool::BranchStatus => json!({ "branch_id": branch, "session_id": "s1" }),
        OwnTool::ContextBranch => json!({
            "description": "d", "prompt": "p", "project_path": project, "session_id": "s1",
            "parent_branch_id": "main", "idempotency_key": "k",
        }),
        OwnTool::ContextReturn => json!({
            "message": "m", "project_path": project, "branch_id": branch, "session_id": "s1", "failed": true,
            "idempotency_key": "k",
        }),
        OwnTool::ContextBranchStatus => json!({ "project_path": project, "session_id": "s1" }),
        OwnTool::ContextListBranches => json!({ "project_path": project, "session_id": "s1", "offset": 0, "limit": 1 }),
        OwnTool::ContextRollback => json!({
            "project_path": project, "branch_id": branch, "restore_state": true, "session_id": "s1",
            "idempotency_key": "k",
        }),
        OwnTool::ContextFork => json!({
            "project_path": project, "session_id": "s1", "prompt": "p", "format": "anthropic", "profile": "seed",
            "transcript": [{ "role": "user", "content": "hello" }], "new_session_id": "child", "idempotency_key": "k",
        }),
        OwnTool::SessionEnd => json!({ "session_id": "s1", "project_path": project, "idempotency_key": "k" }),
        OwnTool::ReadResult => {
            json!({ "ref_id": "res_00000000-0000-4000-8000-000000000000", "offset": 0, "limit": 10 })
        }
        OwnTool::CompactContext => json!({ "session_id": "s1", "project_path": project }),
        OwnTool::MemorySearch => json!({ "query": "q", "limit": 3, "session_id": "s1", "project_path": project }),
        OwnTool::MemoryRecord => json!({
            "title": "t", "lesson": "l", "kind": "fact", "replaces": "mem_0000000000", "session_id": "s1",
            "project_path": project,
        }),
        OwnTool::MemoryFeedback => json!({ "memory_id": "mem_0000000000", "helpful": true }),
    }
}

/// The right arguments with one of them spoilt, once for each way of spoiling it, with a name for each case.
fn spoilt(tool: OwnTool) -> Vec<(String, Value)> {
    let right = right(tool);
    let schema = definition(tool, &documented_limits()).input_schema;
    let required = schema["required"].as_array().unwrap();
    let mut cases = vec![("unknown".to_owned(), with(&right, "nonsense", json!(1)))];
    for (name, value) in right.as_object().unwrap() {
        let mut spoil = |how: &str, value: Value| cases.push((format!("{name} {how}"), with(&right, name, value)));
        spoil("of the wrong type", json!([1]));
        if value.is_string() {
            spoil("empty", json!(""));
            spoil("too long", json!("x".repeat(60_000)));
        }
        if value.is_number() {
            spoil("negative", json!(-1));
            spoil("with a fraction", json!(1.5));
        }
        if required.contains(&json!(name)) {
            spoil("missing", Value::Null);
        }
    }
    cases
}

fn with(arguments: &Value, name: &str, value: Value) -> Value {
    let mut arguments = arguments.clone();
    match value {
        Value::Null => drop(arguments.as_object_mut().unwrap().shift_remove(name)),
        value => arguments[name] = value,
    }
    arguments
}

/// A refusal's code and message, whichever of the two forms it has.
fn sentence(answer: &Value) -> String {
    if answer["isError"] == true {
        let body: Value = serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap();
        return format!("{} {}", body["status"], body["message"].as_str().unwrap());
    }
    match answer["message"].as_str() {
        Some(message) => format!("{} {message}", answer["code"]),
        None => format!("answered {answer}"),
    }
}

#[tokio::test]
async fn every_mistake_is_answered_with_a_sentence_and_nothing_is_stored() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let mut lines = Vec::new();
    for tool in OwnTool::ALL {
        lines.push(format!("{}:", tool.name()));
        for (case, arguments) in spoilt(tool) {
            let answer = client.call(tool.name(), arguments).await;
            lines.push(format!("  {case}: {}", sentence(&answer)));
        }
    }
    insta::assert_snapshot!(lines.join("\n"));

    let stored = fixture.engine.sessions(&Principal::local(), 0, 10).await.unwrap();
    assert!(stored.is_empty(), "{} sessions were started", stored.len());
}

#[tokio::test]
async fn malformed_calls_are_answered_too() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let answer = client.request("tools/call", json!({ "name": "branch_status", "arguments": "text" })).await;
    assert_eq!(answer["error"]["message"], "tools/call takes name, a string, and arguments, an object");
    let answer = client.request("tools/call", json!({ "name": "no_such_tool" })).await;
    assert_eq!(answer["error"]["message"], "There is no tool \"no_such_tool\": tools/list names them");
    let meta = json!({ "name": "branch_create", "arguments": {}, "_meta": { "infold/idempotencyKey": 7 } });
    let answer = client.request("tools/call", meta).await;
    assert_eq!(sentence(&answer["result"]), "400 _meta must have a string for infold/idempotencyKey");
}
