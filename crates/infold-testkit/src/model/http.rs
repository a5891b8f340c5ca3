//! The fake model's routes: which API a path belongs to, and how an answer leaves.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::Shared;
use super::received::{Api, Received, session_of};
use super::refusal::Refusal;
use super::spoken::Spoken;

/// The longest body that Anthropic takes; the same bound is kept for all.
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

/// Clients ask for the list at their start and go on without it.
async fn models() -> Response {
    whole(StatusCode::OK, &json!({"object": "list", "data": [], "models": [], "has_more": false}))
}

async fn nothing_here(uri: Uri) -> Response {
    let message = format!("the scripted model does not serve {}", uri.path());
    whole(StatusCode::NOT_FOUND, &json!({"type": "error", "error": {"type": "not_found_error", "message": message}}))
}

/// Takes a request in, and sends off its answer in the form that it asks for.
fn take(shared: &Shared, api: Api, uri: &Uri, headers: &HeaderMap, bytes: &Bytes) -> Response {
    if bytes.len() > BODY_BYTES_MAX {
        let message = "Request exceeds the maximum size".to_owned();
        return refused(&Refusal::anthropic_with(413, "request_too_large", message));
    }
    let body: Value = match serde_json::from_slice(bytes) {
        Ok(body) => body,
        Err(error) => return refused(&Refusal::anthropic(format!("The request body is not valid JSON: {error}"))),
    };
    let headers: Vec<(String, String)> = headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let streamed = body["stream"] == true;
    let received = Received {
        api,
        path: uri.to_string(),
        session: session_of(&headers, &body),
        headers,
        bytes: bytes.to_vec(),
        body,
        broken: None,
        reasoning_dropped: 0,
    };
    match shared.answer(received) {
        Ok(spoken) if streamed => events(spoken),
        Ok(spoken) => whole(StatusCode::OK, &spoken.plain),
        Err(refusal) => refused(&refusal),
    }
}

fn refused(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    whole(status, &refusal.body)
}

fn whole(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// A stream in which every event is a piece of its own, as providers send it.
fn events(spoken: Spoken) -> Response {
    let pieces = spoken.events.into_iter().map(|event| Ok::<_, Infallible>(Bytes::from(event.wire())));
    let body = Body::from_stream(futures::stream::iter(pieces));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}
