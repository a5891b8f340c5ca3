//! A small MCP client over streamable HTTP, in either era.
//!
//! Each call sends one request and reads its answer from a JSON body or an event stream, whichever the
//! server chose. Several calls may run at once on one client.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use crate::answer::{CallAnswer, CallError, answers};
use crate::era::Era;
use crate::sse::EventReader;

/// How long a call may take before the client gives up on it.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// A connection to a server's `/mcp`.
#[derive(Debug)]
pub struct McpHttp {
    http: reqwest::Client,
    url: String,
    era: Era,
    headers: HeaderMap,
    last_id: AtomicU64,
}

impl McpHttp {
    /// Connects to the server at `base_url`, with the handshake if the era has one.
    pub async fn connect(base_url: &str, era: Era) -> Result<Self, CallError> {
        let http = reqwest::Client::builder().no_proxy().timeout(CALL_TIMEOUT).build();
        let http = http.map_err(|error| lost("initialize", &error))?;
        Self::connect_with(http, base_url, era).await
    }

    /// Connects through an HTTP client that several connections share. Tests with many clients should use this,
    /// because making an HTTP client reads the machine's certificates.
    pub async fn connect_with(http: reqwest::Client, base_url: &str, era: Era) -> Result<Self, CallError> {
        Self::connect_at(http, format!("{base_url}/mcp"), era).await
    }

    /// Connects to the server at exactly this address.
    pub async fn connect_at(http: reqwest::Client, url: String, era: Era) -> Result<Self, CallError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut client = Self { http, url, era, headers, last_id: AtomicU64::new(0) };
        match era {
            Era::Legacy => client.shake_hands().await?,
            Era::Modern => client.name_version(),
        }
        Ok(client)
    }

    /// The HTTP client underneath, to share it or to reach the server's other routes.
    pub fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// Adds a header to every request from here on, such as a token.
    pub fn set_header(&mut self, name: &'static str, value: HeaderValue) {
        self.headers.insert(HeaderName::from_static(name), value);
    }

    /// Calls a tool, with nothing in `_meta` but what the era demands.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<CallAnswer, CallError> {
        self.call_with_meta(tool, arguments, Map::new()).await
    }

    /// Calls a tool, with `meta` in `_meta` beside what the era demands there.
    pub async fn call_with_meta(
        &self,
        tool: &str,
        arguments: Value,
        meta: Map<String, Value>,
    ) -> Result<CallAnswer, CallError> {
        let params = json!({"name": tool, "arguments": arguments});
        self.request("tools/call", params, meta).await
    }

    /// The server's tools, as it lists them.
    pub async fn list_tools(&self) -> Result<Vec<Value>, CallError> {
        let answer = self.request("tools/list", json!({}), Map::new()).await?;
        Ok(answer.result.get("tools").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    /// Sends the request that does nothing: `ping`, or `server/discover` in the era that has no ping.
    pub async fn no_op(&self) -> Result<CallAnswer, CallError> {
        let method = match self.era {
            Era::Legacy => "ping",
            Era::Modern => "server/discover",
        };
        self.request(method, json!({}), Map::new()).await
    }

    /// Sends any request and waits for its answer.
    pub async fn request(
        &self,
        method: &str,
        params: Value,
        meta: Map<String, Value>,
    ) -> Result<CallAnswer, CallError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let name = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str).map(str::to_owned);
        let body = self.era.request(id, method, params, meta);
        let mut request = self.http.post(&self.url).headers(self.headers.clone()).json(&body);
        if self.era == Era::Modern {
            request = request.header("Mcp-Method", method);
            request = name.into_iter().fold(request, |request, name| request.header("Mcp-Name", name));
        }

        let response = request.send().await.map_err(|error| lost(method, &error))?;
        let http_status = response.status().as_u16();
        let context_state_header = response
            .headers()
            .get("x-context-state")
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());

        let (message, notifications) = read_answer(method, id, response).await?;
        let answer = CallAnswer::from_message(message, notifications);
        Ok(CallAnswer { context_state_header, http_status, ..answer })
    }

    async fn shake_hands(&mut self) -> Result<(), CallError> {
        let method = "initialize";
        let body = self.era.request(0, method, self.era.initialize_params(), Map::new());
        let request = self.http.post(&self.url).headers(self.headers.clone()).json(&body);
        let response = request.send().await.map_err(|error| lost(method, &error))?;
        if let Some(session) = response.headers().get("mcp-session-id") {
            self.headers.insert(HeaderName::from_static("mcp-session-id"), session.clone());
        }
        let (message, _) = read_answer(method, 0, response).await?;
        if let Some(error) = message.get("error") {
            return Err(malformed(method, error.to_string()));
        }
        self.name_version();

        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let request = self.http.post(&self.url).headers(self.headers.clone()).json(&done);
        let response = request.send().await.map_err(|error| lost(method, &error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let body = response.text().await.map_err(|error| lost(method, &error))?;
        Err(CallError::Http { method: method.to_owned(), status: status.as_u16(), body })
    }

    fn name_version(&mut self) {
        let version = HeaderValue::from_static(self.era.version());
        self.headers.insert(HeaderName::from_static("mcp-protocol-version"), version);
    }
}

/// Reads an answer that came as one JSON body. In the modern era a JSON-RPC error may come with an HTTP
/// error status. That counts as an answer; an HTTP error without a JSON-RPC error does not.
async fn read_body(method: &str, id: u64, response: reqwest::Response) -> Result<(Value, Vec<Value>), CallError> {
    let status = response.status();
    let body = response.text().await.map_err(|error| lost(method, &error))?;
    match serde_json::from_str::<Value>(&body) {
        Ok(message) if answers(&message, id) || message.get("error").is_some_and(Value::is_object) => {
            Ok((message, Vec::new()))
        }
        _ if status.is_success() => Err(malformed(method, body)),
        _ => Err(CallError::Http { method: method.to_owned(), status: status.as_u16(), body }),
    }
}

/// Reads a response's body for the message that answers request `id`. The body is read to its end, so
/// that the connection can be used again.
async fn read_answer(method: &str, id: u64, mut response: reqwest::Response) -> Result<(Value, Vec<Value>), CallError> {
    let content_type = response.headers().get(CONTENT_TYPE).cloned();
    let is_stream = content_type.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !is_stream {
        return read_body(method, id, response).await;
    }

    let mut reader = EventReader::default();
    let mut notifications = Vec::new();
    let mut answer = None;
    while let Some(bytes) = response.chunk().await.map_err(|error| lost(method, &error))? {
        for event in reader.push(&bytes) {
            let Ok(message) = serde_json::from_str::<Value>(&event) else { continue };
            if answers(&message, id) {
                answer = Some(message);
            } else {
                notifications.push(message);
            }
        }
    }
    let answer = answer.ok_or_else(|| malformed(method, "the stream ended without an answer".to_owned()));
    Ok((answer?, notifications))
}

fn lost(method: &str, error: &reqwest::Error) -> CallError {
    CallError::Lost { method: method.to_owned(), reason: format!("{error:?}") }
}

fn malformed(method: &str, what: String) -> CallError {
    CallError::Malformed { method: method.to_owned(), what }
}
