//! Checks connected agents, each from end to end: its settings, the daemon that they name, the tools and the model
//! behind it.

use std::net::SocketAddr;
use std::path::Path;

use super::{Check, Finding};
use crate::connect::{self, Connection};
use crate::probe::{Listener, ask, probe};
use crate::run::{Agent, AgentApi};
use crate::service;
use crate::settings::Surroundings;

/// Checks every agent that is connected.
pub fn look(data: &Path, surroundings: &Surroundings) -> Vec<Check> {
    let look_at = |agent: Agent| {
        let finding = match connect::connection(agent, data) {
            Ok(Some(connection)) => look_at(agent, &connection, surroundings),
            Ok(None) => return None,
            Err(error) => Finding::bad(format!("{error:#}"), connect_again(agent)),
        };
        Some(Check { name: agent.name(), finding })
    };
    connect::connected(data).into_iter().filter_map(look_at).collect()
}

fn connect_again(agent: Agent) -> String {
    format!("run `infold connect {}` again", agent.program())
}

fn look_at(agent: Agent, connection: &Connection, surroundings: &Surroundings) -> Finding {
    if let Some(path) = connection.undone.first() {
        let what = format!("{} no longer contains what `infold connect` wrote", path.display());
        return Finding::bad(
            what,
            format!("{}, or `infold disconnect {}` to undo it", connect_again(agent), agent.program()),
        );
    }
    let Some(address) = connection.addresses.iter().find_map(|url| host_of(url)) else {
        return Finding::bad("its settings do not contain the daemon's address", connect_again(agent));
    };
    match probe(address) {
        Listener::Ours { .. } => answers(connection, address),
        Listener::Nobody => {
            let by_hand = format!("infold serve --agents --listen {address}");
            let start = service::how_to_start(surroundings).unwrap_or(by_hand);
            Finding::bad(
                format!("it is connected to {address}, but no daemon listens there"),
                format!("start the daemon: `{start}`; or disconnect: `infold disconnect {}`", agent.program()),
            )
        }
        Listener::Unproven | Listener::Other => Finding::bad(
            format!("it is connected to {address}, but another program listens there"),
            format!(
                "stop that program, or choose another port: `infold connect {} --set server.listen=…`",
                agent.program()
            ),
        ),
    }
}

/// Checks that the daemon is ready, lists its tools, and reaches the providers that the agent uses.
fn answers(connection: &Connection, address: SocketAddr) -> Finding {
    for (path, what) in [("/readyz", "is not ready"), ("/mcp/tools/list", "does not list its tools")] {
        match ask(address, path) {
            Some(200) => {}
            status => {
                let said = status.map_or("no answer".to_owned(), |status| format!("status {status}"));
                return Finding::bad(
                    format!("the daemon at {address} {what} ({said})"),
                    "read its log, and restart it",
                );
            }
        }
    }
    let apis = [AgentApi::Anthropic, AgentApi::OpenAi].into_iter();
    let used = apis.filter(|api| connection.addresses.iter().any(|url| url.contains(api.route())));
    for api in used {
        // The request carries no key, so a provider that can be reached refuses it, and that is answer enough.
        let status = ask(address, &format!("{}/v1/models", api.route()));
        if status.is_none_or(|status| matches!(status, 502..=504)) {
            return Finding::bad(
                format!("the daemon at {address} cannot reach the model's provider"),
                format!("check that this machine can reach the address in {}; `infold settings` shows it", api.key()),
            );
        }
    }
    Finding::Good(format!("connected to {address}; daemon, tools and provider answer"))
}

/// The address and port in an `http` URL; `None` if they are not written in numbers.
fn host_of(url: &str) -> Option<SocketAddr> {
    url.strip_prefix("http://")?.split('/').next()?.parse().ok()
}
