//! MCP servers that an editor hands over: they go through infold's gateway, beside those of the settings.

use agent_client_protocol::v1::schema::McpServer;
use infold_core::gateway::{HintTrust, LoginHints, NamedValues, Rights, ServerEntry, ServerKind, ServerWay, Sharing};

use crate::gateway::is_own;
use crate::settings::{Gateway, GatewayServer};

/// Servers of an editor that are used.
pub struct HandedOver {
    /// Their entries.
    pub entries: Vec<ServerEntry>,
    /// What the person should know of the others.
    pub notes: Vec<String>,
}

/// Takes servers over. One that the settings have as well is hosted once.
pub fn handed_over(servers: Vec<McpServer>, gateway: &Gateway) -> HandedOver {
    let known = gateway.entries();
    let mut handed = HandedOver { entries: Vec::new(), notes: Vec::new() };
    for server in servers {
        let Some((name, way)) = way(server) else {
            handed.notes.push("a server over SSE is not used: over HTTP and as a program they are".to_owned());
            continue;
        };
        let entry = gateway.entry(&GatewayServer {
            name,
            way,
            prefix: None,
            sharing: Sharing::PerProject,
            kind: ServerKind::Plain,
            hints: HintTrust::Trusted,
            timeout_ms: None,
            start_timeout_ms: None,
            rights: Rights::default(),
            is_enabled: true,
        });
        let same_name = known.iter().chain(&handed.entries).find(|other| other.key == entry.key);
        if known.iter().any(|other| other.way.is_same_target(&entry.way)) {
            continue;
        }
        match same_name {
            _ if is_own(&entry) => {
                handed.notes.push(format!("the server {} is infold itself, and is not used", entry.key))
            }
            Some(_) => {
                handed.notes.push(format!("there is another server {}, and the editor's is not used", entry.key))
            }
            None => handed.entries.push(entry),
        }
    }
    handed
}

/// The name of a server, and how it is reached; `None` if infold does not reach it.
fn way(server: McpServer) -> Option<(String, ServerWay)> {
    match server {
        McpServer::Stdio(server) => {
            let way = ServerWay::Child {
                program: server.command.to_string_lossy().into_owned(),
                arguments: server.args,
                variables: NamedValues(
                    server.env.into_iter().map(|variable| (variable.name, variable.value)).collect(),
                ),
                inherited: Vec::new(),
                folder: None,
            };
            Some((server.name, way))
        }
        McpServer::Http(server) => {
            let way = ServerWay::Http {
                url: server.url,
                headers: NamedValues(server.headers.into_iter().map(|header| (header.name, header.value)).collect()),
                helper: None,
                login: LoginHints::default(),
            };
            Some((server.name, way))
        }
        _ => None,
    }
}
