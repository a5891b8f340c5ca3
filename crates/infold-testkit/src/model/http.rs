//! The fake model's routes: which API a path belongs to, and how an answer is sent.

use std::io::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream::{self, BoxStream, Stream, StreamExt};
use serde_json::{Value, json};

use super::fault::{self, Fault};
use super::received::{Api, Received, session_of};
use super::refusal::Refusal;
use super::spoken::Spoken;
use super::{ScriptedAnswer, Shared};

/// The largest body that Anthropic accepts; the same bound applies to all APIs here.
const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// The routes, with and without the `/v1` that some clients put into their base address.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    let mut router = Router::new();
    for root in ["", "/v1"] {
        router = router
            .route(&format!("{root}/messages"), post(messages))
            .route(&format!("{root}/messages/count_tokens"), post(count_tokens))
            .route(&format!("{root}/responses"), post(responses))
            .route(&format!("{root}/chat/completions"), post(chat))
            .route(&format!("{root}/models"), get(models));
    }
    router = router.route("/api/chat", post(ollama));
    router.fallback(nothing_here).layer(DefaultBodyLimit::disable()).with_state(shared)
}

async fn messages(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    take(&shared, Api::Messages, &uri, &headers, &body)
}

async fn count_tokens(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    take(&shared, Api::CountTokens, &uri, &headers, &body)
}

async fn responses(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    take(&shared, Api::Responses, &uri, &headers, &body)
}

async fn chat(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    take(&shared, Api::Chat, &uri, &headers, &body)
}

async fn ollama(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    take(&shared, Api::Ollama, &uri, &headers, &body)
}

/// The list of models, which clients ask for when they start. An empty one does not disturb them.
async fn models() -> Response {
    whole(StatusCode::OK, &json!({"object": "list", "data": [], "models": [], "has_more": false}))
}

async fn nothing_here(uri: Uri) -> Response {
    let message = format!("the scripted model does not serve {}", uri.path());
    whole(StatusCode::NOT_FOUND, &json!({"type": "error", "error": {"type": "not_found_error", "message": message}}))
}

/// Reads a request, has it answered, and sends the answer in the form that the request asks for.
fn take(shared: &Arc<Shared>, api: Api, uri: &Uri, headers: &HeaderMap, bytes: &Bytes) -> Response {
    if bytes.len() > BODY_BYTES_MAX {
        let message = "Request exceeds the maximum size".to_owned();
        return refused(&Refusal::anthropic_with(413, "request_too_large", message), None);
    }
    let body: Value = match serde_json::from_slice(bytes) {
        Ok(body) => body,
        Err(error) => {
            return refused(&Refusal::anthropic(format!("The request body is not valid JSON: {error}")), None);
        }
    };
    let headers: Vec<(String, String)> = headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    // Ollama streams unless a request asks for the whole.
    let is_streamed = body["stream"] == true || (api == Api::Ollama && body["stream"].is_null());
    let form = if is_streamed { Form::Streamed } else { Form::Whole };
    let received = Received {
        path: uri.to_string(),
        session: session_of(&headers, &body),
        headers,
        bytes: bytes.to_vec(),
        ..Received::of(api, body)
    };
    match shared.answer(received) {
        ScriptedAnswer::Refused { refusal, retry_after_s } => refused(&refusal, retry_after_s),
        ScriptedAnswer::Spoken { spoken, fault } => respond(shared, api, spoken, form, fault),
    }
}

fn refused(refusal: &Refusal, retry_after_s: Option<u64>) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = whole(status, &refusal.body);
    if let Some(seconds) = retry_after_s {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn whole(status: StatusCode, body: &Value) -> Response {
    let headers = [("content-type", "application/json"), ("request-id", "req_scripted"), ("x-scripted", "yes")];
    (status, headers, body.to_string()).into_response()
}

/// The form in which an answer is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Streamed,
    Whole,
}

/// Sends an answer, with the fault that the script asks for. A stream has one piece for every event, as with
/// real providers.
fn respond(shared: &Arc<Shared>, api: Api, spoken: Spoken, form: Form, fault: Option<Fault>) -> Response {
    if form == Form::Whole && fault.is_none() {
        return whole(StatusCode::OK, &spoken.plain);
    }
    let (mut pieces, content_type) = match form {
        Form::Streamed => {
            let pieces: Vec<Bytes> = spoken.events.iter().map(|event| Bytes::from(event.wire())).collect();
            let is_lines = api == Api::Ollama;
            (pieces, if is_lines { "application/x-ndjson" } else { "text/event-stream; charset=utf-8" })
        }
        Form::Whole => (vec![Bytes::from(spoken.plain.to_string())], "application/json"),
    };
    let mut content_type = content_type.to_owned();
    let mut encoding = None;
    let mut end = stream::empty().boxed();
    let mut pause = None;
    match fault {
        None | Some(Fault::Status { .. }) => {}
        Some(Fault::ErrorEvent) => {
            pieces.truncate(pieces.len() / 2);
            pieces.push(Bytes::from(fault::error_event(api).wire()));
        }
        Some(Fault::CutAfter { bytes }) => {
            pieces = fault::first_bytes(pieces, bytes);
            end = stream::once(async {
                // The server drops unsent bytes on an error, so it first gets the chance to send them.
                tokio::task::yield_now().await;
                Err(std::io::Error::other("cut by the script"))
            })
            .boxed();
        }
        Some(Fault::EndsEarly) => pieces = fault::without_end(pieces),
        Some(Fault::StallAfter { bytes }) => {
            pieces = fault::first_bytes(pieces, bytes);
            end = stream::pending().boxed();
        }
        Some(slow @ Fault::Slow { .. }) => pause = slow.pause(),
        Some(Fault::ContentType { value }) => content_type = value,
        Some(Fault::Gzip) => {
            pieces = vec![gzip(&pieces.concat())];
            encoding = Some("gzip");
        }
    }
    let pieces = stream::iter(pieces).then(move |piece| async move {
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
        Ok(piece)
    });
    let body = Watched { pieces: pieces.chain(end).boxed(), shared: Arc::clone(shared), ended: false };
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    if let Ok(content_type) = HeaderValue::from_str(&content_type) {
        headers.insert(header::CONTENT_TYPE, content_type);
    }
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    headers.insert("request-id", HeaderValue::from_static("req_scripted"));
    headers.insert("x-scripted", HeaderValue::from_static("yes"));
    response
}

fn gzip(bytes: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing into memory does not fail.
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    Bytes::from(written.unwrap_or_default())
}

/// A body that is counted as abandoned if its reader goes away before its end.
struct Watched {
    pieces: BoxStream<'static, std::io::Result<Bytes>>,
    shared: Arc<Shared>,
    ended: bool,
}

impl Stream for Watched {
    type Item = std::io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.pieces.poll_next_unpin(context);
        if matches!(next, Poll::Ready(None | Some(Err(_)))) {
            self.ended = true;
        }
        next
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.ended {
            self.shared.abandoned.send_modify(|count| *count += 1);
        }
    }
}
