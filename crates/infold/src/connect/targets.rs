//! Which values of which files wire an agent to a daemon.

use std::path::PathBuf;

use serde_json::json;
use toml::Table;

use super::change::{Change, Syntax};
use crate::commands::Invocation;
use crate::data_folder;
use crate::failure::Refused;
use crate::run::{self, Agent, AgentApi, OwnAddress, SERVER, ToolListing, without_secrets};
use crate::settings::Settings;

/// A file and what changes in it.
pub struct TargetFile {
    pub path: PathBuf,
    pub form: Syntax,
    /// The changes, in the order in which they are made.
    pub changes: Vec<Change>,
}

/// The files of an agent, with the changes that wire it to the daemon at `daemon_url`.
pub fn targets(agent: Agent, daemon_url: &str, invocation: &Invocation) -> anyhow::Result<Vec<TargetFile>> {
    let found = agent.look(&[], &invocation.surroundings)?;
    for own in &found.own {
        same_upstream(own, &invocation.in_force.settings)?;
    }
    match agent {
        Agent::Claude => claude(daemon_url, invocation),
        Agent::Codex => codex(daemon_url, invocation),
        Agent::Opencode => opencode(daemon_url, invocation),
        Agent::Goose | Agent::Qwen => Err(at_each_start(agent).into()),
    }
}

/// Refuses to connect an agent that now uses another address than the daemon would forward to. The requests carry the
/// user's key for that address, and it must not be sent to anybody else.
fn same_upstream(own: &OwnAddress, settings: &Settings) -> Result<(), Refused> {
    let upstream = own.api.upstream(settings);
    if bare(upstream) == bare(&own.url) {
        return Ok(());
    }
    let key = own.api.key();
    let problem =
        format!("{} is {}, but the daemon would forward to {upstream} ({key})", own.place, without_secrets(&own.url));
    Err(Refused::new(problem).hint(format!(
        "set {key} to that address in infold's settings, or remove it there; `infold settings` shows the files"
    )))
}

/// An address without an ending that makes no difference to the proxy: a slash, and `/v1`.
fn bare(address: &str) -> &str {
    let address = address.trim_end_matches('/');
    address.strip_suffix("/v1").unwrap_or(address)
}

/// The refusal for an agent that is wired by its command line at each start, and not by settings files.
fn at_each_start(agent: Agent) -> Refused {
    let (name, program) = (agent.name(), agent.program());
    Refused::new(format!("`infold connect` does not support {name}: it takes its settings from the command line"))
        .hint(format!("start it with `infold run {program}`, or define alias {program}='infold run {program}'"))
}

fn no_home() -> Refused {
    Refused::new("cannot find the agent's settings: HOME is not set").hint("set HOME")
}

fn claude(daemon_url: &str, invocation: &Invocation) -> anyhow::Result<Vec<TargetFile>> {
    let surroundings = &invocation.surroundings;
    let folder = run::claude_folder(surroundings).ok_or_else(no_home)?;
    let mut changes: Vec<Change> =
        run::claude_variables(daemon_url).into_iter().map(|(name, value)| Change::set(&["env", name], value)).collect();
    changes.push(Change::append(&["permissions", "allow"], run::claude_permission()));
    let guard = run::Guard::here(&data_folder::location(&invocation.in_force)?)?;
    changes.push(Change::append(&["hooks", "PreToolUse"], guard.claude_hook(None)?));
    let servers = run::claude_servers_file(surroundings).ok_or_else(no_home)?;
    let server = run::claude_server(daemon_url, ToolListing::Loaded);
    Ok(vec![
        TargetFile { path: folder.join("settings.json"), form: Syntax::Json, changes },
        TargetFile { path: servers, form: Syntax::Json, changes: vec![Change::set(&["mcpServers", SERVER], server)] },
    ])
}

fn codex(daemon_url: &str, invocation: &Invocation) -> anyhow::Result<Vec<TargetFile>> {
    let path = run::codex_folder(&invocation.surroundings).ok_or_else(no_home)?.join("config.toml");
    let text = run::read_text(&path)?.unwrap_or_default();
    let config: Table = text.parse().map_err(|error: toml::de::Error| {
        Refused::new(format!("{} is not TOML: {}", path.display(), error.message()))
            .hint("fix the file first; nothing was changed")
    })?;
    let upstream = AgentApi::OpenAi.upstream(&invocation.in_force.settings);
    let base_url = format!("{daemon_url}{}{}", AgentApi::OpenAi.route(), OwnAddress::version(upstream));
    let address = match run::codex_provider(&config)? {
        run::CODEX_BUILT_IN => Change::set(&["openai_base_url"], base_url),
        provider => Change::set(&["model_providers", provider, "base_url"], base_url),
    };
    let changes = vec![
        address,
        Change::set(&["mcp_servers", SERVER, "url"], format!("{daemon_url}/mcp")),
        Change::set(&["mcp_servers", SERVER, "default_tools_approval_mode"], "approve"),
    ];
    Ok(vec![TargetFile { path, form: Syntax::Toml, changes }])
}

/// The refusal for an OpenCode without a provider: with the tools alone, branches would be opened, and no request would
/// ever become shorter.
fn no_provider() -> Refused {
    Refused::new("OpenCode has no provider that infold supports, so no request would go through infold").hint(
        "log in first with `opencode auth login` (Anthropic or OpenAI), or add a provider to opencode.json with the npm \
         package @ai-sdk/anthropic, @ai-sdk/openai or @ai-sdk/openai-compatible",
    )
}

fn opencode(daemon_url: &str, invocation: &Invocation) -> anyhow::Result<Vec<TargetFile>> {
    let folder = run::opencode_folder(&invocation.surroundings).ok_or_else(no_home)?;
    let commented = folder.join("opencode.jsonc");
    let path = if commented.exists() { commented } else { folder.join("opencode.json") };
    let settings = &invocation.in_force.settings;
    let providers = run::opencode_providers(&[], &invocation.surroundings)?;
    if providers.is_empty() {
        return Err(no_provider().into());
    }
    let mut changes: Vec<Change> = providers
        .iter()
        .map(|provider| {
            let base_url = provider.base_url(daemon_url, settings);
            Change::set(&["provider", &provider.id, "options", "baseURL"], base_url)
        })
        .collect();
    let server = run::opencode_server(daemon_url);
    changes.push(Change::set(&["mcp", SERVER], json!(server)));
    Ok(vec![TargetFile { path, form: Syntax::Json, changes }])
}
