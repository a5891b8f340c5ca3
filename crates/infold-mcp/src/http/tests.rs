//! Tests over HTTP: who is let in, what counts as a message, and both eras on one path.

use axum::Router;
use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use infold_core::Principal;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::http_router;
use crate::Settings;
use crate::testing::{Fixture, server, settings};

/// Every route, with the methods that it answers.
const ROUTES: [(&str, &[&str]); 3] = [("/mcp", &["POST"]), ("/mcp/servers", &["POST"]), ("/mcp/tools/list", &["GET"])];

fn router(fixture: &Fixture) -> Router {
    http_router(fixture.server.clone(), CancellationToken::new())
}

struct Reply {
    status: StatusCode,
    headers: http::HeaderMap,
    text: String,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {} {}", self.status, self.text))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

async fn send(router: &Router, method: &str, path: &str, headers: &[(&str, &str)], body: String) -> Reply {
    let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Body::from(body)).unwrap();
    request.extensions_mut().insert(Principal::local());
    read(router.clone().oneshot(request).await.unwrap()).await
}

async fn read(response: axum::response::Response) -> Reply {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    Reply { status: parts.status, headers: parts.headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
}

async fn post(router: &Router, headers: &[(&str, &str)], message: Value) -> Reply {
    let mut all = vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    all.extend_from_slice(headers);
    send(router, "POST", "/mcp", &all, message.to_string()).await
}

/// A message of the newer era, with the headers that repeat it.
async fn modern(router: &Router, method: &str, mut params: Value) -> Reply {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    if !name.is_empty() {
        headers.push(("mcp-name", &name));
    }
    post(router, &headers, json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await
}

fn initialize() -> Value {
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

fn tools_list() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })
}

fn create(session: &str) -> Value {
    let params = json!({ "name": "branch_create", "arguments": { "session_id": session, "description": "d" } });
    json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params })
}

#[tokio::test]
async fn a_request_without_a_principal_is_refused_on_every_route() {
    let fixture = server(settings());
    for (path, methods) in &ROUTES {
        for method in methods.iter().chain(&["GET", "DELETE", "PUT"]) {
            let request = Request::builder().method(*method).uri(*path).header("host", "localhost");
            let reply = read(router(&fixture).oneshot(request.body(Body::empty()).unwrap()).await.unwrap()).await;
            let refused = [StatusCode::UNAUTHORIZED, StatusCode::METHOD_NOT_ALLOWED].contains(&reply.status);
            assert!(refused, "{method} {path}: {}", reply.status);
        }
    }
}

#[tokio::test]
async fn only_one_json_message_at_a_time_is_taken() {
    let fixture = server(Settings { message_bytes_max: 1_000, ..settings() });
    let router = router(&fixture);
    let body = tools_list().to_string();
    let status = |content_type: &'static str, body: String| {
        let router = router.clone();
        async move { send(&router, "POST", "/mcp", &[("content-type", content_type)], body).await.status }
    };
    assert_eq!(status("text/plain", body.clone()).await, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(status("application/jsonp", body.clone()).await, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(send(&router, "POST", "/mcp", &[], body.clone()).await.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(status("application/json; charset=utf-8", body.clone()).await, StatusCode::OK);
    assert_eq!(status("application/json", format!("[{body}]")).await, StatusCode::BAD_REQUEST);
    assert_eq!(status("application/json", "{".to_owned()).await, StatusCode::BAD_REQUEST);
    assert_eq!(status("application/json", " ".repeat(1_001)).await, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn curl_without_an_accept_header_is_served() {
    let fixture = server(settings());
    let headers = [("content-type", "application/json"), ("accept", "*/*")];
    let reply = send(&router(&fixture), "POST", "/mcp", &headers, tools_list().to_string()).await;
    assert_eq!(reply.json()["result"]["tools"].as_array().unwrap().len(), 12);
}

#[tokio::test]
async fn an_older_client_is_served_with_and_without_its_session_id() {
    let fixture = server(settings());
    let router = router(&fixture);
    let hello = post(&router, &[], initialize()).await;
    assert_eq!(hello.json()["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(hello.json()["result"]["capabilities"], json!({ "tools": {} }));
    let id = hello.header("mcp-session-id").unwrap().to_owned();

    for headers in [vec![("mcp-session-id", id.as_str())], vec![("mcp-session-id", "of-an-earlier-run")], vec![]] {
        let reply = post(&router, &headers, tools_list()).await;
        assert_eq!(reply.json()["result"]["tools"].as_array().unwrap().len(), 12);
        assert_eq!(reply.json()["result"].get("resultType"), None);
    }
    for method in ["GET", "DELETE"] {
        let reply = send(&router, method, "/mcp", &[("accept", "text/event-stream")], String::new()).await;
        assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED);
    }
}

#[tokio::test]
async fn a_newer_client_is_served_on_the_same_path() {
    let fixture = server(settings());
    let router = router(&fixture);
    let discovered = modern(&router, "server/discover", json!({})).await.json();
    assert_eq!(discovered["result"]["resultType"], "complete");
    assert!(discovered["result"]["instructions"].as_str().unwrap().contains("branch_create"));
    let listed = modern(&router, "tools/list", json!({})).await.json();
    assert_eq!(
        (&listed["result"]["resultType"], &listed["result"]["cacheScope"]),
        (&json!("complete"), &json!("private"))
    );
    assert!(listed["result"]["ttlMs"].as_u64().unwrap() > 0);
    let arguments = json!({ "session_id": "s1", "description": "d" });
    let opened = modern(&router, "tools/call", json!({ "name": "branch_create", "arguments": arguments })).await;
    assert_eq!(opened.json()["result"]["structuredContent"]["depth"], 1);
    assert_eq!(modern(&router, "prompts/list", json!({})).await.status, StatusCode::NOT_FOUND);

    let lying = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call")];
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } });
    assert_eq!(post(&router, &lying, message).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn every_response_shows_the_state_of_the_context() {
    let fixture = server(settings());
    let router = router(&fixture);
    let reply = post(&router, &[], create("s1")).await;
    let state: Value = serde_json::from_str(reply.header("x-context-state").unwrap()).unwrap();
    assert_eq!(state, reply.json()["result"]["_meta"]["infold/contextState"]);
    assert_eq!((&state["session_id"], &state["branch_depth"]), (&json!("s1"), &json!(1)));

    let nothing = post(&router, &[], tools_list()).await;
    let state: Value = serde_json::from_str(nothing.header("x-context-state").unwrap()).unwrap();
    assert_eq!(state["session_id"], Value::Null);

    let params = json!({ "name": "branch_create", "arguments": { "session_id": "s1", "description": "" } });
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
    let refused = post(&router, &[], call).await;
    assert_eq!(refused.json()["result"]["isError"], true);
    let state: Value = serde_json::from_str(refused.header("x-context-state").unwrap()).unwrap();
    assert_eq!(state["session_id"], "s1");
}

#[tokio::test]
async fn tools_can_be_discovered_with_a_plain_get() {
    let fixture = server(settings());
    let reply = send(&router(&fixture), "GET", "/mcp/tools/list", &[], String::new()).await;
    assert_eq!(reply.json()["tools"].as_array().unwrap().len(), 12);
}

#[tokio::test]
async fn what_infold_does_not_serve_is_neither_claimed_nor_answered() {
    let fixture = server(settings());
    let router = router(&fixture);
    let discovered = modern(&router, "server/discover", json!({})).await.json();
    assert_eq!(discovered["result"]["capabilities"], json!({ "tools": {} }), "memories are not listed");
    let prompts = modern(&router, "prompts/list", json!({})).await.json();
    assert_eq!(prompts["error"]["code"], json!(-32601));
    let called = modern(&router, "tools/call", json!({ "name": "test_simple_text" })).await.json();
    assert!(called.get("result").is_none(), "{called}");
}

#[cfg(feature = "conformance")]
#[tokio::test]
async fn sessions_of_the_older_era_are_bounded() {
    let fixture = server(settings());
    let router = super::conformance_router(fixture.server.clone(), CancellationToken::new());
    let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    for _ in 0..super::sessions::SESSIONS_MAX {
        let opened = send(&router, "POST", "/mcp/conformance", &headers, initialize().to_string()).await;
        assert_eq!(opened.status, StatusCode::OK);
    }
    let refused = send(&router, "POST", "/mcp/conformance", &headers, initialize().to_string()).await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
}
