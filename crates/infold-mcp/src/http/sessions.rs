//! Sessions of the older protocol revisions, bounded in number and lapsing when idle.
//!
//! They exist for the fixtures, which ask their client for something while a call is under way.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use http_body_util::Full;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::plain;
use crate::server::Server;

#[derive(Clone)]
pub(super) struct HttpSessions {
    service: StreamableHttpService<Server, LocalSessionManager>,
    manager: Arc<LocalSessionManager>,
    sessions_max: usize,
}

impl HttpSessions {
    pub(super) fn new(server: &Server, config: &StreamableHttpServerConfig) -> Self {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(server.settings().session_idle);
        manager.session_config.sse_retry = None;
        let manager = Arc::new(manager);
        let factory = {
            let server = server.clone();
            move || Ok(server.clone())
        };
        let config = config.clone().with_legacy_session_mode(true);
        Self {
            service: StreamableHttpService::new(factory, manager.clone(), config),
            manager,
            sessions_max: server.settings().sessions_max,
        }
    }

    /// Serves a request that opens a session.
    pub(super) async fn open(&self, request: http::Request<Full<Bytes>>) -> Response {
        if self.manager.sessions.read().await.len() >= self.sessions_max {
            let text = format!("{} sessions stand already: close one, or wait until one lapses", self.sessions_max);
            return plain(StatusCode::SERVICE_UNAVAILABLE, text);
        }
        self.post(request).await
    }

    /// Serves a request that belongs to a session.
    pub(super) async fn post(&self, request: http::Request<Full<Bytes>>) -> Response {
        self.service.handle(request).await.map(Body::new)
    }

    /// Serves a stream of a session, or its end.
    pub(super) async fn handle(&self, request: Request) -> Response {
        self.service.handle(request).await.map(Body::new)
    }
}
