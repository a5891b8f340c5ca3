//! Which values of which files wire an agent to a daemon.

use std::path::PathBuf;

use serde_json::json;
use toml::Table;

use super::change::{Change, Form};
use crate::commands::Invocation;
use crate::data_folder;
use crate::failure::Refused;
use crate::run::{self, Agent, Api, OwnAddress, SERVER, Tools};
use crate::settings::Settings;

/// A file and what changes in it.
pub struct Target {
    /// The file.
    pub path: PathBuf,
    /// Its language.
    pub form: Form,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

/// The files of an agent, with the changes that wire it to the daemon at `daemon_url`.
pub fn targets(agent: Agent, daemon_url: &str, invocation: &Invocation) -> anyhow::Result<Vec<Target>> {
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

/// The daemon sends requests to where its settings say, with the user's key in them. If the user has used
/// that key elsewhere until now, it would be given away to strangers.
fn same_upstream(own: &OwnAddress, settings: &Settings) -> Result<(), Refused> {
    let upstream = own.api.upstream(settings);
    if bare(upstream) == bare(&own.url) {
        return Ok(());
    }
    let key = own.api.key();
    let problem = format!("{} is {}, but the daemon would forward to {upstream} ({key})", own.place, own.url);
    Err(Refused::new(problem).hint(format!(
        "set {key} to that address in infold's settings, or remove it there; `infold settings` shows the files"
    )))
}

/// An address without what the proxy itself takes for the same: a slash at the end, and `/v1`.
fn bare(address: &str) -> &str {
    let address = address.trim_end_matches('/');
    address.strip_suffix("/v1").unwrap_or(address)
}

/// An agent that has no settings for what infold would tell it, or that is told it more safely at each start.
fn at_each_start(agent: Agent) -> Refused {
    let (name, program) = (agent.name(), agent.program());
    Refused::new(format!("`infold connect` does not support {name}: it takes its settings from the command line"))
        .hint(format!("start it with `infold run {program}`, or define alias {program}='infold run {program}'"))
}

fn no_home() -> Refused {
    Refused::new("cannot find the agent's settings: HOME is not set").hint("set HOME")
}

fn claude(daemon_url: &str, invocation: &Invocation) -> anyhow::Result<Vec<Target>> {
    let surroundings = &invocation.surroundings;
    let folder = run::claude_folder(surroundings).ok_or_else(no_home)?;
    let mut changes: Vec<Change> =
        run::claude_variables(daemon_url).into_iter().map(|(name, value)| Change::set(&["env", name], value)).collect();
    changes.push(Change::append(&["permissions", "allow"], run::claude_permission()));
    let guard = run::Guard::here(&data_folder::location(&invocation.in_force)?)?;
    changes.push(Change::append(&["hooks", "PreToolUse"], guard.claude_hook()));
    // Servers stand in a file of their own, which lies beside the folder unless that was chosen.
    let servers = match surroundings.text("CLAUDE_CONFIG_DIR") {
        Some(_) => folder.join(".claude.json"),
        None => folder.with_file_name(".claude.json"),
    };
    let server = run::claude_server(daemon_url, Tools::Loaded);
    Ok(vec![
        Target { path: folder.join("settings.json"), form: Form::Json, changes },
        Target { path: servers, form: Form::Json, changes: vec![Change::set(&["mcpServers", SERVER], server)] },
    ])
}

fn codex(daemon_url: &str, invocation: &Invocation) -> anyhow::Result<Vec<Target>> {
    let path = run::codex_folder(&invocation.surroundings).ok_or_else(no_home)?.join("config.toml");
    let text = run::read_text(&path)?.unwrap_or_default();
    let config: Table = text.parse().map_err(|error: toml::de::Error| {
        Refused::new(format!("{} is not TOML: {}", path.display(), error.message()))
            .hint("fix the file first; nothing was changed")
    })?;
    let upstream = Api::OpenAi.upstream(&invocation.in_force.settings);
    let base_url = format!("{daemon_url}{}{}", Api::OpenAi.route(), OwnAddress::version(upstream));
    let address = match run::codex_provider(&config)? {
        run::CODEX_BUILT_IN => Change::set(&["openai_base_url"], base_url),
        provider => Change::set(&["model_providers", provider, "base_url"], base_url),
    };
    let changes = vec![
        address,
        Change::set(&["mcp_servers", SERVER, "url"], format!("{daemon_url}/mcp")),
        Change::set(&["mcp_servers", SERVER, "default_tools_approval_mode"], "approve"),
    ];
    Ok(vec![Target { path, form: Form::Toml, changes }])
}

/// With the tools alone, branches would be opened and nothing would ever be folded out of a request.
fn no_provider() -> Refused {
    Refused::new("OpenCode has no provider that infold supports, so no request would go through infold").hint(
        "log in first with `opencode auth login` (Anthropic or OpenAI), or add a provider to opencode.json with the npm \
         package @ai-sdk/anthropic, @ai-sdk/openai or @ai-sdk/openai-compatible",
    )
}

fn opencode(daemon_url: &str, invocation: &Invocation) -> anyhow::Result<Vec<Target>> {
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
    Ok(vec![Target { path, form: Form::Json, changes }])
}
