//! Results, tool errors and JSON-RPC errors are distinguished.

use serde_json::json;

use super::{CallAnswer, answers};

#[test]
fn a_result_shows_structure_text_and_meta() {
    let message = json!({"jsonrpc": "2.0", "id": 1, "result": {
        "content": [{"type": "text", "text": "{\"depth\":1}"}],
        "structuredContent": {"depth": 1},
        "_meta": {"a": 1},
    }});

    let answer = CallAnswer::from_message(message, Vec::new());

    assert!(answer.is_ok());
    assert_eq!(answer.field("depth"), json!(1));
    assert_eq!(answer.text, "{\"depth\":1}");
    assert_eq!(answer.meta, Some(json!({"a": 1})));
    assert_eq!(answer.summary(), "result: {\"depth\":1}");
}

#[test]
fn a_tool_error_and_a_jsonrpc_error_are_not_ok() {
    let tool = json!({"id": 1, "result": {"isError": true, "content": [{"type": "text", "text": "no"}]}});
    let rpc = json!({"id": 1, "error": {"code": -32602, "message": "Branch not found", "data": {"x": 1}}});

    let tool = CallAnswer::from_message(tool, Vec::new());
    let rpc = CallAnswer::from_message(rpc, Vec::new());

    assert!(!tool.is_ok());
    assert_eq!(tool.summary(), "tool error: no");
    assert!(!rpc.is_ok());
    assert_eq!(rpc.summary(), "JSON-RPC error -32602: Branch not found");
}

#[test]
fn only_a_message_with_the_same_id_and_an_outcome_is_an_answer() {
    assert!(answers(&json!({"id": 3, "result": {}}), 3));
    assert!(answers(&json!({"id": 3, "error": {}}), 3));
    assert!(!answers(&json!({"id": 4, "result": {}}), 3));
    assert!(!answers(&json!({"id": 3, "method": "ping"}), 3));
    assert!(!answers(&json!({"method": "notifications/progress"}), 3));
}
