//! An agent's servers that are behind infold for one run: which of them its command line and environment leave as their
//! files have them, and with what the agent is wired for the others.

use std::ffi::OsString;

use infold_core::OwnTool;
use infold_core::gateway::{GatewayTool, SourceClient};

use super::{Agent, codex, opencode};
use crate::failure::Refused;
use crate::settings::Surroundings;

/// The path of the daemon at which only tools of other servers are.
pub const SERVERS_PATH: &str = "/mcp/servers";
/// The option with which Claude Code does not read its files for servers.
const STRICT: &str = "--strict-mcp-config";

/// The names of tools that an agent may call without asking: infold's own touch nothing but the context, and two of the
/// gateway's only read. `tool_call` is not among them, because it changes things.
pub fn harmless_tools() -> impl Iterator<Item = &'static str> {
    let gateway = GatewayTool::ALL.into_iter().filter(|tool| match tool {
        GatewayTool::Search | GatewayTool::CallRead => true,
        GatewayTool::Call => false,
    });
    OwnTool::ALL.into_iter().map(OwnTool::name).chain(gateway.map(GatewayTool::name))
}

/// Servers that an agent does not use as its files have them.
#[derive(Debug, Default)]
pub struct ChangedServers {
    /// Why infold takes none at all.
    all: Option<&'static str>,
    /// Names of those that are changed, and where.
    some: Vec<String>,
    place: &'static str,
}

impl ChangedServers {
    /// Why a server stays with the agent; `None` if it is as the files have it.
    pub fn keeps(&self, name: &str) -> Option<String> {
        let changed = || self.some.iter().any(|changed| changed == name).then(|| format!("{} changes it", self.place));
        self.all.map(str::to_owned).or_else(changed)
    }
}

impl Agent {
    /// The client whose files infold reads for this agent.
    pub fn source_client(self) -> Option<SourceClient> {
        match self {
            Self::Claude => Some(SourceClient::Claude),
            Self::Codex => Some(SourceClient::Codex),
            Self::Opencode => Some(SourceClient::Opencode),
            Self::Goose | Self::Qwen => None,
        }
    }

    /// Servers that the agent does not use as its files have them.
    pub fn changed_servers(
        self,
        arguments: &[OsString],
        surroundings: &Surroundings,
    ) -> Result<ChangedServers, Refused> {
        let place = "its command line";
        Ok(match self {
            Self::Claude => {
                let is_strict = arguments.iter().take_while(|word| *word != "--").any(|word| word == STRICT);
                ChangedServers {
                    all: is_strict.then_some("with --strict-mcp-config it is not used"),
                    ..Default::default()
                }
            }
            Self::Codex => ChangedServers { some: codex::changed_servers(arguments, surroundings)?, place, all: None },
            Self::Opencode => {
                let place = opencode::CONTENT;
                ChangedServers { some: opencode::changed_servers(surroundings)?, place, all: None }
            }
            Self::Goose | Self::Qwen => ChangedServers::default(),
        })
    }
}

/// The name of an agent's entry with the tools of servers: another than those that its files have. Both are short enough
/// for 64 characters, with what agents put in front of a tool's name.
pub fn servers_entry<'n>(mut known: impl Iterator<Item = &'n str>) -> &'static str {
    if known.any(|name| name == "servers") { "gateway" } else { "servers" }
}
