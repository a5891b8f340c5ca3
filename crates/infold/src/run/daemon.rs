//! A daemon in this very process, for one agent: the same parts as `infold serve`, on a free port of the
//! loopback address, until the agent has ended.

use std::net::SocketAddr;

use anyhow::Context;
use infold_door::{Closed, Door, Token};
use infold_engine::Engine;
use prometheus::Registry;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::commands::Invocation;
use crate::commands::serve::{door_error, finish_recording, router};
use crate::failure::Refused;
use crate::parts;

/// A daemon that runs beside whatever else this process does.
pub struct Daemon {
    address: SocketAddr,
    engine: Engine,
    shutdown: CancellationToken,
    serving: JoinHandle<Closed>,
    timers: JoinHandle<()>,
}

impl Daemon {
    /// Binds a free port, opens the engine, and serves in tasks of their own.
    pub async fn start(invocation: &Invocation, registry: Registry) -> anyhow::Result<Self> {
        let settings = &invocation.in_force.settings;
        let folder = invocation.data_folder()?;
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.context("cannot get a free port on 127.0.0.1")?;
        let token = Token::read_or_create(folder.path()).map_err(|error| Refused::new(error.to_string()))?;
        let door = Door::open(listener, parts::door_settings(settings, token)).map_err(door_error)?;
        let engine = parts::engine(&folder, settings)?;

        let shutdown = CancellationToken::new();
        let router = router(invocation, engine.clone(), registry, &shutdown)?;
        let timers = tokio::spawn({
            let (engine, cancel) = (engine.clone(), shutdown.clone());
            async move { engine.run_timers(cancel).await }
        });
        let address = door.address();
        let serving = tokio::spawn(door.serve(router, shutdown.clone()));
        Ok(Self { address, engine, shutdown, serving, timers })
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
        self.timers.await.context("the timers failed")
    }
}
