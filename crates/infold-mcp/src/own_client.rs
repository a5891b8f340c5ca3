//! infold's own agent as a client of infold's own server, in one process: it gets tools of other servers on the same way as
//! every other client, with the same bounds.

use std::path::Path;

use infold_core::Principal;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::gateway::{LinkError, LinkIdentity, LinkLimits, LinkTerms, ServerLink};
use crate::server::{Server, ShownTools};
use crate::stdio::serve_streams;

/// The buffer between the two sides, in bytes.
const PIPE_BYTES: usize = 64 << 10;
/// Events of the connection that may wait. Nobody reads them: what the agent lists, it lists once.
const EVENTS_MAX: usize = 1;

/// Connects the agent that works in `folder` to the tools of other servers, and to those of the gateway by which they are
/// searched and called. The server's side is one of the engine's tasks, and ends with `shutdown` or with the connection.
pub async fn link_own_agent(
    server: &Server,
    caller: Principal,
    folder: &Path,
    limits: LinkLimits,
    shutdown: CancellationToken,
) -> Result<ServerLink, LinkError> {
    let server = server.showing(ShownTools::Others);
    let (agents, servers) = tokio::io::duplex(PIPE_BYTES);
    server.engine().tasks().spawn({
        let server = server.clone();
        async move {
            let served = serve_streams(&server, caller, tokio::io::split(servers), shutdown).await;
            if let Err(error) = served {
                tracing::warn!(%error, "tools of other servers are not served to the agent any more");
            }
        }
    });
    let (events, _) = mpsc::channel(EVENTS_MAX);
    let terms = LinkTerms { known_era: None, identity: LinkIdentity::own_agent(folder), limits };
    ServerLink::over_streams(tokio::io::split(agents), terms, events).await
}

#[cfg(test)]
mod tests;
