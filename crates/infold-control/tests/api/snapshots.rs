//! What a session is resumed from.

use serde_json::json;

use crate::client::{Api, bare, local};
use crate::scrub::secret;

#[tokio::test]
async fn a_snapshot_is_scrubbed_counted_and_replaces_the_one_before() {
    let api = Api::new();
    api.post("/api/v1/sessions/s/branches", json!({ "description": "look" })).await;
    assert_eq!(api.get("/api/v1/sessions/s/snapshot").await.json(), json!({ "messages": null, "token_count": 0 }));

    let messages = json!([{ "role": "user", "content": format!("the key is {}", secret()) }]);
    let saved = api.post("/api/v1/sessions/s/snapshot", json!({ "messages": messages })).await;
    assert!(!saved.text.contains(&secret()), "{}", saved.text);
    let shorter = json!([{ "role": "user", "content": "go on" }]);
    api.post("/api/v1/sessions/s/snapshot", json!({ "messages": shorter })).await;

    let kept = api.get("/api/v1/sessions/s/snapshot").await.json();
    assert_eq!(kept["messages"], shorter);
    assert!(kept["token_count"].as_u64() < saved.json()["token_count"].as_u64());
}

#[tokio::test]
async fn a_session_that_is_not_there_or_over_keeps_no_snapshot() {
    let api = Api::new();
    let absent = api.post("/api/v1/sessions/s/snapshot", json!({ "messages": [] })).await;
    assert!(absent.error().starts_with("404 session_not_found: "), "{}", absent.text);
    api.post("/api/v1/sessions/s/branches", json!({ "description": "look" })).await;
    api.send(local(), bare("DELETE", "/api/v1/sessions/s")).await;
    let over = api.post("/api/v1/sessions/s/snapshot", json!({ "messages": [] })).await;
    assert!(over.error().starts_with("409 session_over: "), "{}", over.text);
}
