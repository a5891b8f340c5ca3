//! Tools of other servers for the agent, through the gateway in this process.

use std::sync::Arc;

use infold_agent::setup::OtherTools;
use infold_engine::Engine;
use infold_mcp::Gateway;
use tokio_util::sync::CancellationToken;

use crate::settings::Settings;

/// The tools of all servers behind infold; none if there are no servers.
pub fn of(_: &Engine, _: &Settings, _: Option<Arc<Gateway>>, _: &CancellationToken) -> OtherTools {
    OtherTools::none()
}
