//! The way back to the client of a call: progress while it waits, and its word that it no longer wants the answer.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{JsonObject, ProgressNotificationParam};
use rmcp::service::RequestContext;

use crate::http::HttpCall;

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
