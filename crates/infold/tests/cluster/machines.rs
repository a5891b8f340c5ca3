//! Servers and the daemons in front of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use infold_testkit::nats::{NATS_USER, NatsCluster};
pub use infold_testkit::nats::{SHARED_STREAM as STREAM, connected};
use infold_testkit::{Daemon, DaemonSetup, Era, McpHttp, TempFolder};

use crate::support::{Api, Program, roomy};

/// Three servers, and daemons that share their state through them.
pub struct Machines {
    pub daemons: Vec<Daemon>,
    pub cluster: NatsCluster,
    pub folder: TempFolder,
}

impl Machines {
    /// Starts three servers and as many daemons; `None` where there is no server to start.
    pub async fn start(daemons: usize, change: impl Fn(DaemonSetup) -> DaemonSetup) -> Option<Self> {
        let cluster = NatsCluster::start(3).await.unwrap()?;
        Some(Self::on(cluster, daemons, change).await)
    }

    /// Starts as many daemons on servers that run.
    pub async fn on(cluster: NatsCluster, daemons: usize, change: impl Fn(DaemonSetup) -> DaemonSetup) -> Self {
        let mut machines = Self { daemons: Vec::new(), cluster, folder: TempFolder::new().unwrap() };
        for _ in 0..daemons {
            machines.add(&change).await;
        }
        machines
    }

    /// Adds a daemon with a folder of its own. The first one makes the log; the others get its key.
    pub async fn add(&mut self, change: &impl Fn(DaemonSetup) -> DaemonSetup) {
        let data = self.data(self.daemons.len());
        if let Some(first) = self.daemons.first() {
            let taken = first.data().join("cluster/infold.key");
            let command =
                infold_command(&["store", "key", "--from", taken.to_str().unwrap(), "--data", data.to_str().unwrap()]);
            assert!(command.status.success(), "{command:?}");
        }
        let setup = self.connected(change(roomy())).data(data);
        self.daemons.push(setup.start().await.unwrap());
    }

    /// The daemons, each with a client of its own.
    pub async fn programs(&mut self) -> Vec<Program> {
        let mut programs = Vec::new();
        for daemon in self.daemons.drain(..) {
            let mcp = McpHttp::connect(daemon.base_url(), Era::Modern).await.unwrap();
            let api = Api::new(mcp.http().clone(), daemon.base_url());
            programs.push(Program { daemon, mcp, api });
        }
        programs
    }

    /// The folder of a daemon's data.
    pub fn data(&self, number: usize) -> PathBuf {
        self.folder.join(&format!("machine-{number}"))
    }

    /// A daemon that shares its state through the servers.
    pub fn connected(&self, setup: DaemonSetup) -> DaemonSetup {
        connected(setup, &self.cluster.client_urls(), &self.password_file())
    }

    /// Arguments that let any command reach the servers.
    pub fn settings(&self) -> Vec<String> {
        let settings = [
            format!("store.nats.servers={:?}", self.cluster.client_urls()),
            format!("store.nats.user={NATS_USER}"),
            format!("store.nats.password_file={}", self.password_file().display()),
            "store.nats.create=true".to_owned(),
            "store.nats.sync=trust".to_owned(),
        ];
        settings.into_iter().flat_map(|setting| ["--set".to_owned(), setting]).collect()
    }

    fn password_file(&self) -> PathBuf {
        let file = self.folder.join("password");
        keep_secret(&file, self.cluster.password());
        file
    }
}

/// Writes a file that nobody else can read.
pub fn keep_secret(file: &Path, text: &str) {
    fs::write(file, text).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Runs the program, without what the environment says to tests, and returns what it said.
pub fn infold_command(arguments: &[&str]) -> std::process::Output {
    bare_infold().args(arguments).output().unwrap()
}

/// The program, without what the environment says to tests.
pub fn bare_infold() -> Command {
    undisturbed(Command::new(env!("CARGO_BIN_EXE_infold")))
}

/// Takes what the environment says to tests from a command.
pub fn undisturbed(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("INFOLD_")) {
        command.env_remove(name);
    }
    command
}
