//! The way back to the client of a call: progress and log lines while it waits, questions that it is asked, and its word that it
//! no longer wants the answer.

// Sampling, roots and logging are deprecated in the newer protocol revision, and clients of the older ones have them.
#![allow(deprecated)]

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    CreateMessageRequest, ElicitRequest, JsonObject, ListRootsRequest, LoggingMessageNotificationParam,
    ProgressNotificationParam, ResourceUpdatedNotificationParam, ServerRequest,
};
use rmcp::service::{Peer, RequestContext};
use serde_json::{Value, json};

use crate::http::{HttpCall, InSession};

/// The `_meta` key by which every request of the newer era says which revision it is of.
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The `_meta` key by which every request of the newer era says what its client can do.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The `_meta` key by which a request of the newer era asks for log lines.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

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
        // Reading nothing and writing it again takes a while too.
        let said = self.context.meta.get(CAPABILITIES).and_then(Value::as_object);
        if said.is_some_and(JsonObject::is_empty) {
            return json!({});
        }
        json!(self.context.client_capabilities().unwrap_or_default())
    }

    /// The session that the client has here, in which it can be asked something while a call is under way. Over standard
    /// streams there is only one client.
    pub(crate) fn session(&self) -> Option<Arc<str>> {
        match self.context.extensions.get::<http::request::Parts>() {
            Some(parts) => parts.extensions.get::<InSession>().map(|session| session.0.clone()),
            None => (!self.is_modern()).then(|| "stdio".into()),
        }
    }

    /// Whether the client says that it answers questions of this kind.
    pub(crate) fn can_be_asked(&self, method: &str) -> bool {
        let capability = match method {
            "elicitation/create" => "elicitation",
            "sampling/createMessage" => "sampling",
            _ => return false,
        };
        self.capabilities().get(capability).is_some_and(Value::is_object)
    }

    /// What asks the client, also while this is in use.
    pub(crate) fn asker(&self) -> ClientAsker {
        ClientAsker(self.context.peer.clone())
    }

    /// The level from which a client of the newer era wants log lines, if it says so.
    pub(crate) fn log_level(&self) -> Option<&str> {
        self.context.meta.get(LOG_LEVEL).and_then(Value::as_str)
    }

    /// Sends the client a log line of a server.
    pub(crate) async fn log(&self, params: Value) {
        // A line that is not of the protocol's form is nobody's.
        if let Ok(line) = serde_json::from_value::<LoggingMessageNotificationParam>(params) {
            let _ = self.context.peer.notify_logging_message(line).await;
        }
    }

    /// Says to the client that the list of tools has changed. One that has no session lists them when it likes.
    pub(crate) async fn tools_changed(&self) {
        if self.session().is_some() {
            let _ = self.context.peer.notify_tool_list_changed().await;
        }
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

/// Speaks to the client of a request, also when that has ended.
#[derive(Clone)]
pub(crate) struct ClientAsker(Peer<RoleServer>);

impl ClientAsker {
    /// Whether the client's connection has ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.0.is_transport_closed()
    }

    /// Says to the client that a resource has changed.
    pub(crate) async fn updated(&self, uri: String) {
        let _ = self.0.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await;
    }

    /// Asks the client what a server wants to know. The answer takes as long as the client's user.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Result<Value, String> {
        let request = as_request(method, params)?;
        let answer = self.0.send_request(request).await.map_err(|problem| problem.to_string())?;
        serde_json::to_value(answer).map_err(|problem| problem.to_string())
    }
}

/// A server's question in the protocol library's form.
fn as_request(method: &str, params: Value) -> Result<ServerRequest, String> {
    let unreadable = |problem: serde_json::Error| problem.to_string();
    match method {
        "elicitation/create" => {
            let params = serde_json::from_value(params).map_err(unreadable)?;
            Ok(ServerRequest::ElicitRequest(ElicitRequest::new(params)))
        }
        "sampling/createMessage" => {
            let params = serde_json::from_value(params).map_err(unreadable)?;
            Ok(ServerRequest::CreateMessageRequest(CreateMessageRequest::new(params)))
        }
        "roots/list" => Ok(ServerRequest::ListRootsRequest(ListRootsRequest::default())),
        other => Err(format!("{other} is nothing that a client is asked")),
    }
}
