//! A daemon in this very process, for one agent: the same parts as `infold serve`, on a free port of the
//! loopback address, until the agent has ended.

use std::ffi::OsString;
use std::net::SocketAddr;

use anyhow::Context;
use infold_door::{Closed, Door, Token};
use infold_engine::Engine;
use infold_mcp::ShownTools;
use prometheus::Registry;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Agent;
use crate::commands::Invocation;
use crate::commands::serve::{door_error, finish_recording, router};
use crate::failure::Refused;
use crate::gateway::{self, TakenServers, take_none, take_servers};
use crate::parts;

/// A daemon that runs beside whatever else this process does.
pub struct Daemon {
    address: SocketAddr,
    /// What the agent is wired with for other servers, if there are any behind infold.
    pub servers: Option<TakenServers>,
    /// What the user should know about the servers of the agent.
    pub notes: Vec<String>,
    engine: Engine,
    shutdown: CancellationToken,
    serving: JoinHandle<Closed>,
    timers: JoinHandle<()>,
}

impl Daemon {
    /// Binds a free port, opens the engine, hosts the servers, and serves in tasks of their own. An agent that it is for
    /// comes with its arguments, and its servers are hosted too if settings say so.
    pub async fn start(
        invocation: &Invocation,
        registry: Registry,
        agent: Option<(Agent, &[OsString])>,
    ) -> anyhow::Result<Self> {
        let settings = &invocation.in_force.settings;
        let folder = invocation.data_folder()?;
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.context("cannot get a free port on 127.0.0.1")?;
        let token = Token::read_or_create(folder.path()).map_err(|error| Refused::new(error.to_string()))?;
        let door = Door::open(listener, parts::door_settings(settings, token)).map_err(door_error)?;
        let engine = parts::engine(&folder, settings)?;

        let mut taken = match agent {
            Some((agent, arguments)) if settings.run.gateway => {
                take_servers(agent, arguments, invocation, &engine).await?
            }
            Some((agent, _)) => take_none(agent, invocation),
            None => TakenServers::default(),
        };
        let shutdown = CancellationToken::new();
        let hosted = std::mem::take(&mut taken.entries);
        let gateway = gateway::start(invocation, &engine, &shutdown, hosted);
        let notes = std::mem::take(&mut taken.notes);
        let servers = gateway.is_some().then_some(taken);
        let server = infold_mcp::Server::new(engine.clone(), parts::mcp_settings(settings), gateway);
        let server = server.showing(agent.map_or(ShownTools::All, |(agent, _)| shown_to(agent)));
        let router = router(invocation, (engine.clone(), server), registry, &shutdown)?;
        let timers = tokio::spawn({
            let (engine, cancel) = (engine.clone(), shutdown.clone());
            async move { engine.run_timers(cancel).await }
        });
        let address = door.address();
        let serving = tokio::spawn(door.serve(router, shutdown.clone()));
        Ok(Self { address, servers, notes, engine, shutdown, serving, timers })
    }

    /// Where it listens, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops serving, and returns once everything under way is recorded.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.shutdown.cancel();
        self.serving.await.context("the daemon failed")?;
        finish_recording(self.engine.tasks()).await;
        self.engine.flush_requests().await;
        self.engine.flush_gateway().await;
        self.timers.await.context("the timers failed")?;
        self.engine.finish_learning().await;
        Ok(())
    }
}

/// The tools at the daemon's usual path. Agents that have an entry of their own for other servers see only infold's there.
fn shown_to(agent: Agent) -> ShownTools {
    match agent {
        Agent::Claude | Agent::Codex | Agent::Opencode => ShownTools::Own,
        Agent::Goose | Agent::Qwen => ShownTools::All,
    }
}
