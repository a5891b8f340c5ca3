//! Results that are handed in and read back.

use http::StatusCode;
use serde_json::{Value, json};

use crate::client::{Api, bare, somebody};
use crate::scrub::secret;

const RESULTS: &str = "/api/v1/sessions/s/results";

/// Hands in a result that is long enough to be offloaded, and returns its handle.
async fn offload(api: &Api) -> String {
    let content: String = (1..=500).map(|line| format!("line {line} of the log\n")).collect();
    let recorded = api.post(RESULTS, json!({ "tool_name": "shell", "content": content })).await.json();
    recorded["ref_id"].as_str().expect("offloaded").to_owned()
}

#[tokio::test]
async fn a_short_result_is_scrubbed_counted_and_shown() {
    let api = Api::new();
    let branch = api.open("look").await;
    let before = api.get(&format!("/api/v1/branches/{branch}")).await.json();
    let body = json!({
        "tool_name": "read_file",
        "content": format!("key = {}", secret()),
        "arguments": { "path": "a.rs" },
        "call_id": "call_1",
    });
    let answer = api.post(RESULTS, body).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(!answer.text.contains(&secret()));
    let recorded = answer.json();
    assert_eq!((&recorded["secrets_scrubbed"], &recorded["ref_id"]), (&json!(1), &Value::Null));
    assert!(recorded["shown"].as_str().unwrap().starts_with("key = [SECRET:"));

    let after = api.get(&format!("/api/v1/branches/{branch}")).await.json();
    let grown = after["tokens"].as_u64().unwrap() - before["tokens"].as_u64().unwrap();
    assert_eq!(recorded["tokens"], grown);
    assert_eq!(after["operations_count"], 1);
    assert_eq!(after["tools"], json!([{ "tool_name": "read_file", "calls": 1 }]));
    assert_eq!(after["files"], json!(["a.rs"]));
}

#[tokio::test]
async fn a_long_result_is_kept_and_read_back_by_bytes_lines_and_pattern() {
    let api = Api::new();
    let kept = offload(&api).await;
    let path = format!("/api/v1/results/{kept}");

    let start = api.get(&path).await.json();
    assert_eq!((&start["tool_name"], &start["total_lines"]), (&json!("shell"), &json!(500)));
    assert_eq!((&start["offset"], &start["next_offset"]), (&json!(0), &json!(4_096)));
    let part = api.get(&format!("{path}?offset=5&limit=8")).await.json();
    assert_eq!((&part["content"], &part["next_offset"]), (&json!("1 of the"), &json!(13)));
    let lines = api.get(&format!("{path}?lines=2-3")).await.json();
    assert_eq!(lines["content"], "2:line 2 of the log\n3:line 3 of the log\n");
    let open_ended = api.get(&format!("{path}?lines=500-")).await.json();
    assert_eq!(open_ended["content"], "500:line 500 of the log\n");
    let matches = api.get(&format!("{path}?pattern=line%2042%20&context=1")).await.json();
    let expected = "41-line 41 of the log\n42:line 42 of the log\n43-line 43 of the log\n";
    assert_eq!(matches["content"], expected);
    let beyond = api.get(&format!("{path}?offset=18446744073709551615")).await.json();
    assert_eq!((&beyond["content"], &beyond["next_offset"]), (&json!(""), &Value::Null));
}

#[tokio::test]
async fn the_main_thread_reads_all_and_a_branch_its_own_and_those_below() {
    let api = Api::new();
    let first = api.open("first").await;
    let kept = offload(&api).await;
    api.fold(&first, "done").await;
    let second = api.open("second").await;

    assert_eq!(api.get(&format!("/api/v1/results/{kept}")).await.status, StatusCode::OK);
    assert_eq!(api.get(&format!("/api/v1/results/{kept}?branch_id={first}")).await.status, StatusCode::OK);
    let sibling = api.get(&format!("/api/v1/results/{kept}?branch_id={second}")).await;
    assert!(sibling.error().starts_with("404 result_not_found: "), "{}", sibling.text);
    let other = api.send(somebody("other"), bare("GET", &format!("/api/v1/results/{kept}"))).await;
    assert_eq!(other.error(), sibling.error());
}

#[tokio::test]
async fn a_result_that_breaks_the_budget_folds_its_branch() {
    let api = Api::new();
    let opened = api.post("/api/v1/sessions/s/branches", json!({ "description": "small", "budget": 20 })).await;
    let branch = opened.json()["branch_id"].clone();
    let body = json!({ "tool_name": "shell", "content": "word ".repeat(30), "branch_id": branch });
    let recorded = api.post(RESULTS, body).await.json();
    assert_eq!(recorded["shown"], Value::Null);
    assert_eq!((&recorded["folded"]["branch_id"], &recorded["folded"]["status"]), (&branch, &json!("timeout")));
    assert_eq!(recorded["folded"]["reason"], "budget exhausted");
}
