//! MCP over streamable HTTP: `/mcp`, `/mcp/servers` with the tools of other servers only, and `GET /mcp/tools/list` for
//! discovery.
//!
//! Both protocol eras are served on one path; each request shows which era it is of. No state belongs to a
//! connection: every request is served on its own, and the session id that older clients get is only a name
//! under which they can cancel a call.
//!
//! The door decides who may come in: it puts a [`Principal`] into the request's extensions, and a request
//! without one is refused here.

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

#[cfg(feature = "conformance")]
use crate::fixtures::FixtureServer;
use crate::server::{RelayServer, Server, ShownTools};
use message::Envelope;
use running::RunningCalls;
pub(crate) use sessions::InSession;
use sessions::SessionService;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const CONTEXT_STATE: HeaderName = HeaderName::from_static("x-context-state");
/// The value of `X-Context-State` when no session is known.
const NO_CONTEXT: HeaderValue = HeaderValue::from_static(
    r#"{"session_id":null,"active_branch_id":null,"branch_depth":0,"total_tokens":0,"folded_tokens":0,"context_usage":0.0}"#,
);

/// What the HTTP side and a tool's handler share about one call.
#[derive(Debug, Default)]
pub(crate) struct HttpCall {
    /// The value of the response header `X-Context-State`, once the handler has set it.
    context_state: Mutex<Option<HeaderValue>>,
    /// Cancelled when the client cancels the call in a separate request.
    pub(crate) cancelled: CancellationToken,
}

impl HttpCall {
    /// Sets the value of the response header. It has no effect once the response has begun.
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
    service: Service,
    running: RunningCalls,
}

/// What serves a request once it has been read.
#[derive(Clone)]
enum Service {
    /// Serves infold's own tools, each request by itself.
    Own(StreamableHttpService<Server, NeverSessionManager>),
    /// The same with the tools of other servers, which may ask their client something: older clients have sessions.
    Relay(SessionService<RelayServer>),
    /// Serves the fixtures of the conformance suite too, which ask as well.
    #[cfg(feature = "conformance")]
    Fixtures(SessionService<FixtureServer>),
}

/// The routes of the MCP surface, with their full paths; merge it into the program's router.
///
/// When `shutdown` is cancelled, open streams end and calls that wait are cancelled.
pub fn http_router(server: Server, shutdown: CancellationToken) -> Router {
    let servers = server.showing(ShownTools::Servers);
    let others = Router::new().route("/mcp/servers", any(entry));
    let others = with_surface(others, servers.clone(), own_service(servers, shutdown.clone()));
    let routes = Router::new().route("/mcp", any(entry)).route("/mcp/tools/list", get(list));
    with_surface(routes, server.clone(), own_service(server, shutdown)).merge(others)
}

fn own_service(server: Server, shutdown: CancellationToken) -> Service {
    let config = config(&server, shutdown);
    if server.relays() {
        Service::Relay(SessionService::new(RelayServer(server), &config))
    } else {
        Service::Own(StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config))
    }
}

/// The path at which the conformance suite finds infold's tools and its own fixtures.
#[cfg(feature = "conformance")]
pub fn conformance_router(server: Server, shutdown: CancellationToken) -> Router {
    let fixtures = FixtureServer::new(server.clone());
    let service = Service::Fixtures(SessionService::new(fixtures, &config(&server, shutdown)));
    with_surface(Router::new().route("/mcp/conformance", any(entry)), server, service)
}

fn with_surface(routes: Router<Surface>, server: Server, service: Service) -> Router {
    let surface = Surface { server, service, running: RunningCalls::default() };
    routes.layer(map_response(with_context_state)).with_state(surface)
}

fn config(server: &Server, shutdown: CancellationToken) -> StreamableHttpServerConfig {
    // The door checks Host and Origin. A second list here would sooner or later disagree with its list.
    StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // An empty first event makes some older clients drop the server.
        .with_sse_retry(None)
        .with_max_request_body_bytes(server.settings().message_bytes_max)
        .with_cancellation_token(shutdown)
}

/// Adds `X-Context-State` to every response that does not have it, with figures that name no session.
async fn with_context_state(mut response: Response) -> Response {
    response.headers_mut().entry(CONTEXT_STATE).or_insert(NO_CONTEXT);
    response
}

async fn entry(State(surface): State<Surface>, request: Request) -> Response {
    let Some(principal) = request.extensions().get::<Principal>() else {
        return unauthenticated();
    };
    let principal = principal.clone();
    if request.method() == Method::POST {
        return surface.post(principal, request).await;
    }
    match &surface.service {
        Service::Own(service) => service.handle(request).await.map(Body::new),
        Service::Relay(service) => service.handle(&principal.owner, request).await,
        #[cfg(feature = "conformance")]
        Service::Fixtures(service) => service.handle(&principal.owner, request).await,
    }
}

async fn list(State(surface): State<Surface>, request: Request) -> Response {
    let Some(principal) = request.extensions().get::<Principal>() else {
        return unauthenticated();
    };
    let tools = serde_json::json!({ "tools": surface.server.tools_of(principal).await });
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
        let mut response = self.forward(&principal, request, &envelope).await;
        if let Some(state) = call.shown_context() {
            response.headers_mut().insert(CONTEXT_STATE, state);
        }
        response
    }

    async fn forward(
        &self,
        Principal { owner, .. }: &Principal,
        request: http::Request<Full<Bytes>>,
        envelope: &Envelope,
    ) -> Response {
        let opens = envelope.method.as_deref() == Some("initialize");
        let mut response = match &self.service {
            Service::Own(service) => service.handle(request).await.map(Body::new),
            Service::Relay(service) if opens => return service.open(owner, request).await,
            Service::Relay(service) => return service.handle(owner, request).await,
            #[cfg(feature = "conformance")]
            Service::Fixtures(service) if opens => return service.open(owner, request).await,
            #[cfg(feature = "conformance")]
            Service::Fixtures(service) => return service.handle(owner, request).await,
        };
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

/// The name that an older client got when it initialised, if it sends one of a sensible length.
fn client_name(headers: &HeaderMap) -> Option<String> {
    let name = headers.get(&SESSION_ID)?.to_str().ok()?;
    (1..=running::CLIENT_NAME_CHARS_MAX).contains(&name.len()).then(|| name.to_owned())
}

fn unauthenticated() -> Response {
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
