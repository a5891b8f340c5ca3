//! The fixtures of the conformance suite, behind a front that does not know the newer era.
#![cfg(feature = "conformance")]

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use infold_core::Principal;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::gateway::{CallNotice, LinkEra, ListKind};
use crate::testing::{Fixture, server, settings};

/// Refuses what a server of the older era would not know, and lets the rest in as the local user.
async fn front(request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    if message["method"] == "server/discover" {
        return (StatusCode::BAD_REQUEST, "Bad Request: no session").into_response();
    }
    parts.extensions.insert(Principal::local());
    next.run(Request::from_parts(parts, Body::from(body))).await
}

async fn fixtures() -> (Fixture, ServerLink) {
    let fixture = server(settings());
    let routes = crate::conformance_router(fixture.server.clone(), CancellationToken::new()).layer(from_fn(front));
    let url = format!("{}/mcp/conformance", serve(routes).await);
    let mut setup = setup(&url);
    setup.identity.capabilities = json!({ "elicitation": {}, "sampling": {} });
    let (link, _) = start(setup).await;
    (fixture, link.unwrap())
}

#[tokio::test]
async fn a_server_with_sessions_lists_and_answers() {
    let (_fixture, link) = fixtures().await;
    assert_eq!((link.about().era, link.about().protocol.as_str()), (LinkEra::Legacy, "2025-11-25"));
    let tools = link.list(ListKind::Tools).await.unwrap();
    assert!(tools.items.iter().any(|tool| tool["name"] == "test_sampling"), "{tools:?}");
    let result = call(&link, "test_simple_text", CallOptions::within(10_000)).await.unwrap();
    assert_eq!(result["content"][0]["text"], "This is a simple text response for testing.");
    let error = call(&link, "no_such_tool", CallOptions::within(10_000)).await.unwrap_err();
    assert!(matches!(error, LinkError::Rpc(_)), "{error}");
    link.close().await;
    assert_eq!(call(&link, "test_simple_text", CallOptions::within(10_000)).await, Err(LinkError::Closed));
}

#[tokio::test]
async fn progress_and_log_lines_come_with_the_call() {
    let (_fixture, link) = fixtures().await;
    let (notices, mut received) = mpsc::channel(8);
    let options = CallOptions { notices: Some(notices), ..CallOptions::within(10_000) };
    call(&link, "test_tool_with_progress", options.clone()).await.unwrap();
    call(&link, "test_tool_with_logging", options).await.unwrap();
    let mut kinds = Vec::new();
    while let Ok(notice) = received.try_recv() {
        kinds.push(match notice {
            CallNotice::Progress(progress) => progress["progress"].to_string(),
            CallNotice::Log(log) => log["data"].to_string(),
        });
    }
    let logs = ["\"Tool execution started\"", "\"Tool processing data\"", "\"Tool execution completed\""];
    assert_eq!(kinds, ["0.0", "50.0", "100.0", logs[0], logs[1], logs[2]]);
}

#[tokio::test]
async fn questions_reach_the_caller_though_another_call_is_in_flight() {
    let (_fixture, link) = fixtures().await;
    let (asks, mut asked) = mpsc::channel(1);
    let (result, _, ()) = tokio::join!(
        call(&link, "test_elicitation", CallOptions { asks: Some(asks), ..CallOptions::within(10_000) }),
        call(&link, "test_tool_with_progress", CallOptions::within(10_000)),
        async {
            let ask = asked.recv().await.unwrap();
            assert_eq!((ask.method.as_str(), &ask.params["message"]), ("elicitation/create", &json!("hi")));
            ask.answer(Ok(json!({ "action": "accept", "content": { "username": "u", "email": "e@x" } })));
        }
    );
    assert!(result.unwrap()["content"][0]["text"].as_str().unwrap().contains("accept"));
    let result = call(&link, "test_elicitation", CallOptions::within(10_000)).await.unwrap();
    assert!(result.to_string().contains("cancel"), "nobody was there to be asked: {result}");
}
