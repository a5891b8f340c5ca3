//! Requests to models, as the API lists and shows them.

use std::time::Instant;

use infold_core::record::AnswerEnd;
use infold_core::{Price, Prices, Principal};
use infold_engine::{AnswerHead, Legibility, ModelRequest, Purpose, ReadyRequest};
use infold_wire::answer::Delivery;
use serde_json::{Value, json};

use crate::client::{Api, bare, somebody};

fn priced() -> Api {
    let price =
        Price { model: "claude*".to_owned(), input: 5.0, output: 25.0, cache_read: 0.5, cache_write: Some(6.25) };
    Api::with(|setup| setup.engine.prices = Prices(vec![price]))
}

/// Records a request that is answered at the second try. It has so many words in its system prompt and a secret in a
/// result.
async fn record(api: &Api, session: &str, words: usize) {
    let body = json!({
        "model": "claude-opus-4-6",
        "system": "word ".repeat(words),
        "tools": [{"name": "mcp__github__search"}],
        "messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}]},
        ],
    });
    let asked = ModelRequest {
        who: Principal::local(),
        api: infold_wire::request::Api::Messages,
        headers: vec![("agent-session-id".to_owned(), session.to_owned())],
        body: body.to_string().into(),
        arrived: Instant::now(),
        purpose: Purpose::Send,
        searched: infold_engine::SearchedBody::default(),
        thread: None,
    };
    let ReadyRequest::Turn(mut prepared) = api.engine.prepare(&asked).await.unwrap() else { panic!("it can be read") };
    api.engine.look_at(&mut prepared).await;
    let head = AnswerHead { status: Some(200), delivery: Delivery::Whole, repeated: 1 };
    let mut listener = api.engine.listen(*prepared, head);
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 1_000, "cache_creation_input_tokens": 200,
        "output_tokens": 40});
    let answer = json!({"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn",
        "usage": usage});
    listener.read_piece(|read| {
        read(answer.to_string().as_bytes());
        Legibility::Plain
    });
    listener.end(AnswerEnd::Completed);
    api.engine.tasks().close();
    api.engine.tasks().wait().await;
    api.engine.tasks().reopen();
}

fn ids(list: &Value) -> Vec<u64> {
    list["requests"].as_array().unwrap().iter().map(|one| one["request_id"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn a_request_is_shown_with_what_it_was_made_of_and_what_it_cost() {
    let api = priced();
    record(&api, "s", 100).await;
    let id = ids(&api.get("/api/v1/requests").await.json())[0];
    let shown = api.get(&format!("/api/v1/requests/{id}")).await.json();
    assert_eq!((&shown["session_id"], &shown["branch_id"]), (&json!("s"), &json!(null)));
    assert_eq!(
        (&shown["model"], &shown["kind"], &shown["end"]),
        (&json!("claude-opus-4-6"), &json!("turn"), &json!("completed"))
    );
    assert!(shown["at"].as_str().unwrap().starts_with("2025-01-17T10:"), "{}", shown["at"]);
    assert_eq!(shown["edits"], json!([{ "reason": "scrubbed", "blocks": 1 }]));
    assert_eq!(shown["sent"]["tools"][0]["name"], "github");
    assert!(shown["sent"]["system"].as_u64().unwrap() >= 50);
    assert_eq!(shown["usage"]["cache_read_tokens"], 1_000);
    assert_eq!(shown["cost_usd"], (50.0 + 500.0 + 1_250.0 + 1_000.0) / 1_000_000.0);
    assert_eq!(
        shown["warnings"],
        json!([{ "kind": "retried", "message": "it was sent 2 times until an answer came" }])
    );
}

#[tokio::test]
async fn requests_are_listed_by_session_and_followed_from_the_last_one_seen() {
    let api = priced();
    for session in ["s", "s", "t", "s"] {
        record(&api, session, 10).await;
    }
    let all = api.get("/api/v1/requests").await.json();
    assert_eq!((ids(&all).len(), &all["request_totals"]["requests"]), (4, &json!(4)));
    let of_s = api.get("/api/v1/requests?session_id=s").await.json();
    assert_eq!((ids(&of_s).len(), &of_s["request_totals"]["requests"]), (3, &json!(3)));
    let newest = api.get("/api/v1/requests?session_id=s&limit=1").await.json();
    assert_eq!(ids(&newest), ids(&of_s)[2..]);
    let after = api.get(&format!("/api/v1/requests?session_id=s&after={}", ids(&of_s)[0])).await.json();
    assert_eq!(ids(&after), ids(&of_s)[1..]);

    let last = after["next_after"].as_u64().unwrap();
    let none = api.get(&format!("/api/v1/requests?after={last}")).await.json();
    assert_eq!((ids(&none).len(), none["next_after"].as_u64()), (0, Some(last)));
    record(&api, "t", 10).await;
    assert_eq!(ids(&api.get(&format!("/api/v1/requests?after={last}")).await.json()).len(), 1);
    assert_eq!(ids(&api.get(&format!("/api/v1/requests?after={}", u64::MAX)).await.json()).len(), 0);
}

#[tokio::test]
async fn nobody_sees_the_requests_of_others() {
    let api = priced();
    record(&api, "s", 10).await;
    let id = ids(&api.get("/api/v1/requests").await.json())[0];
    let list = api.send(somebody("other"), bare("GET", "/api/v1/requests")).await.json();
    assert_eq!((&list["requests"], &list["request_totals"]["requests"]), (&json!([]), &json!(0)));
    let absent = api.send(somebody("other"), bare("GET", &format!("/api/v1/requests/{id}"))).await;
    assert!(absent.error().starts_with("404 request_not_found: "), "{}", absent.text);
    let same = api.get("/api/v1/requests/999999").await;
    assert!(same.error().starts_with("404 request_not_found: "), "{}", same.text);
    assert!(api.get("/api/v1/requests/x").await.error().starts_with("404 request_not_found: "));
    assert!(api.get("/api/v1/requests?session_id=a/b").await.error().starts_with("400 invalid_input: session_id "));
    assert!(api.get("/api/v1/requests?limit=0").await.error().starts_with("400 invalid_input: limit "));
}
