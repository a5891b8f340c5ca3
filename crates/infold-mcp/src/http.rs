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
mod answers;
mod direct;
mod message;
mod running;
mod sessions;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::{any, get};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use infold_core::Principal;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

#[cfg(feature = "conformance")]
use crate::fixtures::FixtureServer;
use crate::server::{RelayServer, Server, ShownTools};
use answers::{json_response, plain, unauthenticated};
use direct::DirectCalls;
use message::Envelope;
pub(crate) use running::HttpCall;
use running::RunningCalls;
pub(crate) use sessions::InSession;
use sessions::SessionService;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const CONTEXT_STATE: HeaderName = HeaderName::from_static("x-context-state");
/// The value of `X-Context-State` when no session is known.
const NO_CONTEXT: HeaderValue = HeaderValue::from_static(
    r#"{"session_id":null,"active_branch_id":null,"branch_depth":0,"total_tokens":0,"folded_tokens":0,"context_usage":0.0}"#,
);

struct Surface {
    server: Server,
    service: Service,
    running: RunningCalls,
}

/// What serves a request once it has been read.
enum Service {
    /// Serves infold's own tools, each request by itself.
    Own(StreamableHttpService<Server, NeverSessionManager>, DirectCalls<Server>),
    /// The same with the tools of other servers, which may ask their client something: older clients have sessions.
    Relay(Box<SessionService<RelayServer>>, DirectCalls<RelayServer>),
    /// Serves the fixtures of the conformance suite too, which ask as well.
    #[cfg(feature = "conformance")]
    Fixtures(SessionService<FixtureServer>),
}

/// The routes of the MCP surface, with their full paths; merge it into the program's router.
///
/// When `shutdown` is cancelled, open streams end and calls that wait are cancelled. It has to be called within a tokio
/// runtime.
pub fn http_router(server: Server, shutdown: CancellationToken) -> Router {
    let servers = server.showing(ShownTools::Servers);
    let others = Router::new().route("/mcp/servers", any(entry));
    let others = with_surface(others, servers.clone(), own_service(servers, shutdown.clone()));
    // What refuses a method there is not ours, so the header is added around it.
    let routes = Router::new().route("/mcp/tools/list", get(list)).layer(map_response(with_context_state));
    let routes = routes.route("/mcp", any(entry));
    with_surface(routes, server.clone(), own_service(server, shutdown)).merge(others)
}

fn own_service(server: Server, shutdown: CancellationToken) -> Service {
    let config = config(&server, shutdown.clone());
    if server.relays() {
        let server = RelayServer(server);
        let sessions = Box::new(SessionService::new(server.clone(), &config));
        Service::Relay(sessions, DirectCalls::new(server, shutdown))
    } else {
        let direct = DirectCalls::new(server.clone(), shutdown);
        Service::Own(StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config), direct)
    }
}

/// The path at which the conformance suite finds infold's tools and its own fixtures.
#[cfg(feature = "conformance")]
pub fn conformance_router(server: Server, shutdown: CancellationToken) -> Router {
    let fixtures = FixtureServer::new(server.clone());
    let service = Service::Fixtures(SessionService::new(fixtures, &config(&server, shutdown)));
    with_surface(Router::new().route("/mcp/conformance", any(entry)), server, service)
}

fn with_surface(routes: Router<Arc<Surface>>, server: Server, service: Service) -> Router {
    routes.with_state(Arc::new(Surface { server, service, running: RunningCalls::default() }))
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

async fn entry(State(surface): State<Arc<Surface>>, request: Request) -> Response {
    let response = match request.extensions().get::<Principal>().cloned() {
        Some(principal) if request.method() == Method::POST => surface.post(principal, request).await,
        // Boxed, because everything that waits for a request would otherwise be as large as the library's work.
        Some(principal) => Box::pin(surface.other_method(principal, request)).await,
        None => unauthenticated(),
    };
    with_context_state(response).await
}

async fn list(State(surface): State<Arc<Surface>>, request: Request) -> Response {
    let Some(principal) = request.extensions().get::<Principal>() else {
        return unauthenticated();
    };
    let tools = serde_json::json!({ "tools": surface.server.tools_of(principal).await });
    json_response(StatusCode::OK, tools.to_string())
}

impl Service {
    /// Answers a request without the protocol library's tasks, if that makes no difference to the answer. If not, its
    /// head comes back.
    async fn answer_directly(&self, parts: Parts, body: &[u8]) -> Result<Response, Box<Parts>> {
        match self {
            Self::Own(_, direct) => direct.answer(parts, body).await,
            Self::Relay(_, direct) => direct.answer(parts, body).await,
            #[cfg(feature = "conformance")]
            Self::Fixtures(_) => Err(Box::new(parts)),
        }
    }
}

impl Surface {
    /// Has the protocol library answer what is not posted.
    async fn other_method(&self, Principal { owner, .. }: Principal, request: Request) -> Response {
        match &self.service {
            Service::Own(service, _) => service.handle(request).await.map(Body::new),
            Service::Relay(service, _) => service.handle(&owner, request).await,
            #[cfg(feature = "conformance")]
            Service::Fixtures(service) => service.handle(&owner, request).await,
        }
    }

    async fn post(&self, principal: Principal, request: Request) -> Response {
        let (mut parts, body) = request.into_parts();
        if !accept::is_json(&parts.headers) {
            return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json");
        }
        let body = match self.read_body(body).await {
            Ok(body) => body,
            Err(response) => return response,
        };
        accept::widen(&mut parts.headers);
        let call = Arc::new(HttpCall::default());
        parts.extensions.insert(call.clone());
        let mut response = match self.service.answer_directly(parts, &body).await {
            Ok(response) => response,
            // Boxed for the same reason as in `entry`.
            Err(parts) => Box::pin(self.hand_to_library(principal, (*parts, body), &call)).await,
        };
        if let Some(state) = call.shown_context() {
            response.headers_mut().insert(CONTEXT_STATE, state);
        }
        response
    }

    /// Has the protocol library answer a request.
    async fn hand_to_library(
        &self,
        principal: Principal,
        (mut parts, body): (Parts, Bytes),
        call: &Arc<HttpCall>,
    ) -> Response {
        let envelope = match message::read(&body) {
            Ok(envelope) => envelope,
            Err(problem) => return json_response(StatusCode::BAD_REQUEST, problem.body()),
        };
        let client = client_name(&parts.headers);
        if let (Some(client), Some(id)) = (&client, envelope.cancels()) {
            self.running.cancel(&principal.owner, client, &id);
        }
        let entered = match (&client, &envelope.id) {
            (Some(client), Some(id)) => Some(self.running.enter(&principal.owner, client, id, call)),
            _ => None,
        };
        parts.extensions.insert(entered.map(Arc::new));

        let request = http::Request::from_parts(parts, Full::new(body));
        self.forward(&principal, request, &envelope).await
    }

    async fn forward(
        &self,
        Principal { owner, .. }: &Principal,
        request: http::Request<Full<Bytes>>,
        envelope: &Envelope,
    ) -> Response {
        let opens = envelope.method.as_deref() == Some("initialize");
        let mut response = match &self.service {
            Service::Own(service, _) => service.handle(request).await.map(Body::new),
            Service::Relay(service, _) if opens => return service.open(owner, request).await,
            Service::Relay(service, _) => return service.handle(owner, request).await,
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

#[cfg(test)]
mod tests;
