//! OpenCode: wired with a variable that holds settings, which it lays over all its files.
//!
//! Each provider that speaks an API of the proxy's gets the proxy's address. The proxy sends all requests of an API to
//! one upstream, so of several providers with different addresses only that of the chosen model is wired; the user gets
//! a note about the others.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use infold_core::gateway::{GatewayTool, RightsAction, SourceClient};
use serde_json::{Map, Value, json};

use super::behind::SERVERS_PATH;
use super::claude::value_of;
use super::own::{AgentApi, OwnAddress};
use super::reading::{merge, parse_jsonc, read_jsonc};
use super::{FoundAgent, SERVER, Start, Wires};
use crate::failure::Refused;
use crate::gateway::TakenServers;
use crate::settings::{Settings, Surroundings};

/// The variable with settings, which OpenCode lays over those of its files.
pub const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";
/// The names of its settings files; later ones win.
const FILES: [&str; 3] = ["config.json", "opencode.json", "opencode.jsonc"];
/// How many folders upward a project's settings are looked for.
const FOLDERS_MAX: usize = 64;

/// A provider whose requests go through the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WiredProvider {
    /// The provider's name in OpenCode's settings.
    pub id: String,
    pub api: AgentApi,
    /// The address that the user configured for it; `None` for the provider's usual one.
    pub own_url: Option<String>,
}

impl WiredProvider {
    /// The address at which the proxy serves it.
    pub fn base_url(&self, daemon_url: &str, settings: &Settings) -> String {
        let version = OwnAddress::version(self.api.upstream(settings));
        format!("{daemon_url}{}{version}", self.api.route())
    }
}

/// Finds the model and the providers' addresses that the user has configured.
pub fn look(arguments: &[OsString], surroundings: &Surroundings) -> anyhow::Result<FoundAgent> {
    let config = config(surroundings)?;
    let model = model(arguments, &config);
    let (wired, past) = providers(&config, model.as_deref(), surroundings)?;
    let own = wired.iter().filter_map(|provider| {
        let url = provider.own_url.as_deref()?;
        OwnAddress::new(provider.api, url, format!("OpenCode's provider {}", provider.id))
    });
    let mut notes: Vec<String> = past
        .iter()
        .map(|id| format!("OpenCode's provider {id} is not supported: its requests bypass infold"))
        .collect();
    if wired.is_empty() {
        notes.push(
            "OpenCode has no provider whose requests infold could take: log in with `opencode auth login`".into(),
        );
    }
    Ok(FoundAgent { own: own.collect(), notes, model })
}

/// Wires OpenCode to the daemon, by the variable with settings.
pub fn wire(arguments: &[OsString], wires: &Wires<'_>) -> anyhow::Result<Start> {
    let wired = wired(arguments, wires.surroundings)?;
    let base_url = |provider: &WiredProvider| provider.base_url(wires.daemon_url, wires.settings);
    let options = |provider: &WiredProvider| json!({"options": {"baseURL": base_url(provider)}});
    let addresses: Map<_, _> = wired.iter().map(|provider| (provider.id.clone(), options(provider))).collect();

    let mut content = given_content(wires.surroundings)?.unwrap_or_else(|| json!({}));
    let plugin = wires.guard.opencode_plugin()?;
    let ours = json!({"provider": addresses, "mcp": {SERVER: server_for(wires.daemon_url)}, "plugin": [plugin]});
    merge(&mut content, ours);
    if let Some(servers) = wires.servers {
        merge(&mut content, servers_for(wires.daemon_url, servers, &config(wires.surroundings)?));
    }
    let environment = vec![(CONTENT.to_owned(), content.to_string().into())];
    Ok(Start { arguments: arguments.to_vec(), environment })
}

/// The entry with the tools of servers, their rules as they are listed, and the servers that infold took, switched off.
fn servers_for(daemon_url: &str, servers: &TakenServers, config: &Value) -> Value {
    let entry = servers.entry;
    let off = servers.off.iter().map(|server| (server.name.clone(), json!({"enabled": false})));
    let mut entries: Map<_, _> = off.collect();
    let url = format!("{daemon_url}{SERVERS_PATH}");
    entries.insert(entry.to_owned(), json!({"type": "remote", "url": url, "enabled": true}));

    let mut rules = Map::new();
    // One word for all tools is the same as a rule for all of them, and as a word it would be lost.
    if let Some(all) = config["permission"].as_str() {
        rules.insert("*".to_owned(), json!(all));
    }
    // The last rule that fits counts, so the stricter ones come last.
    for (action, word) in [(RightsAction::Allow, "allow"), (RightsAction::Ask, "ask"), (RightsAction::Deny, "deny")] {
        let listed = servers.patterns(action).map(|pattern| SourceClient::Opencode.spell(entry, pattern));
        rules.extend(listed.map(|pattern| (pattern, json!(word))));
    }
    if servers.patterns(RightsAction::Ask).next().is_some() {
        let call = SourceClient::Opencode.spell(SERVER, GatewayTool::Call.name());
        rules.insert(call, json!("ask"));
    }
    json!({"mcp": entries, "permission": rules})
}

/// The names of servers that the variable with settings changes.
pub fn changed_servers(surroundings: &Surroundings) -> Result<Vec<String>, Refused> {
    let content = given_content(surroundings)?.unwrap_or_default();
    Ok(content["mcp"].as_object().into_iter().flat_map(|servers| servers.keys().cloned()).collect())
}

/// The providers whose requests go through the proxy.
pub fn wired(arguments: &[OsString], surroundings: &Surroundings) -> Result<Vec<WiredProvider>, Refused> {
    let config = config(surroundings)?;
    Ok(providers(&config, model(arguments, &config).as_deref(), surroundings)?.0)
}

/// infold's MCP server, as OpenCode's settings describe one.
pub fn server_for(daemon_url: &str) -> Value {
    json!({"type": "remote", "url": format!("{daemon_url}/mcp"), "enabled": true})
}

/// The folder of the user's settings for OpenCode; `None` if HOME is not set.
pub fn folder(surroundings: &Surroundings) -> Option<PathBuf> {
    let named = surroundings.text("XDG_CONFIG_HOME").map(PathBuf::from);
    let base = named.or_else(|| Some(PathBuf::from(surroundings.text("HOME")?).join(".config")))?;
    Some(base.join("opencode"))
}

fn model(arguments: &[OsString], config: &Value) -> Option<String> {
    let asked = value_of(arguments, "--model").or_else(|| value_of(arguments, "-m"));
    asked.or_else(|| config["model"].as_str().map(str::to_owned))
}

fn given_content(surroundings: &Surroundings) -> Result<Option<Value>, Refused> {
    surroundings.text(CONTENT).map(|text| parse_jsonc(text, CONTENT)).transpose()
}

/// All its settings, merged in the order in which it reads them.
fn config(surroundings: &Surroundings) -> Result<Value, Refused> {
    let mut config = json!({});
    for file in user_files(surroundings).into_iter().chain(project_files(surroundings)) {
        merge(&mut config, read_jsonc(&file)?.unwrap_or_else(|| json!({})));
    }
    merge(&mut config, given_content(surroundings)?.unwrap_or_else(|| json!({})));
    Ok(config)
}

/// The user's own settings files, in the order in which it reads them.
pub fn user_files(surroundings: &Surroundings) -> Vec<PathBuf> {
    let own = folder(surroundings).into_iter().flat_map(|folder| FILES.map(|name| folder.join(name)));
    own.chain(surroundings.text("OPENCODE_CONFIG").map(PathBuf::from)).collect()
}

/// The settings files of the project that the current folder belongs to, in the order in which it reads them.
pub fn project_files(surroundings: &Surroundings) -> Vec<PathBuf> {
    let folders: Vec<&Path> =
        surroundings.folder.iter().flat_map(|folder| folder.ancestors()).take(FOLDERS_MAX).collect();
    folders.into_iter().rev().flat_map(|folder| FILES[1..].iter().map(|name| folder.join(name))).collect()
}

/// The providers whose requests go through the proxy, and the names of those whose requests cannot.
fn providers(
    config: &Value,
    model: Option<&str>,
    surroundings: &Surroundings,
) -> Result<(Vec<WiredProvider>, Vec<String>), Refused> {
    let chosen = model.and_then(|model| model.split('/').next());
    let mut ids: Vec<String> = chosen.map(str::to_owned).into_iter().collect();
    ids.extend(config["provider"].as_object().into_iter().flat_map(|all| all.keys().cloned()));
    ids.extend(logged_in(surroundings)?);
    for (variable, id) in [("ANTHROPIC_API_KEY", "anthropic"), ("OPENAI_API_KEY", "openai")] {
        ids.extend(surroundings.text(variable).map(|_| id.to_owned()));
    }
    Ok(providers_in(config, ids))
}

/// Sorts providers into those that are wired and those that bypass infold. The most important one comes first in `ids`.
fn providers_in(config: &Value, ids: Vec<String>) -> (Vec<WiredProvider>, Vec<String>) {
    let mut wired: Vec<WiredProvider> = Vec::new();
    let mut past = Vec::new();
    for id in ids {
        if wired.iter().any(|known| known.id == id) || past.contains(&id) {
            continue;
        }
        let settings = &config["provider"][&id];
        let own = settings["options"]["baseURL"].as_str().map(|url| url.trim_end_matches('/').to_owned());
        let Some(api) = api_of(&id, settings) else {
            past.push(id);
            continue;
        };
        let agrees = wired.iter().filter(|known| known.api == api).all(|known| known.own_url == own);
        match agrees {
            true => wired.push(WiredProvider { id, api, own_url: own }),
            false => past.push(id),
        }
    }
    (wired, past)
}

/// The API that a provider speaks, if the proxy serves it.
fn api_of(id: &str, settings: &Value) -> Option<AgentApi> {
    match (settings["npm"].as_str(), id) {
        (Some("@ai-sdk/anthropic"), _) | (None, "anthropic") => Some(AgentApi::Anthropic),
        (Some("@ai-sdk/openai" | "@ai-sdk/openai-compatible"), _) | (None, "openai") => Some(AgentApi::OpenAi),
        _ => None,
    }
}

/// Names of the providers that the user has given OpenCode a key or a login for.
fn logged_in(surroundings: &Surroundings) -> Result<Vec<String>, Refused> {
    let named = surroundings.text("XDG_DATA_HOME").map(PathBuf::from);
    let base = named.or_else(|| Some(PathBuf::from(surroundings.text("HOME")?).join(".local/share")));
    let Some(base) = base else { return Ok(Vec::new()) };
    let auth = read_jsonc(&base.join("opencode/auth.json"))?;
    Ok(auth.as_ref().and_then(Value::as_object).into_iter().flat_map(|all| all.keys().cloned()).collect())
}
