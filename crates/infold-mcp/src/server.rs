//! The MCP server: what it holds, and which tools it lists. What it answers is in `handler`.
//!
//! One server serves every request of every client; nothing in it belongs to a connection.

mod handler;
mod relay_handler;
mod relayed;

#[cfg(feature = "conformance")]
pub(crate) use handler::LIST_TTL_MS;
pub(crate) use relay_handler::{CallHandler, RelayServer};

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use infold_core::{OwnTool, Principal};
use infold_engine::Engine;
use rmcp::model::{ReadResourceResponse, ResourcesCapability, ServerCapabilities, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use crate::call::folder_in;
use crate::metrics::McpMetrics;
use crate::relay::Gateway;
use crate::settings::{Settings, ToolFamily};
use crate::{resources, tools};

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
    /// The gateway's, and those of other servers that are listed: for infold's own agent, which has the rest itself.
    Others,
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

    pub(crate) fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// What this server can do by itself. Clients tell their model of resources once they know that there are some, so
    /// these are announced only where the tools for memories are listed; they can be read in any case.
    fn own_capabilities(&self) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        if self.shared.settings.families.contains(&ToolFamily::Memory) {
            capabilities.resources = Some(ResourcesCapability::default());
        }
        capabilities
    }

    /// Reads one of infold's own resources.
    async fn read_ours(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let who = self.principal(context)?;
        let read = resources::read(&self.shared.engine, &who, uri, folder_in(&context.meta));
        Ok(Box::pin(read).await?.into())
    }

    /// The tools of infold's own that `tools/list` shows, in an order that never changes.
    fn listed_tools(&self) -> &[Tool] {
        &self.shared.listed
    }
}

fn no_tool(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("There is no tool {name:?}: tools/list names them"), None)
}
