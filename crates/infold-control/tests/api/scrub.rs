//! Scrubbing a text on its own.

use http::StatusCode;
use infold_engine::ScrubFault;
use serde_json::json;

use crate::client::Api;

/// A text with the form of a GitHub token that was never anyone's.
pub fn secret() -> String {
    ["gh", "p_", "9x8W7v6U5t4S3r2Q1p0O", "9n8M7l6K5j4I3h2G"].concat()
}

#[tokio::test]
async fn secrets_are_taken_out_and_counted() {
    let api = Api::new();
    let answer = api.post("/api/v1/scrub", json!({ "text": format!("token {} end", secret()) })).await;
    assert_eq!(answer.status, StatusCode::OK);
    let body = answer.json();
    assert_eq!(body["secrets_scrubbed"], 1);
    let text = body["text"].as_str().unwrap();
    assert!(text.starts_with("token [SECRET:github-pat:") && text.ends_with("] end"), "{text}");
    let clean = api.post("/api/v1/scrub", json!({ "text": "" })).await;
    assert_eq!(clean.json(), json!({ "text": "", "secrets_scrubbed": 0 }));
}

#[tokio::test]
async fn a_text_that_is_too_long_to_scrub_is_the_callers_to_shorten() {
    let api = Api::new();
    let answer = api.post("/api/v1/scrub", json!({ "text": "x".repeat(100_001) })).await;
    let error = answer.error();
    assert!(error.starts_with("413 scrubbing_failed: "), "{error}");
    assert!(error.ends_with(r#"{"bytes":100001,"bytes_max":100000}"#), "{error}");
}

#[tokio::test]
async fn nothing_gets_through_a_broken_scrubber() {
    for fault in [ScrubFault::Panic, ScrubFault::Missing] {
        let api = Api::with(|setup| setup.engine.scrub.fault = fault);
        let answer = api.post("/api/v1/scrub", json!({ "text": secret() })).await;
        assert!(answer.error().starts_with("500 scrubbing_failed: "), "{}", answer.text);
        assert!(!answer.text.contains(&secret()));
        let opened = api.post("/api/v1/sessions/s/branches", json!({ "description": secret() })).await;
        assert!(opened.error().starts_with("500 scrubbing_failed: "), "{}", opened.text);
        assert_eq!(api.get("/api/v1/sessions").await.json()["sessions"], json!([]));
    }
}
