//! Calls that are plainly well formed, answered in the task of their connection.
//!
//! The protocol library starts several tasks for each request and hands it from one to the next, which takes longer than
//! most of a call does. A call of the newer era whose client gets nothing before the answer needs none of them.
//!
//! Must hold: what is answered here is what the library would have answered. So only a call that passes every check of
//! the library is taken, and it is carried out by the same handler; everything else, and with it everything that is
//! wrong with a message, is left to the library.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::response::Response;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode};
use rmcp::model::{
    CallToolRequestParams, ErrorCode, JsonObject, ProtocolVersion, RequestId, RequestMetaObject, ServerJsonRpcMessage,
    ServerResult,
};
use rmcp::service::{RequestContext, RunningService, RxJsonRpcMessage, TxJsonRpcMessage, serve_directly_with_ct};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{SESSION_ID, json_response};
use crate::relay::{CallAnswer, RelayedMessage};
use crate::server::CallHandler;

const METHOD: &str = "tools/call";
const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
/// The key in a call's `_meta` under which its revision is said once more.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The keys in a call's `_meta` by which a client asks for something before the answer.
const ASKED_BEFORE: [&str; 2] = ["progressToken", "io.modelcontextprotocol/logLevel"];
/// Room for an answer at first, so that a usual one is not moved while it is written.
const ANSWER_BYTES_USUAL: usize = 2 << 10;
/// The word of a schema that marks an argument which is repeated in the request's head.
const MARK: &str = "x-mcp-header";
/// How the header with a tool's name begins if that is written in base64.
const ENCODED: &str = "=?";

/// A call that passes every check of the library that does not depend on the tool.
#[derive(Debug)]
pub(super) struct PlainCall {
    id: RequestId,
    params: CallToolRequestParams,
    meta: RequestMetaObject,
}

// Whatever is written in another way than this, such as with a field twice, is left to the library.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainMessage<'a> {
    jsonrpc: &'a str,
    id: RequestId,
    method: &'a str,
    params: PlainParams,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainParams {
    name: String,
    arguments: Option<JsonObject>,
    #[serde(rename = "_meta")]
    meta: RequestMetaObject,
}

impl PlainCall {
    /// Reads a call; `None` if the message is anything else, or has something about it that the library has to see.
    pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Option<Self> {
        let version = ProtocolVersion::V_2026_07_28;
        let is_newer = only(headers, VERSION_HEADER) == Some(version.as_str());
        let takes_both = only(headers, ACCEPT).is_some_and(|all| all.contains(JSON) && all.contains(EVENTS));
        let is_json = only(headers, CONTENT_TYPE).is_some_and(|kind| kind.starts_with(JSON));
        let names_method = only(headers, METHOD_HEADER) == Some(METHOD);
        if !(is_newer && takes_both && is_json && names_method) || headers.contains_key(&SESSION_ID) {
            return None;
        }
        // Whether it is UTF-8 is found out once, and not for each of its strings.
        let body = std::str::from_utf8(body).ok()?;
        let PlainMessage { jsonrpc, id, method, params } = serde_json::from_str(body).ok()?;
        let PlainParams { name, arguments, meta } = params;
        let named = only(headers, NAME_HEADER).filter(|named| !named.starts_with(ENCODED));
        let is_plain = jsonrpc == "2.0" && method == METHOD && named == Some(&name);
        let is_said_again = meta.get(VERSION).is_some_and(|said| said == version.as_str());
        let is_whole = is_said_again && meta.missing_required_keys(&version).is_empty();
        if !is_plain || !is_whole || ASKED_BEFORE.iter().any(|key| meta.contains_key(*key)) {
            return None;
        }
        let mut params = CallToolRequestParams::new(name);
        params.arguments = arguments;
        Some(Self { id, params, meta })
    }
}

/// The only value of a header.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    value.to_str().ok()
}

/// Answers calls with a handler.
pub(super) struct DirectCalls<S: ServerHandler> {
    server: S,
    /// What handlers get for the way back to the client, by which these calls send nothing.
    unused: RunningService<RoleServer, S>,
    shutdown: CancellationToken,
}

impl<S: CallHandler> DirectCalls<S> {
    /// It has to be called within a tokio runtime.
    pub(super) fn new(server: S, shutdown: CancellationToken) -> Self {
        let unused = serve_directly_with_ct(server.clone(), NobodyThere, None, shutdown.child_token());
        Self { server, unused, shutdown }
    }

    /// Answers a request if it is a call that can be answered here; if not, its head comes back.
    pub(super) async fn answer(&self, parts: Parts, body: &[u8]) -> Result<Response, Box<Parts>> {
        match self.read(&parts.headers, body) {
            Some(call) => Ok(self.carry_out(call, parts).await),
            None => Err(Box::new(parts)),
        }
    }

    /// Reads a call that can be answered here.
    fn read(&self, headers: &HeaderMap, body: &[u8]) -> Option<PlainCall> {
        let call = PlainCall::read(headers, body)?;
        let schema = self.server.get_tool(&call.params.name).map(|tool| tool.input_schema);
        let is_marked = schema.is_some_and(|schema| schema.iter().any(|(key, value)| key == MARK || is_marked(value)));
        (!is_marked).then_some(call)
    }

    /// Carries a call out. If its client goes away meanwhile, it is cancelled, and ends by itself.
    async fn carry_out(&self, call: PlainCall, parts: Parts) -> Response {
        let PlainCall { id, params, meta } = call;
        let cancel = self.shutdown.child_token();
        let mut context = RequestContext::new(id.clone(), self.unused.peer().clone());
        context.ct = cancel.clone();
        context.meta = meta;
        context.extensions.insert(parts);
        let server = self.server.clone();
        let answer = Box::pin(async move { server.answer_call(params, context).await });

        let outcome = Unanswered { answer: Some(answer), cancel }.await.map_err(in_newer_codes);

        let status = outcome.as_ref().map_or_else(status_of, |_| StatusCode::OK);
        let written = match outcome {
            Ok(CallAnswer::Relayed(result)) => RelayedMessage::new(id, result).written(),
            Ok(CallAnswer::Other(result)) => written(&ServerJsonRpcMessage::response(ServerResult::from(result), id)),
            Err(error) => written(&ServerJsonRpcMessage::error(error, Some(id))),
        };
        match written {
            Ok(body) => json_response(status, body),
            Err(error) => json_response(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
    }
}

fn written(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut body = Vec::with_capacity(ANSWER_BYTES_USUAL);
    serde_json::to_writer(&mut body, message)?;
    Ok(body)
}

fn is_marked(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(key, value)| key == MARK || is_marked(value)),
        Value::Array(items) => items.iter().any(is_marked),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// An error with the code that the newer era has for it.
fn in_newer_codes(error: ErrorData) -> ErrorData {
    match error.code {
        ErrorCode::RESOURCE_NOT_FOUND => ErrorData { code: ErrorCode::INVALID_PARAMS, ..error },
        _ => error,
    }
}

/// The status that the newer era has for an error of a call whose `_meta` is whole.
fn status_of(error: &ErrorData) -> StatusCode {
    match error.code {
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | ErrorCode::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<CallAnswer, ErrorData>> + Send>>;

/// A call that is carried out. Dropping it cancels the call and lets it end in a task of its own: what it has begun to
/// record must not be left halfway.
struct Unanswered {
    answer: Option<Answering>,
    cancel: CancellationToken,
}

impl Future for Unanswered {
    type Output = Result<CallAnswer, ErrorData>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(answer) = &mut self.answer else { return Poll::Pending };
        // A handler that breaks down costs its own call, and not the connection with it.
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)));
        let outcome = match polled {
            Ok(polled) => std::task::ready!(polled),
            Err(_panicked) => Err(ErrorData::internal_error("infold broke down on this call: report it", None)),
        };
        self.answer = None;
        Poll::Ready(outcome)
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        let Some(answer) = self.answer.take() else { return };
        self.cancel.cancel();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(answer);
        }
    }
}

/// A transport on which nothing comes, and that takes nothing.
struct NobodyThere;

impl Transport<RoleServer> for NobodyThere {
    type Error = std::io::Error;

    fn send(
        &mut self,
        _message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        std::future::ready(Err(std::io::ErrorKind::NotConnected.into()))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        std::future::pending().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
