//! What is answered directly is what the library answers, byte for byte; what the library would refuse is left to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt;
use infold_core::Principal;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::super::{HttpCall, RunningCalls, Surface, own_service};
use super::*;
use crate::testing::{Fixture, server, settings};

/// A request as text: its head's lines, and its body.
#[derive(Clone)]
struct Sent {
    headers: Vec<(&'static str, String)>,
    body: String,
}

fn surface(fixture: &Fixture) -> Surface {
    let service = own_service(fixture.server.clone(), CancellationToken::new());
    Surface { server: fixture.server.clone(), service, running: RunningCalls::default() }
}

fn params(tool: &str, arguments: Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        "infold/sessionId": "s1",
    });
    json!({ "name": tool, "arguments": arguments, "_meta": meta })
}

fn message(id: Value, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn sent(message: &Value) -> Sent {
    let name = message["params"]["name"].as_str().unwrap_or_default().to_owned();
    let headers = vec![
        ("host", "localhost".to_owned()),
        ("content-type", "application/json".to_owned()),
        ("accept", "application/json, text/event-stream".to_owned()),
        ("mcp-protocol-version", "2026-07-28".to_owned()),
        ("mcp-method", "tools/call".to_owned()),
        ("mcp-name", name),
    ];
    Sent { headers, body: message.to_string() }
}

impl Sent {
    fn with(&self, name: &'static str, value: &str) -> Self {
        let mut sent = self.clone();
        sent.headers.retain(|(header, _)| *header != name);
        sent.headers.push((name, value.to_owned()));
        sent
    }

    fn and(&self, name: &'static str, value: &str) -> Self {
        let mut sent = self.clone();
        sent.headers.push((name, value.to_owned()));
        sent
    }

    fn without(&self, name: &'static str) -> Self {
        let mut sent = self.clone();
        sent.headers.retain(|(header, _)| *header != name);
        sent
    }

    fn with_body(&self, body: impl Into<String>) -> Self {
        Self { body: body.into(), ..self.clone() }
    }

    /// The head of the request, and what the surface and the handler share about it.
    fn parts(&self) -> (Parts, Arc<HttpCall>) {
        let mut request = http::Request::builder().method("POST").uri("/mcp");
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let mut parts = request.body(()).unwrap().into_parts().0;
        let call = Arc::new(HttpCall::default());
        parts.extensions.insert(Principal::local());
        parts.extensions.insert(call.clone());
        (parts, call)
    }

    async fn directly(&self, surface: &Surface) -> Option<String> {
        let (parts, call) = self.parts();
        let response = surface.service.answer_directly(parts, self.body.as_bytes()).await.ok()?;
        Some(written(response, &call).await)
    }

    async fn by_library(&self, surface: &Surface) -> String {
        let (parts, call) = self.parts();
        let body = Bytes::from(self.body.clone());
        let response = surface.hand_to_library(Principal::local(), (parts, body), &call).await;
        written(response, &call).await
    }
}

/// Everything about a response.
async fn written(response: Response, call: &HttpCall) -> String {
    let (parts, body) = response.into_parts();
    let mut headers: Vec<String> = parts.headers.iter().map(|(name, value)| format!("{name}: {value:?}")).collect();
    headers.sort();
    let body = body.collect().await.unwrap().to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    format!("{}\n{}\n{:?}\n{body}", parts.status, headers.join("\n"), call.shown_context())
}

/// A text without the random part of branches' ids, and without figures, because those count that part too.
fn masked(text: &str) -> String {
    const ID_CHARS: usize = 36;
    let mut parts = text.split("br_");
    let first = parts.next().unwrap_or_default().to_owned();
    let without_ids = parts.fold(first, |masked, part| masked + "br_…" + part.get(ID_CHARS..).unwrap_or(part));
    without_ids.chars().filter(|character| !character.is_ascii_digit()).collect()
}

#[tokio::test]
async fn a_plain_call_is_answered_as_the_library_answers_it() {
    // Calls are counted, so each way has a database of its own.
    let (one, other) = (server(settings()), server(settings()));
    let (direct, library) = (surface(&one), surface(&other));
    let create = message(json!(1), params("branch_create", json!({ "session_id": "s1", "description": "d" })));
    let created = sent(&create).directly(&direct).await.unwrap();
    assert!(created.contains("\"depth\":1"), "{created}");
    assert_eq!(masked(&created), masked(&sent(&create).by_library(&library).await));

    let status = params("branch_status", json!({ "session_id": "s1" }));
    let mut plain = vec![
        message(json!(1), status.clone()),
        message(json!("a-\"quoted\"-id"), status.clone()),
        message(json!(-7), status.clone()),
        message(json!(2), params("branch_status", json!({ "session_id": "nobody" }))),
        message(json!(3), params("branch_status", json!({ "session_id": 5 }))),
        message(json!(4), params("branch_status", json!({ "no_such_argument": true }))),
        message(json!(5), params("branch_return", json!({ "branch_id": "br_0", "message": "m" }))),
        message(json!(6), params("context_list_branches", json!({ "session_id": "s1", "project_path": "/p" }))),
        message(json!(7), params("context_return", json!({ "summary": "s", "project_path": "/nowhere" }))),
        message(json!(8), params("no_such_tool", json!({}))),
        message(json!(9), params("branch_status", Value::Null)),
    ];
    let mut bare = status;
    bare.as_object_mut().unwrap().remove("arguments");
    plain.push(message(json!(10), bare));
    for message in plain {
        let sent = sent(&message);
        let directly = sent.directly(&direct).await.unwrap_or_default();
        assert_eq!(masked(&directly), masked(&sent.by_library(&library).await), "{message}");
    }
}

#[tokio::test]
async fn whatever_is_not_plain_is_left_to_the_library() {
    let fixture = server(settings());
    let surface = surface(&fixture);
    let call = |change: &dyn Fn(&mut Value)| {
        let mut message = message(json!(1), params("branch_status", json!({ "session_id": "s1" })));
        change(&mut message);
        sent(&message)
    };
    let plain = call(&|_| ());
    let in_meta =
        |key: &'static str, value: Value| call(&move |message| message["params"]["_meta"][key] = value.clone());
    let without_meta =
        |key: &'static str| call(&move |message| _ = message["params"]["_meta"].as_object_mut().unwrap().remove(key));
    let text = plain.body.clone();
    let odd = [
        plain.with("mcp-protocol-version", "2025-11-25"),
        plain.with("mcp-protocol-version", "2099-01-01"),
        plain.without("mcp-protocol-version"),
        plain.without("mcp-method"),
        plain.with("mcp-method", "tools/list"),
        plain.and("mcp-method", "tools/call"),
        plain.without("mcp-name"),
        plain.with("mcp-name", "branch_create"),
        plain.with("mcp-name", "=?base64?YnJhbmNoX3N0YXR1cw==?="),
        plain.and("mcp-name", "branch_status"),
        plain.with("accept", "application/json"),
        plain.with("content-type", "Application/JSON"),
        plain.with("mcp-session-id", "a-session"),
        in_meta("progressToken", json!(1)),
        in_meta("io.modelcontextprotocol/logLevel", json!("info")),
        in_meta("io.modelcontextprotocol/protocolVersion", json!("2025-11-25")),
        in_meta("io.modelcontextprotocol/protocolVersion", json!(7)),
        in_meta("io.modelcontextprotocol/clientCapabilities", json!([])),
        without_meta("io.modelcontextprotocol/protocolVersion"),
        without_meta("io.modelcontextprotocol/clientCapabilities"),
        call(&|message| message["jsonrpc"] = json!("1.0")),
        call(&|message| message["id"] = json!(1.5)),
        call(&|message| message["id"] = Value::Null),
        call(&|message| message["method"] = json!("tools/list")),
        call(&|message| message["more"] = json!(1)),
        call(&|message| message["params"]["more"] = json!(1)),
        call(&|message| message["params"]["requestState"] = json!("s")),
        call(&|message| message["params"]["arguments"] = json!([])),
        call(&|message| message["params"]["name"] = json!(4)),
        call(&|message| message["params"] = json!([])),
        plain.with_body(format!("[{text}]")),
        plain.with_body(format!("{text}x")),
        plain.with_body(text.replace("\"id\":1", "\"id\":1,\"id\":2")),
        plain.with_body(&text[..text.len() - 1]),
        plain.with_body(""),
    ];
    for sent in odd {
        assert_eq!(sent.directly(&surface).await, None, "{:?} {}", sent.headers, sent.body);
    }
    assert!(plain.directly(&surface).await.is_some());
}

#[test]
fn a_schema_that_marks_an_argument_anywhere_is_seen() {
    let marked = json!({ "properties": { "a": { "anyOf": [{ "properties": { "b": { "x-mcp-header": "B" } } }] } } });
    assert!(is_marked(&marked));
    assert!(!is_marked(&json!({ "properties": { "a": { "description": "x-mcp-header" } } })));
}

/// A handler whose call ends when it is cancelled, and that says so.
#[derive(Clone, Default)]
struct WaitingServer {
    began: Arc<Notify>,
    ended: Arc<Notify>,
    cancelled: Arc<AtomicUsize>,
}

impl ServerHandler for WaitingServer {}

impl CallHandler for WaitingServer {
    async fn answer_call(
        &self,
        _request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallAnswer, ErrorData> {
        self.began.notify_one();
        context.ct.cancelled().await;
        tokio::task::yield_now().await;
        self.cancelled.fetch_add(1, Ordering::SeqCst);
        self.ended.notify_one();
        Err(ErrorData::internal_error("cancelled", None))
    }
}

#[tokio::test]
async fn a_call_whose_client_goes_away_is_cancelled_and_ends() {
    let server = WaitingServer::default();
    let calls = DirectCalls::new(server.clone(), CancellationToken::new());
    let plain = sent(&message(json!(1), params("any", json!({}))));
    {
        let answering = calls.answer(plain.parts().0, plain.body.as_bytes());
        tokio::select! {
            _ = answering => panic!("it was answered"),
            () = server.began.notified() => {}
        }
    }
    server.ended.notified().await;
    assert_eq!(server.cancelled.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn calls_are_cancelled_when_the_program_ends() {
    let (server, shutdown) = (WaitingServer::default(), CancellationToken::new());
    let calls = DirectCalls::new(server.clone(), shutdown.clone());
    let plain = sent(&message(json!(1), params("any", json!({}))));
    shutdown.cancel();
    assert!(calls.answer(plain.parts().0, plain.body.as_bytes()).await.is_ok());
    assert_eq!(server.cancelled.load(Ordering::SeqCst), 1);
}

/// A handler that breaks down.
#[derive(Clone)]
struct BrokenServer;

impl ServerHandler for BrokenServer {}

impl CallHandler for BrokenServer {
    async fn answer_call(
        &self,
        _request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallAnswer, ErrorData> {
        panic!("on purpose");
    }
}

#[tokio::test]
async fn a_handler_that_breaks_down_costs_its_own_call_only() {
    let calls = DirectCalls::new(BrokenServer, CancellationToken::new());
    let plain = sent(&message(json!(1), params("any", json!({}))));
    let (parts, call) = plain.parts();
    let answer = written(calls.answer(parts, plain.body.as_bytes()).await.unwrap(), &call).await;
    assert!(answer.contains("\"code\":-32603"), "{answer}");
}
