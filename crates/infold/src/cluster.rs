//! The servers that several machines share their state through: how they are reached, and whether they sync what they
//! acknowledge.

mod access;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use infold_engine::Engine;
use infold_store::{ClusterSettings, ClusterState, CreateStream};
use serde_json::Value;

pub use access::exposed_secret;

use crate::failure::{Refused, tell};
use crate::settings::{Backend, Nats, ServerSync, Settings};

/// The folder of this machine's index, in the data folder.
pub const FOLDER: &str = "cluster";
/// How much of a monitor's answer is read.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;

/// How the cluster is reached; `None` if the state is in this machine's own file. Refuses servers that acknowledge what
/// they have not synced.
pub fn settings(settings: &Settings) -> anyhow::Result<Option<ClusterSettings>> {
    match settings.store.backend {
        Backend::Sqlite => Ok(None),
        Backend::Nats => {
            check_sync(&settings.store.nats)?;
            cluster_settings(&settings.store.nats).map(Some)
        }
    }
}

fn cluster_settings(nats: &Nats) -> anyhow::Result<ClusterSettings> {
    if nats.servers.iter().any(|server| server.contains('@')) {
        // It would be shown wherever the servers are named.
        return Err(Refused::new("an address in store.nats.servers has a password in it")
            .hint("set store.nats.user, and name a file with the password: store.nats.password_file")
            .into());
    }
    Ok(ClusterSettings {
        servers: nats.servers.clone(),
        access: access::read_access(nats)?,
        ca_file: access::path(&nats.ca_file),
        client_certificate: access::client_certificate(nats)?,
        stream: nats.stream.clone(),
        subject_prefix: nats.subjects.clone(),
        documents_prefix: nats.documents.clone(),
        replicas: nats.replicas,
        create: if nats.create { CreateStream::IfAbsent } else { CreateStream::Never },
        trim_bytes: nats.trim_bytes,
        attempt_ms: nats.attempt_ms,
        timeout_ms: nats.timeout_ms,
    })
}

/// Refuses servers of which nothing shows that they sync every write before they acknowledge it.
fn check_sync(nats: &Nats) -> Result<(), Refused> {
    let said = ask_monitors(nats)?;
    // Servers that are down now may be the ones that were checked before; those that answer decide.
    let is_shown = said.servers.len() * 2 > nats.replicas && said.unknown.len() * 2 < nats.monitors.len();
    match nats.sync {
        ServerSync::Trust => Ok(()),
        ServerSync::Require if is_shown => Ok(()),
        ServerSync::Require => {
            let why = match (nats.monitors.is_empty(), said.unknown.is_empty()) {
                (true, _) => "store.nats.monitors is empty".to_owned(),
                (false, false) => said.unknown.join("; "),
                (false, true) => {
                    format!("{} of {} servers are behind store.nats.monitors", said.servers.len(), nats.replicas)
                }
            };
            Err(Refused::new(format!("nothing shows that the NATS servers sync every write to disk ({why})")).hint(
                "set store.nats.monitors to the servers' monitoring addresses, or store.nats.sync = \"trust\" if you have \
                 put `sync_interval: always` into their configuration",
            ))
        }
    }
}

/// What monitors say of the servers' disks.
struct MonitorsSaid {
    /// The servers that sync every write.
    servers: BTreeSet<String>,
    /// The monitors that say nothing, and why.
    unknown: Vec<String>,
}

/// Asks the servers' monitors whether every write is synced before it is acknowledged. One that says no is refused.
fn ask_monitors(nats: &Nats) -> Result<MonitorsSaid, Refused> {
    let mut said = MonitorsSaid { servers: BTreeSet::new(), unknown: Vec::new() };
    for monitor in &nats.monitors {
        match server_behind(monitor, Duration::from_millis(nats.attempt_ms)) {
            Ok((server, true)) => {
                said.servers.insert(server);
            }
            Ok((_, false)) => {
                return Err(Refused::new(format!(
                    "the NATS server at {monitor} acknowledges writes before they are on disk"
                ))
                .hint("put `sync_interval: always` into the jetstream block of its configuration, and restart it"));
            }
            Err(problem) => said.unknown.push(format!("{monitor}: {problem}")),
        }
    }
    Ok(said)
}

/// The id of the server behind a monitor, and whether it syncs every write.
fn server_behind(monitor: &str, wait: Duration) -> Result<(String, bool), String> {
    let address = monitor.strip_prefix("http://").ok_or("not an http:// address")?.trim_end_matches('/');
    let answer = get(address, "/jsz?config=true", wait).map_err(|error| error.to_string())?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("no HTTP answer")?;
    let found: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let server = found.get("server_id").and_then(Value::as_str).ok_or("it is no NATS server")?;
    let config = found.get("config").ok_or("it has no JetStream")?;
    Ok((server.to_owned(), config.get("sync_always").and_then(Value::as_bool).unwrap_or(false)))
}

fn get(address: &str, path: &str, wait: Duration) -> std::io::Result<String> {
    let found = address.to_socket_addrs()?.next().ok_or(std::io::ErrorKind::NotFound)?;
    let mut stream = TcpStream::connect_timeout(&found, wait)?;
    stream.set_read_timeout(Some(wait))?;
    stream.set_write_timeout(Some(wait))?;
    // HTTP/1.0: the answer ends with the connection, and comes in one piece.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}

/// Says which cluster was found, if there is one, and what is amiss with how it is reached.
pub fn announce(engine: &Engine, nats: &Nats) {
    if let Some(state) = engine.cluster() {
        tell("note", format_args!("{}; {}", describe(&state), describe_sync(nats)));
        if let Some((what, hint)) = exposed_secret(nats) {
            tell("warning", format_args!("{what}; {hint}"));
        }
    }
}

/// Says whether what is acknowledged is on disk, and who says so.
pub fn describe_sync(nats: &Nats) -> String {
    if nats.sync == ServerSync::Trust {
        return "whether every write is synced was not checked (store.nats.sync = \"trust\")".to_owned();
    }
    match ask_monitors(nats) {
        Ok(said) => format!("every write is synced, as {} of {} servers say", said.servers.len(), nats.monitors.len()),
        Err(refused) => refused.message().to_owned(),
    }
}

/// One line that says where the state is.
pub fn describe(state: &ClusterState) -> String {
    let leader = state.leader.as_deref().map_or_else(String::new, |leader| format!(", led by {leader}"));
    let servers = if state.replicas == 1 { "1 server".to_owned() } else { format!("{} servers", state.replicas) };
    format!(
        "state is shared: log {} on {servers}{leader}; {} of {} entries are in this machine's index",
        state.stream, state.applied, state.last
    )
}
