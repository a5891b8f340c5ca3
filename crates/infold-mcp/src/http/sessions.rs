//! Sessions of the older protocol revisions, for servers that ask their client something while a call is under way: bounded
//! in number, closed when idle, and each its owner's.
//!
//! A request that names a session which is not known is served by itself, so that a restart breaks nobody: only questions
//! are lost.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use http_body::Body as HttpBody;
use http_body_util::Full;
use infold_core::Owner;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::{SESSION_ID, plain};

/// Sessions that may be open at once.
pub(super) const SESSIONS_MAX: usize = 200;
/// Sessions that are known, with those that have ended.
const SESSIONS_KNOWN_MAX: usize = 4 * SESSIONS_MAX;
/// How long a session may be idle before it is closed.
const SESSION_IDLE: Duration = Duration::from_secs(1800);

/// The name of the session that a request is served in, among what belongs to the request.
#[derive(Debug, Clone)]
pub(crate) struct InSession(pub(crate) Arc<str>);

/// Serves requests of sessions, and requests on their own.
pub(super) struct SessionService<S: ServerHandler> {
    stateless: StreamableHttpService<S, NeverSessionManager>,
    sessions: StreamableHttpService<S, LocalSessionManager>,
    manager: Arc<LocalSessionManager>,
    owners: Mutex<HashMap<String, Owner>>,
}

impl<S: ServerHandler + Clone + Send + Sync + 'static> SessionService<S> {
    pub(super) fn new(server: S, config: &StreamableHttpServerConfig) -> Self {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(SESSION_IDLE);
        manager.session_config.sse_retry = None;
        let manager = Arc::new(manager);
        let factory = move || Ok(server.clone());
        let with_sessions = config.clone().with_legacy_session_mode(true);
        Self {
            stateless: StreamableHttpService::new(factory.clone(), Arc::default(), config.clone()),
            sessions: StreamableHttpService::new(factory, manager.clone(), with_sessions),
            manager,
            owners: Mutex::default(),
        }
    }

    /// Serves a request that opens a session.
    pub(super) async fn open(&self, owner: &Owner, request: http::Request<Full<Bytes>>) -> Response {
        let open = self.manager.sessions.read().await;
        if open.len() >= SESSIONS_MAX {
            let text = format!("{SESSIONS_MAX} sessions are open already: close one, or wait until one is closed");
            return plain(StatusCode::SERVICE_UNAVAILABLE, text);
        }
        if self.owners().len() > SESSIONS_KNOWN_MAX {
            self.owners().retain(|name, _| open.contains_key(name.as_str()));
        }
        drop(open);
        let response = self.sessions.handle(request).await.map(Body::new);
        if let Some(name) = response.headers().get(&SESSION_ID).and_then(|name| name.to_str().ok()) {
            self.owners().insert(name.to_owned(), owner.clone());
        }
        response
    }

    /// Serves a request in the session that it names, or on its own.
    pub(super) async fn handle<B>(&self, owner: &Owner, mut request: http::Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: std::fmt::Display,
    {
        let named = request.headers().get(&SESSION_ID).and_then(|name| name.to_str().ok()).map(Arc::<str>::from);
        let Some(name) = named else { return self.stateless.handle(request).await.map(Body::new) };
        let is_open = self.manager.sessions.read().await.contains_key(&name);
        let is_theirs = self.owners().get(&*name).is_some_and(|theirs| theirs == owner);
        match (is_open, is_theirs) {
            (true, true) => {
                request.extensions_mut().insert(InSession(name));
                self.sessions.handle(request).await.map(Body::new)
            }
            // One that has ended is known for a while: its client is to begin anew.
            (true, false) | (false, true) => {
                plain(StatusCode::NOT_FOUND, "There is no such session: initialize a new one")
            }
            (false, false) => self.stateless.handle(request).await.map(Body::new),
        }
    }

    fn owners(&self) -> std::sync::MutexGuard<'_, HashMap<String, Owner>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
