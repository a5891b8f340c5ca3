//! Reading fills a branch, and what does not fit is not shown to it.

use infold_core::Principal;
use infold_engine::{RecordResult, SessionRef};
use serde_json::{Value, json};

use crate::testing::{Client, Fixture, server, settings};

/// Records a long result, as a gateway would, and returns its handle.
async fn hand_in(fixture: &Fixture) -> String {
    let content: String = (1..=500).map(|line| format!("line {line} of the log\n")).collect();
    let request = RecordResult {
        session: SessionRef::by_id("s1").unwrap(),
        thread: None,
        tool_name: "shell".to_owned(),
        call_id: None,
        arguments: "{}".to_owned(),
        content,
        idempotency_key: None,
    };
    let recorded = fixture.engine.record_result(&Principal::local(), request).await.unwrap();
    recorded.ref_id.unwrap().to_string()
}

#[tokio::test]
async fn a_stored_result_is_read_by_bytes_lines_and_matches() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    client.answer("branch_create", json!({ "session_id": "s1", "description": "d" })).await;
    let ref_id = hand_in(&fixture).await;

    let bytes = client.answer("read_result", json!({ "ref_id": ref_id, "limit": 18 })).await;
    assert_eq!((&bytes["content"], &bytes["next_offset"]), (&json!("line 1 of the log\n"), &json!(18)));
    assert_eq!((&bytes["tool_name"], &bytes["total_lines"]), (&json!("shell"), &json!(500)));
    let lines = client.answer("read_result", json!({ "ref_id": ref_id, "start_line": 499 })).await;
    assert_eq!(lines["content"], "499:line 499 of the log\n500:line 500 of the log\n");
    let matches = client.answer("read_result", json!({ "ref_id": ref_id, "pattern": "line 250", "context": 1 })).await;
    assert_eq!(matches["content"], "249-line 249 of the log\n250:line 250 of the log\n251-line 251 of the log\n");
}

#[tokio::test]
async fn a_part_that_does_not_fit_folds_the_branch_and_its_parent_gets_the_partial_result() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let arguments = json!({ "session_id": "s1", "description": "read the log", "budget": 600 });
    let opened = client.answer("branch_create", arguments).await;
    let ref_id = hand_in(&fixture).await;

    let refused = client.call("read_result", json!({ "ref_id": ref_id, "limit": 9_000 })).await;
    assert_eq!(refused["isError"], true);
    let body: Value = serde_json::from_str(refused["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(body["code"], "branch_folded");
    assert_eq!(body["data"]["branch_id"], opened["branch_id"]);
    assert_eq!((&body["data"]["status"], &body["data"]["reason"]), (&json!("timeout"), &json!("budget exhausted")));
    assert!(body["data"]["result"].as_str().unwrap().contains("read the log"), "{body}");

    let status = client.answer("branch_status", json!({ "branch_id": opened["branch_id"] })).await;
    assert_eq!(status["status"], "timeout");
    assert_eq!(status["reason"], "budget exhausted");
    assert_eq!(status["budget_used"], status["budget_total"]);
}

#[tokio::test]
async fn a_status_that_does_not_fit_is_answered_with_the_state_after_the_fold() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let arguments = json!({ "session_id": "s1", "description": "d", "budget": 20 });
    let opened = client.answer("branch_create", arguments).await;
    let status = client.answer("branch_status", json!({ "branch_id": opened["branch_id"] })).await;
    assert_eq!((&status["status"], &status["reason"]), (&json!("timeout"), &json!("budget exhausted")));
    assert_eq!(status["notices"][0]["branch_id"], opened["branch_id"]);
}

#[tokio::test]
async fn a_call_is_counted_in_the_branch_that_its_meta_names() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let create = json!({ "session_id": "s1", "description": "d", "parent_branch_id": "main" });
    let first = client.answer("branch_create", create.clone()).await;
    let second = client.answer("branch_create", create).await;
    let ask = json!({
        "name": "branch_status",
        "arguments": { "branch_id": first["branch_id"] },
        "_meta": { "infold/branchId": first["branch_id"], "claudecode/toolUseId": "toolu_1" },
    });
    let before = client.request("tools/call", ask.clone()).await["result"]["structuredContent"].clone();
    let after = client.request("tools/call", ask).await["result"]["structuredContent"].clone();
    assert!(after["budget_used"].as_u64() > before["budget_used"].as_u64(), "{after}");
    let other = client.answer("branch_status", json!({ "branch_id": second["branch_id"] })).await;
    assert!(other["budget_used"].as_u64() < after["budget_used"].as_u64(), "{other}");
}
