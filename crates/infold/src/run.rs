//! Starts agents through infold: wires each one to a daemon without writing anything into the user's own files, and
//! runs it to its end.
//!
//! Every agent gets three things, in its own way: the address of the model (the proxy), the address of infold's tools,
//! and the command to ask before it writes a file. What the user configured stays in force beside them. An address that
//! the user had configured for the model becomes the upstream.

mod agent;
mod behind;
mod child;
mod claude;
mod codex;
mod daemon;
mod goose;
mod guard;
mod opencode;
mod own;
mod qwen;
mod reading;
mod savings;
pub mod window;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::gateway::TakenServers;
use crate::settings::{Settings, Surroundings};

pub use agent::{Agent, on_path};
pub use behind::{ChangedServers, servers_entry};
pub use child::run as run_child;
pub use claude::{
    claude_servers_file, folder as claude_folder, permission as claude_permission, server_for as claude_server,
    variables_for as claude_variables,
};
pub use codex::{
    BUILT_IN as CODEX_BUILT_IN, config as codex_config, folder as codex_folder, lay_over,
    provider_of as codex_provider, read_toml,
};
pub use daemon::Daemon;
pub use guard::{Guard, rules_decision};
pub use opencode::{
    folder as opencode_folder, project_files as opencode_project_files, server_for as opencode_server,
    user_files as opencode_user_files, wired as opencode_providers,
};
pub use own::{AgentApi, OwnAddress, without_secrets};
#[cfg(test)]
pub use reading::parse_for_tests;
pub use reading::{parse_jsonc, read_jsonc, read_text};
pub use savings::Savings;
pub use window::follow as follow_window;

/// The name of infold's MCP server in every agent.
pub const SERVER: &str = "infold";

/// What an agent is wired with.
pub struct Wires<'a> {
    /// Where the daemon listens, without a slash at the end.
    pub daemon_url: &'a str,
    /// The command that the agent asks before it writes a file.
    pub guard: Guard,
    /// The user's environment and current folder.
    pub surroundings: &'a Surroundings,
    /// The settings in force, upstreams among them.
    pub settings: &'a Settings,
    /// Whether infold's tools are shown to the model from the start, where the agent can do that.
    pub tools: ToolListing,
    /// What the agent needs for other servers, if there are any behind infold.
    pub servers: Option<&'a TakenServers>,
}

/// How an agent shows infold's tools to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolListing {
    /// In every request, from the first one on.
    Loaded,
    /// In the same way as other servers' tools, which may be behind a search.
    AsOthers,
}

/// How an agent is started so that it goes through infold.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// All arguments, the user's among them.
    pub arguments: Vec<OsString>,
    /// Variables that are added to the user's environment.
    pub environment: Vec<(String, OsString)>,
}

/// What the user has configured for an agent, found before it is wired.
#[derive(Debug, Default)]
pub struct FoundAgent {
    /// Addresses that the user configured for models, one for each provider.
    pub own: Vec<OwnAddress>,
    /// The model that was chosen on the command line, in the environment or in a file.
    pub model: Option<String>,
    /// What the user should know before the agent starts.
    pub notes: Vec<String>,
}

impl Agent {
    /// Reads what the user has configured. Refuses if the agent's requests could not go through infold.
    pub fn look(self, arguments: &[OsString], surroundings: &Surroundings) -> anyhow::Result<FoundAgent> {
        match self {
            Self::Claude => claude::look(arguments, surroundings),
            Self::Codex => codex::look(arguments, surroundings),
            Self::Opencode => opencode::look(arguments, surroundings),
            Self::Goose => goose::look(arguments, surroundings),
            Self::Qwen => qwen::look(arguments, surroundings),
        }
    }

    /// How this version of the agent can show infold's tools, if it is asked to show them from the start.
    pub fn tool_listing(self, program: &Path) -> ToolListing {
        match self {
            Self::Claude | Self::Opencode | Self::Goose => ToolListing::Loaded,
            Self::Codex if version(program).is_some_and(|version| codex::lists(&version)) => ToolListing::Loaded,
            Self::Codex | Self::Qwen => ToolListing::AsOthers,
        }
    }

    /// The arguments and variables that wire the agent to a daemon.
    pub fn wire(self, arguments: &[OsString], wires: &Wires<'_>) -> anyhow::Result<Start> {
        let mut start = match self {
            Self::Claude => claude::wire(arguments, wires)?,
            Self::Codex => codex::wire(arguments, wires)?,
            Self::Opencode => opencode::wire(arguments, wires)?,
            Self::Goose => goose::wire(arguments, wires)?,
            Self::Qwen => qwen::wire(arguments, wires)?,
        };
        start.environment.extend(around_proxies(wires.surroundings));
        Ok(start)
    }
}

/// What a program prints for `--version`; `None` if it fails.
fn version(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    let ended = command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    ended.status.success().then(|| String::from_utf8_lossy(&ended.stdout).trim().to_owned())
}

/// If the environment names an HTTP proxy, loopback has to be exempt from it. Otherwise the agent would look for the
/// daemon on another machine.
fn around_proxies(surroundings: &Surroundings) -> Vec<(String, OsString)> {
    let proxies = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    if !proxies.iter().any(|name| surroundings.text(name).is_some()) {
        return Vec::new();
    }
    let widened = |name: &str| {
        let exempt = surroundings.text(name).unwrap_or_default();
        let list = if exempt.is_empty() { "127.0.0.1".to_owned() } else { format!("{exempt},127.0.0.1") };
        (name.to_owned(), list.into())
    };
    ["NO_PROXY", "no_proxy"].map(widened).into()
}

#[cfg(test)]
mod tests;
