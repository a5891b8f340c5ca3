//! The way back to the client of a call: progress while it waits, and its word that it no longer wants the answer.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{JsonObject, ProgressNotificationParam};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use crate::http::HttpCall;

/// The `_meta` key by which every request of the newer era says which revision it is of.
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The way back to the client of one call.
pub(crate) struct ClientLine {
    context: RequestContext<RoleServer>,
    /// Of a call over HTTP, what its surface and its handler share.
    pub(crate) http: Option<Arc<HttpCall>>,
}

impl ClientLine {
    pub(crate) fn new(context: RequestContext<RoleServer>) -> Self {
        let http = context.extensions.get::<http::request::Parts>();
        let http = http.and_then(|parts| parts.extensions.get::<Arc<HttpCall>>()).cloned();
        Self { context, http }
    }

    /// What the client can do, as far as it says.
    pub(crate) fn capabilities(&self) -> Value {
        json!(self.context.client_capabilities().unwrap_or_default())
    }

    /// Whether the client speaks the newer era, in which a call may be answered with a question.
    pub(crate) fn is_modern(&self) -> bool {
        self.context.meta.contains_key(PROTOCOL_VERSION)
    }

    /// What the client sent along with the call.
    pub(crate) fn meta(&self) -> &JsonObject {
        &self.context.meta
    }

    /// Waits until the client cancels the call or goes away.
    pub(crate) async fn cancelled(&self) {
        let by_request = async {
            match &self.http {
                Some(http) => http.cancelled.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.context.ct.cancelled() => {}
            () = by_request => {}
        }
    }

    /// Whether the client asked for progress notifications.
    pub(crate) fn wants_progress(&self) -> bool {
        self.context.meta.get_progress_token().is_some()
    }

    /// Sends the client a progress notification, if it asked for them.
    pub(crate) async fn report_progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let Some(token) = self.context.meta.get_progress_token() else {
            return;
        };
        let mut progress = ProgressNotificationParam::new(token, done);
        progress.total = total;
        progress.message = message;
        if let Err(problem) = self.context.peer.notify_progress(progress).await {
            // The client may have gone away, which sending the answer will show.
            tracing::debug!(%problem, "progress was not delivered");
        }
    }
}
