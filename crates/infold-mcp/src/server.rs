//! The MCP server: what it holds, and which tools it lists. What it answers is in `handler`.
//!
//! One server serves every request of every client; nothing in it belongs to a connection.

mod handler;
mod relay_handler;
mod relayed;

#[cfg(feature = "conformance")]
pub(crate) use handler::LIST_TTL_MS;
pub(crate) use relay_handler::RelayServer;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use infold_core::{OwnTool, Principal};
use infold_engine::Engine;
use rmcp::model::Tool;

use crate::metrics::McpMetrics;
use crate::relay::Gateway;
use crate::settings::Settings;
use crate::tools;

/// Serves MCP for one engine. Clones are cheap and share everything but the caller.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
    /// Who makes all requests, for transports whose requests carry no principal.
    caller: Option<Principal>,
    shown: ShownTools,
}

/// Which tools a server lists and takes calls of. Clients treat all tools of one entry alike, and tools of other
/// servers are not to be loaded or allowed because infold's own are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownTools {
    /// infold's own, the gateway's, and those of other servers that are listed.
    All,
    /// infold's own and the gateway's.
    Own,
    /// Those of other servers that are listed.
    Servers,
}

struct Shared {
    engine: Engine,
    settings: Settings,
    listed: Vec<Tool>,
    all: HashMap<Cow<'static, str>, Tool>,
    metrics: McpMetrics,
    gateway: Option<Arc<Gateway>>,
}

impl Server {
    /// A server on `engine` that takes the principal from each HTTP request. With a gateway it also serves the tools of
    /// other servers.
    pub fn new(engine: Engine, settings: Settings, gateway: Option<Arc<Gateway>>) -> Self {
        let all = OwnTool::ALL.into_iter().map(|tool| tools::definition(tool, engine.limits()));
        let all = all.map(|tool| (tool.name.clone(), tool)).collect();
        let shown = OwnTool::ALL.into_iter().filter(|tool| tools::is_listed(*tool, &settings.families));
        let listed = shown.map(|tool| tools::listed(tool, engine.limits(), settings.session_from)).collect();
        let metrics = McpMetrics::new();
        Self {
            shared: Arc::new(Shared { engine, settings, listed, all, metrics, gateway }),
            caller: None,
            shown: ShownTools::All,
        }
    }

    /// The same server with other tools.
    pub fn showing(&self, shown: ShownTools) -> Self {
        Self { shown, ..self.clone() }
    }

    /// The same server, for one caller who is known beforehand.
    pub(crate) fn for_caller(&self, caller: Principal) -> Self {
        Self { caller: Some(caller), ..self.clone() }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// The tools of infold's own that `tools/list` shows, in an order that never changes.
    fn listed_tools(&self) -> &[Tool] {
        &self.shared.listed
    }
}
