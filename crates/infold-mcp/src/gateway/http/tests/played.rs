//! A server that answers as the test says, however odd that is.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::Response;
use axum::routing::any;
use http::{HeaderMap, Method};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::gateway::{LinkEra, RpcError};

/// A request as the server saw it.
#[derive(Debug, Clone)]
struct PlayedRequest {
    method: Method,
    headers: HeaderMap,
    message: Value,
}

impl PlayedRequest {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<PlayedRequest>>>);

impl Log {
    /// The requests so far, each as its method and the header.
    fn lines(&self, header: &str) -> Vec<String> {
        let line = |seen: &PlayedRequest| {
            let method = seen.message["method"].as_str().unwrap_or(seen.method.as_str());
            format!("{method} {}", seen.header(header))
        };
        self.0.lock().unwrap().iter().map(line).collect()
    }

    /// Waits until a request with this method has come.
    async fn until(&self, method: &str) {
        while !self.lines("x-key").iter().any(|line| line.starts_with(method)) {
            tokio::task::yield_now().await;
        }
    }
}

/// Serves what `answer` says. Returns the address and what was asked.
async fn played(answer: impl Fn(&PlayedRequest) -> Response + Clone + Send + Sync + 'static) -> (String, Log) {
    let log = Log::default();
    let kept = log.clone();
    let handler = move |method: Method, headers: HeaderMap, body: Bytes| async move {
        let seen = PlayedRequest { method, headers, message: serde_json::from_slice(&body).unwrap_or_default() };
        kept.0.lock().unwrap().push(seen.clone());
        answer(&seen)
    };
    (format!("{}/mcp", serve(Router::new().route("/mcp", any(handler))).await), log)
}

fn response(status: u16, kind: &str, body: impl Into<Body>) -> Response {
    Response::builder().status(status).header("content-type", kind).body(body.into()).unwrap()
}

fn json_answer(seen: &PlayedRequest, result: Value) -> Response {
    let message = json!({ "jsonrpc": "2.0", "id": seen.message["id"], "result": result });
    response(200, "application/json", message.to_string())
}

/// A server of the older era: refuses the newer one, shakes hands, and answers the rest as `rest` says.
fn older(seen: &PlayedRequest, rest: impl Fn(&PlayedRequest) -> Response) -> Response {
    match seen.message["method"].as_str() {
        Some("server/discover") => response(405, "text/plain", "no"),
        Some("initialize") => {
            let about = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {} });
            let mut response = json_answer(seen, about);
            response.headers_mut().insert("mcp-session-id", "s-1".parse().unwrap());
            response
        }
        Some("notifications/initialized" | "notifications/cancelled") => response(202, "text/plain", ""),
        _ => rest(seen),
    }
}

/// A server of the newer era.
fn newer(seen: &PlayedRequest, rest: impl Fn(&PlayedRequest) -> Response) -> Response {
    match seen.message["method"].as_str() {
        Some("server/discover") => {
            json_answer(seen, json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} }))
        }
        _ => rest(seen),
    }
}

#[tokio::test]
async fn every_request_carries_the_headers_of_its_era() {
    let (url, log) = played(|seen| older(seen, |seen| json_answer(seen, json!({ "tools": [] })))).await;
    let (link, _) = start(setup(&url)).await;
    let link = link.unwrap();
    call(&link, "t", CallOptions::within(10_000)).await.unwrap();
    link.close().await;
    assert_eq!(
        log.lines("mcp-session-id"),
        ["server/discover ", "initialize ", "notifications/initialized s-1", "tools/call s-1", "DELETE s-1"]
    );
    let versions = ["2026-07-28", "", "2025-06-18", "2025-06-18", "2025-06-18"];
    let seen = log.0.lock().unwrap().clone();
    assert_eq!(seen.iter().map(|seen| seen.header("mcp-protocol-version")).collect::<Vec<_>>(), versions);
    assert!(seen.iter().all(|seen| seen.header("x-key") == "open" && seen.header("accept-encoding") == "identity"));

    let (url, log) = played(|seen| newer(seen, |seen| json_answer(seen, json!({})))).await;
    let link = start(setup(&url)).await.0.unwrap();
    assert_eq!(link.about().era, LinkEra::Modern);
    call(&link, "t", CallOptions::within(10_000)).await.unwrap();
    link.close().await;
    assert_eq!(log.lines("mcp-method"), ["server/discover server/discover", "tools/call tools/call"]);
    assert_eq!(log.lines("mcp-name")[1], "tools/call t");
}

#[tokio::test]
async fn a_server_that_wants_a_login_says_how() {
    let (url, _) = played(|_| {
        let mut response = response(401, "text/plain", "who are you?");
        response.headers_mut().insert("www-authenticate", "Bearer resource_metadata=\"x\"".parse().unwrap());
        response
    })
    .await;
    let error = start(setup(&url)).await.0.unwrap_err();
    let challenge = Some("Bearer resource_metadata=\"x\"".to_owned());
    assert_eq!(error, LinkError::NeedsLogin { status: 401, challenge });
}

#[tokio::test]
async fn a_redirect_to_another_origin_is_not_followed() {
    let (elsewhere, other) = played(|seen| newer(seen, |seen| json_answer(seen, json!({})))).await;
    let (url, _) = played(move |_| {
        let mut response = response(307, "text/plain", "");
        response.headers_mut().insert("location", elsewhere.parse().unwrap());
        response
    })
    .await;
    let error = start(setup(&url)).await.0.unwrap_err().to_string();
    assert!(error.contains("its address is now http://127.0.0.1"), "{error}");
    assert!(other.0.lock().unwrap().is_empty(), "no header reached the other server");
}

#[tokio::test]
async fn a_stream_that_ends_early_is_resumed_where_it_ended() {
    let (url, log) = played(|seen| {
        older(seen, |seen| match seen.header("last-event-id") {
            "" if seen.method == Method::POST => response(200, "text/event-stream", "retry: 1\nid: e1\ndata:\n\n"),
            "e1" => {
                let foreign = json!({ "jsonrpc": "2.0", "id": 4711, "result": "foreign" });
                response(200, "text/event-stream", format!("id: e2\ndata: {foreign}\n\nid: e3\ndata: no JSON\n\n"))
            }
            "e3" => {
                // The first request after the handshakes.
                let answer = json!({ "jsonrpc": "2.0", "id": 3, "result": "done" });
                response(200, "text/event-stream", format!("data: {answer}\n\n"))
            }
            _ => response(400, "text/plain", "unexpected"),
        })
    })
    .await;
    let link = start(setup(&url)).await.0.unwrap();
    assert_eq!(call(&link, "t", CallOptions::within(10_000)).await, Ok(json!("done")));
    assert_eq!(log.lines("last-event-id")[3..], ["tools/call ", "GET e1", "GET e3"]);
    assert_eq!((link.counts().unknown_ids, link.counts().unreadable), (1, 1));
}

#[tokio::test]
async fn a_stream_without_an_answer_is_an_error() {
    let (url, _) = played(|seen| newer(seen, |_| response(200, "text/event-stream", "id: 1\ndata: {}\n\n"))).await;
    let link = start(setup(&url)).await.0.unwrap();
    let error = call(&link, "t", CallOptions::within(10_000)).await.unwrap_err();
    assert_eq!(error, LinkError::Unreachable("the stream ended before the answer".to_owned()));
}

#[tokio::test]
async fn answers_that_are_too_long_or_none_fail_with_a_reason() {
    let (url, _) = played(|seen| {
        newer(seen, |seen| match seen.message["params"]["name"].as_str() {
            Some("long body") => json_answer(seen, json!("x".repeat(200_000))),
            Some("long event") => response(200, "text/event-stream", format!("data: {}\n\n", "x".repeat(200_000))),
            Some("page") => response(200, "text/html", "<html>hello</html>"),
            Some("failing") => response(502, "text/html", "bad gateway"),
            Some("refused") => {
                let error = json!({ "code": -32602, "message": "no such tool", "data": { "tool": 1 } });
                response(400, "application/json", json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string())
            }
            _ => response(404, "application/json", "{\"error\":{\"message\":\"not found\"}}"),
        })
    })
    .await;
    let link = start(setup(&url)).await.0.unwrap();
    let outcome = async |tool: &str| call(&link, tool, CallOptions::within(10_000)).await.unwrap_err();
    assert_eq!(outcome("long body").await, LinkError::TooLong { bytes_max: 100_000 });
    assert_eq!(outcome("long event").await, LinkError::TooLong { bytes_max: 100_000 });
    let page = outcome("page").await.to_string();
    assert!(page.ends_with("its answer to tools/call is not one: <html>hello</html>"), "{page}");
    assert_eq!(outcome("failing").await.to_string(), "the server answered with HTTP 502. It said: bad gateway");
    let data = Some(json!({ "tool": 1 }));
    let refused = RpcError { code: -32602, message: "no such tool".to_owned(), data };
    assert_eq!(outcome("refused").await, LinkError::Rpc(refused));
    assert!(matches!(outcome("missing").await, LinkError::Http { status: 404, .. }));
}

#[tokio::test]
async fn a_session_that_the_server_has_forgotten_is_begun_again_once() {
    let forgets = Arc::new(Mutex::new(1));
    let (url, log) = played(move |seen| {
        older(seen, |seen| {
            let mut left = forgets.lock().unwrap();
            *left -= 1;
            if *left == 0 { response(404, "text/plain", "") } else { json_answer(seen, json!("done")) }
        })
    })
    .await;
    let link = start(setup(&url)).await.0.unwrap();
    assert_eq!(call(&link, "t", CallOptions::within(10_000)).await, Ok(json!("done")));
    let methods = log.lines("none");
    assert_eq!(methods[3..], ["tools/call ", "initialize ", "notifications/initialized ", "tools/call "]);
}

#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled_in_the_older_era_and_closed_in_both() {
    let silent = || Body::from_stream(futures_pending());
    let (url, log) = played(move |seen| older(seen, |_| response(200, "text/event-stream", silent()))).await;
    let link = start(setup(&url)).await.0.unwrap();
    let cancel = CancellationToken::new();
    let options = CallOptions { cancel: cancel.clone(), ..CallOptions::within(10_000) };
    let (result, ()) = tokio::join!(call(&link, "t", options), async {
        log.until("tools/call").await;
        cancel.cancel();
    });
    assert_eq!(result, Err(LinkError::Cancelled));
    log.until("notifications/cancelled").await;
    let result = call(&link, "t", CallOptions::within(50)).await;
    assert_eq!(result, Err(LinkError::TimedOut { method: "tools/call".to_owned(), timeout_ms: 50 }));
    link.close().await;
}

/// A body that never says anything.
fn futures_pending() -> impl futures::Stream<Item = Result<Bytes, std::convert::Infallible>> {
    futures::stream::pending()
}
