//! MCP over streamable HTTP: `/mcp`, and `GET /mcp/tools/list` for discovery.
//!
//! Both protocol eras are served on one path, told apart by each request. No state hangs on a
//! connection: a request of either era is served on its own, and the session id that older clients are
//! given is only a name under which they can cancel a call. Sessions in the older sense exist where the
//! fixtures are on, because those ask the client for something in the middle of a call.
//!
//! Who may come in is the door's business: it leaves a [`Principal`] in the request's extensions, and a
//! request without one is refused here.

mod accept;
mod message;
mod running;
mod sessions;

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::{any, get};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use infold_core::Principal;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use crate::server::Server;
use crate::settings::Fixtures;
use message::Envelope;
use running::Running;
use sessions::HttpSessions;

/// Every route of [`http_router`], with the methods it answers.
pub const ROUTES: &[(&str, &[&str])] = &[("/mcp", &["POST"]), ("/mcp/tools/list", &["GET"])];

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const CONTEXT_STATE: HeaderName = HeaderName::from_static("x-context-state");
/// What a response says of the context when no session is known.
const NO_CONTEXT: HeaderValue = HeaderValue::from_static(
    r#"{"session_id":null,"active_branch_id":null,"branch_depth":0,"total_tokens":0,"folded_tokens":0,"context_usage":0.0}"#,
);

/// What the HTTP side and a tool's handler share about one call.
#[derive(Debug, Default)]
pub(crate) struct HttpCall {
    /// The response header `X-Context-State`, once the handler knows it.
    context_state: Mutex<Option<HeaderValue>>,
    /// Cancelled when the client takes the call back in a separate request.
    pub(crate) cancelled: CancellationToken,
}

impl HttpCall {
    /// Says what the response header is to be, unless the response has begun.
    pub(crate) fn show_context(&self, state: HeaderValue) {
        *self.context_state.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
    }

    fn shown_context(&self) -> Option<HeaderValue> {
        self.context_state.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[derive(Clone)]
struct Surface {
    server: Server,
    stateless: StreamableHttpService<Server, NeverSessionManager>,
    sessions: Option<HttpSessions>,
    running: Running,
}

/// The routes of the MCP surface, with their full paths; merge it into the program's router.
///
/// When `shutdown` is cancelled, open streams end and calls that wait are cancelled.
pub fn http_router(server: Server, shutdown: CancellationToken) -> Router {
    // Host and Origin are the door's to check: two lists would sooner or later disagree.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // An empty first event makes some older clients drop the server.
        .with_sse_retry(None)
        .with_max_request_body_bytes(server.settings().message_bytes_max)
        .with_cancellation_token(shutdown);
    let sessions = match server.settings().fixtures {
        Fixtures::On if server.settings().sessions_max > 0 => Some(HttpSessions::new(&server, &config)),
        Fixtures::On | Fixtures::Off => None,
    };
    let factory = {
        let server = server.clone();
        move || Ok(server.clone())
    };
    let stateless = StreamableHttpService::new(factory, Arc::default(), config);

    Router::new()
        .route("/mcp", any(entry))
        .route("/mcp/tools/list", get(list))
        .layer(map_response(with_context_state))
        .with_state(Surface { server, stateless, sessions, running: Running::default() })
}

/// Every response says how the context stands, also where that is nothing.
async fn with_context_state(mut response: Response) -> Response {
    response.headers_mut().entry(CONTEXT_STATE).or_insert(NO_CONTEXT);
    response
}

async fn entry(State(surface): State<Surface>, request: Request) -> Response {
    let Some(principal) = request.extensions().get::<Principal>() else {
        return nobody();
    };
    if request.method() == Method::POST {
        let principal = principal.clone();
        return surface.post(principal, request).await;
    }
    match &surface.sessions {
        Some(sessions) => sessions.handle(request).await,
        None => surface.stateless.handle(request).await.map(Body::new),
    }
}

async fn list(State(surface): State<Surface>, request: Request) -> Response {
    if request.extensions().get::<Principal>().is_none() {
        return nobody();
    }
    let tools = serde_json::json!({ "tools": surface.server.listed_tools() });
    json_response(StatusCode::OK, tools.to_string())
}

impl Surface {
    async fn post(&self, principal: Principal, request: Request) -> Response {
        let (mut parts, body) = request.into_parts();
        if !accept::is_json(&parts.headers) {
            return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json");
        }
        let body = match self.read_body(body).await {
            Ok(body) => body,
            Err(response) => return response,
        };
        let envelope = match message::read(&body) {
            Ok(envelope) => envelope,
            Err(problem) => return json_response(StatusCode::BAD_REQUEST, problem.body()),
        };
        accept::widen(&mut parts.headers);
        let client = client_name(&parts.headers);

        let call = Arc::new(HttpCall::default());
        if let (Some(client), Some(id)) = (&client, envelope.cancels()) {
            self.running.cancel(&principal.owner, client, &id);
        }
        let entered = match (&client, &envelope.id) {
            (Some(client), Some(id)) => Some(self.running.enter(&principal.owner, client, id, &call)),
            _ => None,
        };
        parts.extensions.insert(call.clone());
        parts.extensions.insert(entered.map(Arc::new));

        let request = http::Request::from_parts(parts, Full::new(body));
        let mut response = self.forward(request, &envelope, client.as_deref()).await;
        if let Some(state) = call.shown_context() {
            response.headers_mut().insert(CONTEXT_STATE, state);
        }
        response
    }

    async fn forward(
        &self,
        request: http::Request<Full<Bytes>>,
        envelope: &Envelope,
        client: Option<&str>,
    ) -> Response {
        let opens = envelope.method.as_deref() == Some("initialize");
        match &self.sessions {
            Some(sessions) if opens => return sessions.open(request).await,
            Some(sessions) if client.is_some() => return sessions.post(request).await,
            _ => {}
        }
        let mut response = self.stateless.handle(request).await.map(Body::new);
        if opens && response.status() == StatusCode::OK {
            response.headers_mut().insert(SESSION_ID, running::new_client_name());
        }
        response
    }

    async fn read_body(&self, body: Body) -> Result<Bytes, Response> {
        let bytes_max = self.server.settings().message_bytes_max;
        match Limited::new(body, bytes_max).collect().await {
            Ok(collected) => Ok(collected.to_bytes()),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                let text = format!("The request is larger than {bytes_max} bytes: send less at once");
                Err(plain(StatusCode::PAYLOAD_TOO_LARGE, text))
            }
            Err(_) => Err(plain(StatusCode::BAD_REQUEST, "The request body ended before it was complete")),
        }
    }
}

/// The name that an older client was given when it initialised, if it sends one.
fn client_name(headers: &HeaderMap) -> Option<String> {
    let name = headers.get(&SESSION_ID)?.to_str().ok()?;
    (1..=running::CLIENT_NAME_CHARS_MAX).contains(&name.len()).then(|| name.to_owned())
}

fn nobody() -> Response {
    let body = serde_json::json!({
        "code": "unauthenticated",
        "status": 401,
        "message": "No principal came with this request: reach infold through its own listener",
    });
    json_response(StatusCode::UNAUTHORIZED, body.to_string())
}

fn json_response(status: StatusCode, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn plain(status: StatusCode, text: impl Into<String>) -> Response {
    let mut response = Response::new(Body::from(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests;
