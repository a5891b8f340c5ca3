//! Calls that go on to other servers, and the tools that they add to the list.

use std::time::Instant;

use infold_core::gateway::GatewayTool;
use rmcp::model::{CallToolRequestParams, CallToolResponse, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::{Server, ShownTools};
use crate::relay::{CallWay, RelayCall, RelayCaller};

/// The name under which calls of servers' tools are measured: their own names are theirs to choose.
const MEASURED_AS: &str = "server_tool";

impl Server {
    /// The tools that `tools/list` shows: infold's own, then the gateway's, then those of servers that are listed.
    pub(crate) async fn tools_now(&self) -> Vec<Tool> {
        let mut tools = if self.shows_own() { self.listed_tools().to_vec() } else { Vec::new() };
        let Some(gateway) = &self.shared.gateway else { return tools };
        if self.shows_own() {
            tools.extend_from_slice(gateway.own_tools());
        }
        if self.shown != ShownTools::Own {
            tools.extend_from_slice(&gateway.ready().await.listed);
        }
        tools
    }

    /// Whether infold's own tools and the gateway's can be called here.
    pub(super) fn shows_own(&self) -> bool {
        match self.shown {
            ShownTools::All | ShownTools::Own => true,
            ShownTools::Servers => false,
        }
    }

    /// A tool that is listed and not infold's own.
    pub(super) fn others_tool(&self, name: &str) -> Option<Tool> {
        let gateway = self.shared.gateway.as_ref()?;
        let own = gateway.own_tools().iter().find(|tool| self.shows_own() && tool.name == name).cloned();
        own.or_else(|| gateway.catalogue().listed.iter().find(|tool| tool.name == name).cloned())
    }

    /// Calls a tool that is not one of infold's own: the gateway's, or a server's that is listed.
    pub(super) async fn call_others(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(gateway) = &self.shared.gateway else {
            let text = format!("There is no tool {:?}: tools/list names them", request.name);
            return Err(ErrorData::invalid_params(text, None));
        };
        let began = Instant::now();
        let who = self.principal(&context)?;
        let arguments = request.arguments.unwrap_or_default();
        let caller = RelayCaller::new(&self.shared.engine, who, (&request.name, &arguments), context);
        let of_gateway = GatewayTool::named(&request.name).filter(|_| self.shows_own());
        let (measured, result) = match of_gateway {
            Some(tool) => (tool.name(), gateway.call_own(tool, &caller, arguments).await),
            None => {
                let relay = RelayCall { caller: &caller, name: &request.name, way: CallWay::Direct, arguments };
                (MEASURED_AS, gateway.call(relay).await)
            }
        };
        let word = if result.is_error == Some(true) { "error" } else { "ok" };
        self.shared.metrics.called(measured, word, began.elapsed());
        Ok(result.into())
    }
}
