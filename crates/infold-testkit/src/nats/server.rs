//! One NATS server by itself.

use std::path::Path;

use anyhow::{Context, Result};
use async_nats::{Client, ConnectOptions};

use super::config::{NodeConfig, NodePorts, Passwords};
use super::monitor::{Monitor, until_some};
use super::node::{NatsNode, PortTaken};
use super::{NATS_OTHER_USER, NATS_USER, NatsSetup};
use crate::{Rng, TempFolder};

/// How often servers are started with other ports, if someone took theirs.
const STARTS_MAX: usize = 3;

/// A server with a folder of its own. It is killed when it is dropped.
#[derive(Debug)]
pub struct NatsServer {
    node: NatsNode,
    passwords: Passwords,
    monitor: Monitor,
    /// Removed after the server is dead: fields are dropped in this order.
    folder: TempFolder,
}

impl NatsServer {
    /// Starts a server with JetStream and waits until it is ready; `None` where there is no program to start, which is a
    /// failure in CI.
    pub async fn start() -> Result<Option<Self>> {
        NatsSetup::default().start_server().await
    }

    pub(super) async fn start_with(setup: &NatsSetup, program: &Path) -> Result<Self> {
        with_other_ports(async || Self::start_once(setup, program).await).await
    }

    async fn start_once(setup: &NatsSetup, program: &Path) -> Result<Self> {
        let folder = setup.folder()?;
        let mut rng = fresh_rng()?;
        let passwords = Passwords::new(setup, &mut rng);
        let store = folder.join("store");
        let ports = NodePorts::free(1, &mut rng)?[0];
        let config = NodeConfig { setup, node: 0, ports, store: &store, passwords: &passwords, peers: &[] };
        let node = NatsNode::start_new(program, folder.path(), &config)?;
        let server = Self { node, passwords, monitor: Monitor::new()?, folder };
        server.until_ready().await?;
        Ok(server)
    }

    /// Kills the server at once, as a crash would.
    pub fn kill(&mut self) -> Result<()> {
        self.node.kill()
    }

    /// Starts a killed server again, with the same port and data, and waits until it is ready.
    pub async fn restart(&mut self) -> Result<()> {
        self.node.start()?;
        self.until_ready().await
    }

    /// Lets the server keep this many bytes in files (`max_file_store`) from its next start on.
    pub fn set_file_store_bytes_max(&self, bytes: u64) -> Result<()> {
        self.node.configure("max_file_store", &bytes.to_string())
    }

    /// Stops the server where it is (SIGSTOP). Its connections stay open and silent.
    pub fn pause(&self) -> Result<()> {
        self.node.process()?.pause()
    }

    /// Lets a paused server go on.
    pub fn resume(&self) -> Result<()> {
        self.node.process()?.resume()
    }

    /// The folder with all of the server's files.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where clients connect, without user and password.
    pub fn client_url(&self) -> String {
        self.node.client_url()
    }

    /// The password of [`NATS_USER`].
    pub fn password(&self) -> &str {
        &self.passwords.infold
    }

    /// The password of [`NATS_OTHER_USER`].
    pub fn other_password(&self) -> &str {
        &self.passwords.team2
    }

    /// A client of this server that is another team's.
    pub async fn other_client(&self) -> Result<Client> {
        let (user, password) = (NATS_OTHER_USER.to_owned(), self.other_password().to_owned());
        let options = ConnectOptions::with_user_and_password(user, password);
        options.connect(self.client_url()).await.context("cannot connect to the server")
    }

    /// A client of this server.
    pub async fn client(&self) -> Result<Client> {
        let options = ConnectOptions::with_user_and_password(NATS_USER.to_owned(), self.password().to_owned());
        options.connect(self.client_url()).await.context("cannot connect to the server")
    }

    async fn until_ready(&self) -> Result<()> {
        let monitor = self.node.ports().monitor;
        until_some("a server that is ready", async || {
            self.node.check_running()?;
            Ok(self.monitor.is_healthy(monitor).await.then_some(()))
        })
        .await
    }
}

/// Random numbers for names and ports, which nobody has to repeat.
pub fn fresh_rng() -> Result<Rng> {
    Ok(Rng::new(getrandom::u64().map_err(|error| anyhow::anyhow!("no randomness: {error}"))?))
}

/// Starts servers again if someone took one of their ports meanwhile.
pub async fn with_other_ports<T>(mut start: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    for _ in 1..STARTS_MAX {
        match start().await {
            Err(error) if error.downcast_ref::<PortTaken>().is_some() => {}
            outcome => return outcome,
        }
    }
    start().await
}
