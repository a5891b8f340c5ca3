//! The configuration of one server: a file of `docs/cluster` with a test's ports, folder and passwords put in.
//!
//! Every replacement must find its place, so that the documents and the tests cannot drift apart.

use std::net::TcpListener;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::{NatsSetup, Password, Storage, SyncWhen, Tls, Users};
use crate::Rng;

/// The files that people are shown.
const EXAMPLES: [&str; 3] = [
    include_str!("../../../../docs/cluster/n1.conf"),
    include_str!("../../../../docs/cluster/n2.conf"),
    include_str!("../../../../docs/cluster/n3.conf"),
];
/// How many servers the example has.
pub const NODES_MAX: usize = EXAMPLES.len();

/// Ports that no outgoing connection gets on Linux, so that a server that was killed finds its own ones free again.
const PORTS: std::ops::Range<u16> = 12_000..32_000;
/// How many ports are tried until one is free.
const PORT_TRIES_MAX: usize = 1_000;
/// Nobody listens here. Servers advertise it to each other, so that every route is one of the configured ones, which
/// lead through links that can be cut.
const NOWHERE: &str = "127.0.0.1:1";

/// Where one server listens.
#[derive(Debug, Clone, Copy)]
pub struct NodePorts {
    pub client: u16,
    pub route: u16,
    pub monitor: u16,
}

impl NodePorts {
    /// Ports for this many servers that are free now. Someone else may take one before its server does; then all must be
    /// started with others.
    pub fn free(servers: usize, rng: &mut Rng) -> Result<Vec<Self>> {
        // Held until all are found, so that they differ.
        let held = (0..3 * servers).map(|_| free_port(rng)).collect::<Result<Vec<_>>>()?;
        let numbers = held.iter().map(|listener| Ok(listener.local_addr()?.port())).collect::<Result<Vec<u16>>>()?;
        let of_server = |ports: &[u16]| Self { client: ports[0], route: ports[1], monitor: ports[2] };
        Ok(numbers.chunks_exact(3).map(of_server).collect())
    }
}

fn free_port(rng: &mut Rng) -> Result<TcpListener> {
    for _ in 0..PORT_TRIES_MAX {
        let port = PORTS.start + rng.below(PORTS.len()) as u16;
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
            return Ok(listener);
        }
    }
    bail!("no free port among {PORTS:?}")
}

/// The passwords of one cluster.
#[derive(Debug, Clone)]
pub struct Passwords {
    /// What tests connect with.
    pub infold: String,
    /// What tests connect with as the second team.
    pub team2: String,
    route: String,
    operator: String,
    /// What the servers take for infold's.
    pub expected: String,
}

impl Passwords {
    /// New ones, of which the setup may make one wrong.
    pub fn new(setup: &NatsSetup, rng: &mut Rng) -> Self {
        let mut word = || format!("test-{:016x}", rng.next_u64());
        let infold = word();
        let expected = match setup.password {
            Password::Right => infold.clone(),
            Password::Wrong => word(),
        };
        Self { infold, team2: word(), route: word(), operator: word(), expected }
    }
}

/// What one server's file is made from.
pub struct NodeConfig<'a> {
    pub setup: &'a NatsSetup,
    pub node: usize,
    pub ports: NodePorts,
    /// The folder that the server stores in.
    pub store: &'a Path,
    pub passwords: &'a Passwords,
    /// The other servers, and the ports of the links that lead to them. Without any there is no cluster.
    pub peers: &'a [(usize, u16)],
}

impl NodeConfig<'_> {
    /// The text of the file.
    pub fn text(&self) -> Result<String> {
        let example = EXAMPLES.get(self.node).with_context(|| format!("the example has {NODES_MAX} servers"))?;
        let name = node_name(self.node);
        let store = self.store.to_str().context("the folder's name is not text")?;
        let replaced = replace(example, &format!("listen: \"{name}:4222\""), &listen(self.ports.client))?;
        let replaced =
            replace(&replaced, "http: \"127.0.0.1:8222\"", &format!("http: \"{}\"", at(self.ports.monitor)))?;
        let replaced = replace(&replaced, "CHANGE-ME-INFOLD", &self.passwords.expected)?;
        let replaced = replace(&replaced, "CHANGE-ME-TEAM2", &self.passwords.team2)?;
        let replaced = replace(&replaced, "CHANGE-ME-OPERATOR", &self.passwords.operator)?;
        let replaced = replace(&replaced, &format!("/var/lib/nats/{name}"), store)?;
        self.with_tls(&self.with_users(&self.with_storage(&self.with_routes(&replaced)?)?)?)
    }

    fn with_routes(&self, text: &str) -> Result<String> {
        if self.peers.is_empty() {
            return without_block(text, "cluster");
        }
        let name = node_name(self.node);
        let mut text = replace(text, &format!("listen: \"{name}:6222\""), &listen(self.ports.route))?;
        text = replace(&text, &format!("advertise: \"{name}:6222\""), &format!("advertise: \"{NOWHERE}\""))?;
        text = replace(&text, "CHANGE-ME-ROUTE", &self.passwords.route)?;
        for other in (0..NODES_MAX).filter(|other| *other != self.node) {
            let route = format!("@{}:6222", node_name(other));
            text = match self.peers.iter().find(|(peer, _)| *peer == other) {
                Some((_, port)) => replace(&text, &route, &format!("@{}", at(*port)))?,
                None => without_line(&text, &route)?,
            };
        }
        Ok(text)
    }

    fn with_storage(&self, text: &str) -> Result<String> {
        let text = match self.setup.sync {
            SyncWhen::Always => text.to_owned(),
            SyncWhen::ServersDefault => without_line(text, "sync_interval: always")?,
        };
        match self.setup.storage {
            Storage::Ample => Ok(text),
            Storage::Bytes(bytes) => replace(&text, "max_file_store: 16GB", &format!("max_file_store: {bytes}")),
            Storage::Off => without_line(&without_block(&text, "jetstream")?, "        jetstream: enabled"),
        }
    }

    fn with_users(&self, text: &str) -> Result<String> {
        match &self.setup.users {
            Users::Passwords if self.setup.storage == Storage::Ample => uncommented(text, "    ", "TEAM2"),
            Users::Passwords => Ok(text.to_owned()),
            Users::Nkey(key) => {
                let text = without_line(text, &self.passwords.expected)?;
                replace(&replace(&text, "# users: [ { nkey:", "users: [ { nkey:")?, "CHANGE-ME-NKEY", key)
            }
            Users::Signed(signed) => replace(&without_block(text, "accounts")?, "system_account: SYS\n", signed),
        }
    }

    fn with_tls(&self, text: &str) -> Result<String> {
        let (files, authority) = match &self.setup.tls {
            Tls::Off => return Ok(text.to_owned()),
            Tls::Servers(files) => (files, None),
            Tls::Both(files, authority) => (files, Some(authority)),
        };
        let shown = |path: &Path| path.display().to_string();
        let name = node_name(self.node);
        let text = uncommented(text, "", "tls")?;
        let text = replace(&text, &format!("/etc/nats/{name}.pem"), &shown(&files.certificate))?;
        let text = replace(&text, &format!("/etc/nats/{name}-key.pem"), &shown(&files.key))?;
        match authority {
            Some(authority) => replace(&text, "/etc/nats/authority.pem", &shown(authority)),
            None => without_line(&without_line(&text, "ca_file: \"")?, "    verify: true"),
        }
    }
}

/// What the example calls a server.
pub fn node_name(node: usize) -> String {
    format!("n{}", node + 1)
}

fn at(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

fn listen(port: u16) -> String {
    format!("listen: \"{}\"", at(port))
}

fn replace(text: &str, from: &str, to: &str) -> Result<String> {
    ensure!(text.contains(from), "docs/cluster no longer has {from:?}");
    Ok(text.replace(from, to))
}

/// Takes the marks of a comment from a block.
fn uncommented(text: &str, indent: &str, name: &str) -> Result<String> {
    let (first, last) = (format!("{indent}# {name} {{\n"), format!("{indent}# }}\n"));
    let parts = text.split_once(&first).and_then(|(before, rest)| Some((before, rest.split_once(&last)?)));
    let (before, (block, after)) = parts.with_context(|| format!("docs/cluster no longer has {name} in a comment"))?;
    let block = block.replace(&format!("{indent}# "), indent);
    Ok(format!("{before}{indent}{name} {{\n{block}{indent}}}\n{after}"))
}

/// Leaves out the one line that has these words.
fn without_line(text: &str, words: &str) -> Result<String> {
    let has = |line: &&str| line.contains(words);
    ensure!(text.lines().filter(has).count() == 1, "docs/cluster must have {words:?} in one line");
    Ok(text.lines().filter(|line| !has(line)).map(|line| format!("{line}\n")).collect())
}

/// Leaves out a block from its name at the start of a line to the bracket at the start of another.
fn without_block(text: &str, name: &str) -> Result<String> {
    let rest = text.split_once(&format!("\n{name} {{\n"));
    let parts = rest.and_then(|(before, rest)| Some((before, rest.split_once("\n}\n")?.1)));
    let (before, after) = parts.with_context(|| format!("docs/cluster no longer has a block {name:?}"))?;
    Ok(format!("{before}\n{after}"))
}
