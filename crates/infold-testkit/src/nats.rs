//! Real NATS servers on loopback: [`NatsServer`] is one by itself, [`NatsCluster`] is three that keep each stream three
//! times, with routes that can be cut.
//!
//! They run the configuration files of `docs/cluster`, with ports, folders and passwords put in, so that what people are
//! shown is what is tested. The program comes from the Python packages that `cargo xtask test` installs. Servers end
//! with what started them, and with the test's process however that ends.

mod authority;
mod bare;
mod cluster;
mod config;
mod link;
mod monitor;
mod node;
mod operator;
mod placement;
mod process;
mod server;
mod shared;
mod slow_disk;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::{DaemonSetup, TempFolder};

pub use authority::{Authority, CertificateFiles};
pub use bare::BareStream;
pub use cluster::NatsCluster;
pub use operator::Operator;
pub use server::NatsServer;
pub use shared::{SharedNats, run_tests_on_nats, shared_server, tests_are_on_nats};

/// Where the test command puts the server, from the repository's root.
const INSTALLED: &str = ".tools/venv/bin/nats-server";

/// The user that infold connects as; `docs/cluster` names it.
pub const NATS_USER: &str = "infold";

/// The user of another team, in an account of its own; `docs/cluster` names it in a comment.
pub const NATS_OTHER_USER: &str = "team2";

/// The stream that daemons share by [`connected`].
pub const SHARED_STREAM: &str = "INFOLD";

/// How servers are to be started. [`NatsSetup::start_server`] and [`NatsSetup::start_cluster`] start them.
#[derive(Debug, Clone, Default)]
pub struct NatsSetup {
    sync: SyncWhen,
    storage: Storage,
    password: Password,
    tracing: Tracing,
    users: Users,
    tls: Tls,
    /// The folder that the servers store in, if it is not a temporary one.
    inside: Option<PathBuf>,
}

/// When messages are synced to disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SyncWhen {
    /// Before they are acknowledged.
    #[default]
    Always,
    /// Every two minutes, which is what a server does if it is not asked for more.
    ServersDefault,
}

/// What the servers may keep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Storage {
    /// As much as the example allows.
    #[default]
    Ample,
    /// This many bytes in files.
    Bytes(u64),
    /// Nothing: JetStream is off.
    Off,
}

/// Whether what servers do to their files is written down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Tracing {
    #[default]
    Off,
    On,
}

/// Whether the servers know the password that tests have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Password {
    #[default]
    Right,
    Wrong,
}

/// How the servers know who their clients are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Users {
    /// By name and password, as in the example.
    #[default]
    Passwords,
    /// By this nkey.
    Nkey(String),
    /// By what an operator has signed; this replaces accounts.
    Signed(String),
}

/// Whether clients and servers check each other's certificates.
#[derive(Debug, Clone, Default)]
enum Tls {
    /// There are none.
    #[default]
    Off,
    /// Clients check those of the servers.
    Servers(CertificateFiles),
    /// Servers check those of clients as well, by this authority.
    Both(CertificateFiles, PathBuf),
}

impl NatsSetup {
    /// Syncs when the server likes to, after the acknowledgement.
    pub fn sync_by_default(mut self) -> Self {
        self.sync = SyncWhen::ServersDefault;
        self
    }

    /// Lets the servers store in this folder. A temporary one may be in memory.
    pub fn inside(mut self, folder: &Path) -> Self {
        self.inside = Some(folder.to_owned());
        self
    }

    fn folder(&self) -> Result<TempFolder> {
        self.inside.as_deref().map_or_else(TempFolder::new, TempFolder::inside)
    }

    /// Runs the servers under a tracer, so that they can lose power ([`NatsCluster::lose_power`]). Needs `strace`.
    pub fn traced(mut self) -> Self {
        self.tracing = Tracing::On;
        self
    }

    fn is_traced(&self) -> bool {
        self.tracing == Tracing::On
    }

    /// Switches JetStream off.
    pub fn without_jetstream(mut self) -> Self {
        self.storage = Storage::Off;
        self
    }

    /// Lets each server keep this many bytes in files (`max_file_store`).
    pub fn file_store_bytes_max(mut self, bytes: u64) -> Self {
        self.storage = Storage::Bytes(bytes);
        self
    }

    /// Gives the servers another password than the one that [`NatsServer::password`] and [`NatsCluster::password`] say.
    pub fn with_wrong_password(mut self) -> Self {
        self.password = Password::Wrong;
        self
    }

    /// Lets infold in with this nkey, and with no password.
    pub fn with_nkey(mut self, public_key: &str) -> Self {
        self.users = Users::Nkey(public_key.to_owned());
        self
    }

    /// Lets in whom the operator's accounts have signed.
    pub fn with_operator(mut self, operator: &Operator) -> Result<Self> {
        self.users = Users::Signed(operator.configuration()?);
        Ok(self)
    }

    /// Speaks TLS only, with this certificate.
    pub fn with_tls(mut self, files: CertificateFiles) -> Self {
        self.tls = Tls::Servers(files);
        self
    }

    /// Speaks TLS only, and only with whom the authority has signed a certificate for.
    pub fn with_tls_for_known_clients(mut self, files: CertificateFiles, authority: &Path) -> Self {
        self.tls = Tls::Both(files, authority.to_owned());
        self
    }

    /// Starts one server; `None` where there is no program to start, which is a failure in CI.
    pub async fn start_server(self) -> Result<Option<NatsServer>> {
        match nats_program()? {
            Some(program) => NatsServer::start_with(&self, &program).await.map(Some),
            None => Ok(None),
        }
    }

    /// Starts a cluster of at most three servers and waits until it has a leader; `None` where there is no program to
    /// start, which is a failure in CI.
    pub async fn start_cluster(self, nodes: usize) -> Result<Option<NatsCluster>> {
        match nats_program()? {
            Some(program) => NatsCluster::start_with(&self, &program, nodes).await.map(Some),
            None => Ok(None),
        }
    }
}

/// Sets what a daemon needs to share its state through servers.
pub fn connected(setup: DaemonSetup, servers: &[String], password_file: &Path) -> DaemonSetup {
    // Addresses need no escapes: as Rust shows them they are JSON.
    let servers = format!("{servers:?}");
    setup
        .set("store.backend", "nats")
        .set("store.nats.servers", servers)
        .set("store.nats.user", NATS_USER)
        .set("store.nats.password_file", password_file.display())
        .set("store.nats.stream", SHARED_STREAM)
        .set("store.nats.create", true)
        .set("store.nats.sync", "trust")
}

/// The server's program. Where it is missing this says so, so that a test can leave; in CI it fails instead.
fn nats_program() -> Result<Option<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = root.join(INSTALLED);
    if program.is_file() {
        return Ok(Some(program));
    }
    if std::env::var("CI").is_ok_and(|ci| ci == "true") {
        bail!("{INSTALLED} is missing, and CI must have it: `cargo xtask test` installs it");
    }
    eprintln!("skipped: {INSTALLED} is missing; `cargo xtask test` installs it");
    Ok(None)
}
