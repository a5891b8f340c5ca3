//! Repeating a request with the same key.

use http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::client::{Answer, Api, local, request};

const BRANCHES: &str = "/api/v1/sessions/s/branches";

async fn keyed(api: &Api, key: &str, body: &Value) -> Answer {
    let (mut parts, body) = request("POST", BRANCHES, body).into_parts();
    parts.headers.insert("idempotency-key", key.parse().unwrap());
    api.send(local(), Request::from_parts(parts, body)).await
}

#[tokio::test]
async fn the_same_key_gives_the_same_answer_in_header_or_body() {
    let api = Api::new();
    let body = json!({ "description": "once" });
    let first = keyed(&api, "k1", &body).await;
    let again = keyed(&api, "k1", &body).await;
    assert_eq!((again.status, again.json()), (StatusCode::CREATED, first.json()));
    let in_body = api.post(BRANCHES, json!({ "description": "once", "idempotency_key": "k1" })).await;
    assert_eq!(in_body.json(), first.json());
    let in_both = keyed(&api, "k1", &json!({ "description": "once", "idempotency_key": "k1" })).await;
    assert_eq!(in_both.json(), first.json());
    assert_eq!(api.get("/api/v1/sessions/s").await.json()["total_branches"], 1);
}

#[tokio::test]
async fn a_key_that_was_used_for_something_else_is_refused() {
    let api = Api::new();
    keyed(&api, "k1", &json!({ "description": "one" })).await;
    let other = keyed(&api, "k1", &json!({ "description": "two" })).await;
    assert!(other.error().starts_with("409 idempotency_key_reused: "), "{}", other.text);
    let differs = keyed(&api, "k2", &json!({ "description": "x", "idempotency_key": "k3" })).await;
    let expected = "400 invalid_input: idempotency_key differs from the header Idempotency-Key: send one of them \
                    {\"field\":\"idempotency_key\"}";
    assert_eq!(differs.error(), expected);
    let empty = keyed(&api, "", &json!({ "description": "x" })).await;
    assert!(empty.error().starts_with("400 invalid_input: idempotency_key must not be empty"), "{}", empty.text);
}

#[tokio::test]
async fn every_change_can_be_repeated() {
    let api = Api::new();
    let branch = api.open("look").await;
    let calls = [
        ("/api/v1/sessions/s/results".to_owned(), json!({ "tool_name": "t", "content": "c", "idempotency_key": "a" })),
        (format!("/api/v1/branches/{branch}/return"), json!({ "message": "m", "idempotency_key": "b" })),
        ("/api/v1/sessions/s/rollback".to_owned(), json!({ "branch_id": branch, "idempotency_key": "c" })),
    ];
    for (path, body) in calls {
        let first = api.post(&path, body.clone()).await;
        assert_eq!(first.status, StatusCode::OK, "{}", first.text);
        assert_eq!(api.post(&path, body).await.json(), first.json(), "{path}");
    }
    let end = || crate::client::bare("DELETE", "/api/v1/sessions/s?idempotency_key=d");
    let first = api.send(local(), end()).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.text);
    assert_eq!(api.send(local(), end()).await.json(), first.json());
}
