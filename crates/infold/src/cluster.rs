//! The servers that several machines share their state through: how they are reached, and whether they sync what they
//! acknowledge.

mod access;

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

/// Asks the servers' monitors whether every write is synced before it is acknowledged.
fn check_sync(nats: &Nats) -> Result<(), Refused> {
    let mut unknown = Vec::new();
    for monitor in &nats.monitors {
        match syncs_always(monitor, Duration::from_millis(nats.attempt_ms)) {
            Ok(true) => {}
            Ok(false) => {
                return Err(Refused::new(format!(
                    "the NATS server at {monitor} acknowledges writes before they are on disk"
                ))
                .hint("put `sync_interval: always` into the jetstream block of its configuration, and restart it"));
            }
            Err(problem) => unknown.push(format!("{monitor}: {problem}")),
        }
    }
    // Servers that are down now may be the ones that were checked before; those that answer decide.
    let is_shown = nats.monitors.len() > unknown.len() && unknown.len() * 2 < nats.monitors.len();
    match nats.sync {
        ServerSync::Trust => Ok(()),
        ServerSync::Require if is_shown => Ok(()),
        ServerSync::Require => {
            let why = if unknown.is_empty() { "store.nats.monitors is empty".to_owned() } else { unknown.join("; ") };
            Err(Refused::new(format!("nothing shows that the NATS servers sync every write to disk ({why})")).hint(
                "set store.nats.monitors to the servers' monitoring addresses, or store.nats.sync = \"trust\" if you have \
                 put `sync_interval: always` into their configuration",
            ))
        }
    }
}

fn syncs_always(monitor: &str, wait: Duration) -> Result<bool, String> {
    let address = monitor.strip_prefix("http://").ok_or("not an http:// address")?.trim_end_matches('/');
    let answer = get(address, "/jsz?config=true", wait).map_err(|error| error.to_string())?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("no HTTP answer")?;
    let found: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let config = found.get("config").ok_or("it has no JetStream")?;
    Ok(config.get("sync_always").and_then(Value::as_bool).unwrap_or(false))
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
pub fn describe_sync(nats: &Nats) -> &'static str {
    match nats.sync {
        ServerSync::Require => "every write is synced, as the servers' monitors say",
        ServerSync::Trust => "whether every write is synced was not checked (store.nats.sync = \"trust\")",
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
