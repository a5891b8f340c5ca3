//! Checks the servers of `[gateway]`, and the limits that depend on each other.

use infold_core::gateway::duplicate_names;
use toml::Value;

use super::super::server::GatewayServer;
use super::{Entry, Problem, Problems, Settings, entry, origin};

const SERVERS: &str = "gateway.servers";

/// Reads each server, before all settings are read together: so every problem is reported, and none with a value.
pub(super) fn read_servers(entries: &[Entry], problems: &mut Problems) {
    let Some(entry) = entry::find(entries, SERVERS) else { return };
    for (at, server) in entry.value.as_array().into_iter().flatten().enumerate() {
        let name = server.get("name").and_then(Value::as_str);
        let which = name.map_or_else(|| format!("number {}", at + 1), |name| format!("{name:?}"));
        let found = match server {
            Value::Table(table) => GatewayServer::read(table).err().unwrap_or_default(),
            _ => vec!["a server is a table".to_owned()],
        };
        for problem in found {
            problems.add(
                Problem::new(format!("`{SERVERS}` in {}: server {which}: {problem}", entry.origin))
                    .hint("`infold settings --default` says what each field means"),
            );
        }
    }
}

/// Checks names, addresses and headers of the servers, and the longest message.
pub(super) fn check(settings: &Settings, entries: &[Entry], problems: &mut Problems) {
    let servers = settings.gateway.entries();
    let origin = origin(entries, SERVERS);
    for server in &servers {
        for problem in server.problems() {
            problems.add(Problem::new(format!("`{SERVERS}` in {origin}: server {:?}: {problem}", server.key.as_str())));
        }
    }
    for name in duplicate_names(&servers) {
        problems.add(
            Problem::new(format!("`{SERVERS}` in {origin}: more than one server is called {:?}", name.as_str()))
                .hint("rename all but one of them, or remove them"),
        );
    }
    let (message, result) = (settings.gateway.message_bytes_max, settings.gateway.result_bytes_max);
    if message <= result {
        problems.add(
            Problem::new(format!(
                "`gateway.message_bytes_max` = {message} leaves no room for a result of {result} bytes"
            ))
            .hint(format!("raise it to more than {result}, or lower gateway.result_bytes_max")),
        );
    }
}
