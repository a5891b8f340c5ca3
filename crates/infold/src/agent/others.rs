//! Tools of other servers for the agent, through the gateway in this process: the agent is a client of infold's own server.
//!
//! What must hold: a call's result is counted once, in the thread of the call. The call is registered before it is made, so
//! that the gateway leaves counting to whoever sends the result on, which is the agent; only what the gateway offloads it
//! counts by itself, under the id of the call.

use std::path::PathBuf;
use std::sync::Arc;

use infold_agent::provider::ToolDefinition;
use infold_agent::setup::{ListedTools, OtherCall, OtherResult, OtherTools};
use infold_core::{Principal, SessionId};
use infold_engine::{Engine, IssuedCall, arguments_hash};
use infold_mcp::gateway::{CallOptions, LinkError, LinkLimits, ListKind, ListLimits, ServerLink};
use infold_mcp::{Gateway, Server, link_own_agent};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::parts;
use crate::settings::Settings;

/// How long a call may take in all. Each server has a limit of its own, which is shorter.
const CALL_TIMEOUT_MS_MAX: u64 = 24 * 3_600 * 1_000;
/// Calls that may be under way, in all threads together.
const CALLS_MAX: usize = 256;
/// How long the connection has to end. There is no process behind it.
const CLOSE_TIMEOUT_MS: u64 = 1_000;
/// Bounds of the list of tools, which is the gateway's and bounded there.
const PAGES_MAX: usize = 100;
const ITEMS_MAX: usize = 10_000;
const ITEM_BYTES_MAX: usize = 256 << 10;

/// What tools of other servers are made available for.
pub struct OthersFor<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The settings in force.
    pub settings: &'a Settings,
    /// The session that calls are counted in.
    pub session: &'a SessionId,
    /// The folder that the agent works in.
    pub folder: PathBuf,
    /// Ends calls and the connection.
    pub cancelled: &'a CancellationToken,
}

/// The agent's side of the connection.
struct OthersLink {
    engine: Engine,
    gateway: Arc<Gateway>,
    server: Server,
    session: SessionId,
    folder: PathBuf,
    limits: LinkLimits,
    cancelled: CancellationToken,
    link: OnceCell<ServerLink>,
}

/// The tools of all servers behind infold; none if there are no servers.
pub fn of(wanted: OthersFor<'_>, gateway: Option<Arc<Gateway>>) -> OtherTools {
    let Some(gateway) = gateway else { return OtherTools::none() };
    let OthersFor { engine, settings, session, folder, cancelled } = wanted;
    let others = Arc::new(OthersLink {
        engine: engine.clone(),
        server: Server::new(engine.clone(), parts::mcp_settings(settings), Some(Arc::clone(&gateway))),
        gateway,
        session: session.clone(),
        folder,
        limits: limits(settings),
        cancelled: cancelled.clone(),
        link: OnceCell::new(),
    });
    let listing = Arc::clone(&others);
    OtherTools {
        list: Arc::new(move || {
            let others = Arc::clone(&listing);
            Box::pin(async move { others.list().await.map_err(|error| error.to_string()) })
        }),
        call: Arc::new(move |call| {
            let others = Arc::clone(&others);
            Box::pin(async move { others.call(call).await })
        }),
    }
}

fn limits(settings: &Settings) -> LinkLimits {
    let gateway = &settings.gateway;
    LinkLimits {
        start_timeout_ms: gateway.start_timeout_ms,
        // What a server may send is passed on with a few words about it.
        message_bytes_max: gateway.message_bytes_max.saturating_mul(2),
        calls_max: CALLS_MAX,
        close_timeout_ms: CLOSE_TIMEOUT_MS,
        list: ListLimits {
            pages_max: PAGES_MAX,
            items_max: ITEMS_MAX,
            item_bytes_max: ITEM_BYTES_MAX,
            timeout_ms: gateway.start_timeout_ms.saturating_add(gateway.list_wait_ms),
        },
    }
}

impl OthersLink {
    /// The connection, which is made when it is first needed.
    async fn link(&self) -> Result<&ServerLink, LinkError> {
        let connecting = || {
            let (limits, cancelled) = (self.limits.clone(), self.cancelled.clone());
            link_own_agent(&self.server, Principal::local(), &self.folder, limits, cancelled)
        };
        self.link.get_or_try_init(connecting).await
    }

    async fn list(&self) -> Result<ListedTools, LinkError> {
        let listed = self.link().await?.list(ListKind::Tools).await?;
        let tools: Vec<ToolDefinition> = listed.items.iter().map(definition).collect();
        let only_reads = |tool: &&Value| tool["annotations"]["readOnlyHint"] == true;
        let reading = listed.items.iter().filter(only_reads).map(|tool| definition(tool).name).collect();
        let mut problems = listed.problems;
        problems.extend(self.gateway.problems().await);
        Ok(ListedTools { tools, reading, note: self.gateway.deferral_note(), problems })
    }

    async fn call(&self, call: OtherCall) -> OtherResult {
        let OtherCall { tool, arguments, call, thread } = call;
        if !arguments.is_object() {
            return failed("the arguments are not a JSON object: call it again with one".to_owned());
        }
        let arguments_hash = arguments_hash(&arguments.to_string());
        let issued = IssuedCall { id: call.clone(), tool: tool.clone(), arguments_hash };
        self.engine.calls_issued(&Principal::local(), &self.session, &thread, vec![issued]);
        let params = json!({
            "name": tool,
            "arguments": arguments,
            "_meta": {
                "callId": call,
                "infold/sessionId": self.session,
                "infold/branchId": thread.to_string(),
                "infold/projectPath": self.folder,
            },
        });
        let options = CallOptions { cancel: self.cancelled.clone(), ..CallOptions::within(CALL_TIMEOUT_MS_MAX) };
        let answer = async { self.link().await?.request("tools/call", params, options).await };
        match answer.await {
            Ok(result) => shown(&result),
            Err(error) => failed(error.to_string()),
        }
    }
}

fn failed(text: String) -> OtherResult {
    OtherResult { text, is_error: true }
}

/// A listed tool as a model's request has it.
fn definition(tool: &Value) -> ToolDefinition {
    let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
    let parameters = Some(&tool["inputSchema"]).filter(|schema| schema.is_object()).cloned();
    ToolDefinition {
        name: text("name"),
        description: text("description"),
        parameters: parameters.unwrap_or_else(|| json!({ "type": "object" })),
    }
}

/// What a model is shown of a result: its texts, and a line for each part that is none. A result without any parts is
/// shown as its structure.
fn shown(result: &Value) -> OtherResult {
    let parts = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = match (parts, &result["structuredContent"]) {
        ([], Value::Null) => String::new(),
        ([], structure) => structure.to_string(),
        (parts, _) => parts.iter().map(part).collect::<Vec<_>>().join("\n"),
    };
    OtherResult { text, is_error: result["isError"] == true }
}

fn part(part: &Value) -> String {
    let field = |name: &str| part[name].as_str().unwrap_or_default();
    match field("type") {
        "text" => field("text").to_owned(),
        "resource_link" => format!("[{} {}]", field("name"), field("uri")),
        "resource" => {
            let resource = &part["resource"];
            let words = |name: &str| resource[name].as_str();
            words("text").map_or_else(|| left_out(words("mimeType"), words("uri")), str::to_owned)
        }
        kind => left_out(part["mimeType"].as_str(), Some(kind)),
    }
}

/// The line for what is no text.
fn left_out(mime_type: Option<&str>, what: Option<&str>) -> String {
    format!("[left out: {} {}]", what.unwrap_or("something"), mime_type.unwrap_or("that is no text"))
}

#[cfg(test)]
mod tests;
