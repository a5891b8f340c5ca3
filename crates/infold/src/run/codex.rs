//! Codex: wired with `-c` overrides of its own settings.
//!
//! The provider that the user chose stays, with its key, headers and name; only its address becomes the proxy's.
//! Codex's built-in provider has a setting of its own for that. Codex keeps MCP tools behind its tool search, or has
//! its model call them from scripts. Later versions can list chosen tools in every request, and there infold's are
//! chosen.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use infold_core::gateway::{RightsAction, ServerWay};
use toml::{Table, Value};

use super::behind::{SERVERS_PATH, harmless_tools};
use super::claude::value_of;
use super::own::{AgentApi, OwnAddress};
use super::reading::read_text;
use super::{FoundAgent, SERVER, Start, ToolListing, Wires};
use crate::failure::Refused;
use crate::gateway::{OffServer, TakenServers};
use crate::settings::Surroundings;

/// The section with servers.
const SERVERS: &str = "mcp_servers";
/// The setting with the groups of tools that are listed in every request, and the first version that knows it.
const LISTED: &str = "direct_only_tool_namespaces";
const LISTS_SINCE: (u32, u32) = (0, 142);
/// The provider that Codex uses if the user has chosen none.
pub const BUILT_IN: &str = "openai";
/// The setting with the address of the built-in provider.
const BUILT_IN_ADDRESS: &str = "openai_base_url";
/// The variable that says what Codex logs when it runs without a screen.
const LOGS: &str = "RUST_LOG";
/// Codex's usual log levels, without the messages about WebSockets. The built-in provider tries a WebSocket first, the
/// proxy refuses it, and Codex goes on without one but logs an error. With a provider of another name Codex would not
/// try, but it would not find the sessions that were begun without infold either.
const WITHOUT_WEB_SOCKETS: &str =
    "error,opentelemetry_sdk=off,opentelemetry_otlp=off,codex_api::endpoint::responses_websocket=off";
/// Where Codex sends the requests of a user who is logged in and has no API key.
const LOGGED_IN_URL: &str = "https://chatgpt.com/backend-api/codex";

/// Finds the model and the provider's address that the user has configured.
pub fn look(arguments: &[OsString], surroundings: &Surroundings) -> anyhow::Result<FoundAgent> {
    if arguments.iter().any(|argument| argument == "--oss") {
        return Err(Refused::new("with --oss, Codex's requests would not go through infold")
            .hint("leave --oss out, and add the local model as a provider in Codex's config.toml")
            .into());
    }
    let config = config(arguments, surroundings)?;
    let mut found = FoundAgent { model: text(&config, "model"), ..FoundAgent::default() };
    let asked = value_of(arguments, "--model").or_else(|| value_of(arguments, "-m"));
    found.model = asked.or(found.model);
    found.own.extend(own_address(&config, surroundings)?);
    Ok(found)
}

/// Wires Codex to the daemon, by `-c` options in front of the user's own.
pub fn wire(arguments: &[OsString], wires: &Wires<'_>) -> anyhow::Result<Start> {
    let config = config(arguments, wires.surroundings)?;
    let version = OwnAddress::version(AgentApi::OpenAi.upstream(wires.settings));
    let base_url = format!("{}{}{version}", wires.daemon_url, AgentApi::OpenAi.route());
    let key = match provider_of(&config)? {
        BUILT_IN => BUILT_IN_ADDRESS.to_owned(),
        provider => format!("model_providers.{provider}.base_url"),
    };
    let server = match wires.servers {
        Some(servers) => servers_for(wires.daemon_url, servers, &config),
        None => {
            format!("{SERVERS}.{SERVER}={{url=\"{}/mcp\",default_tools_approval_mode=\"approve\"}}", wires.daemon_url)
        }
    };
    let mut ours = vec![format!("{key}=\"{base_url}\""), server];
    ours.extend(match wires.tools {
        ToolListing::Loaded => Some(listing(&config)),
        ToolListing::AsOthers => None,
    });
    // Of two lists of hooks on one command line only the last counts, and that is the user's.
    if !overrides(arguments).iter().any(|(key, _)| key.split('.').next() == Some("hooks")) {
        ours.extend(wires.guard.codex_settings());
    }
    let mut start = Start::default();
    let has_no_screen = arguments.iter().any(|argument| argument == "exec" || argument == "e");
    if key == BUILT_IN_ADDRESS && has_no_screen && wires.surroundings.text(LOGS).is_none() {
        start.environment.push((LOGS.to_owned(), WITHOUT_WEB_SOCKETS.into()));
    }
    let ours = ours.into_iter().flat_map(|setting| ["-c".to_owned(), setting]);
    start.arguments = ours.map(OsString::from).chain(arguments.iter().cloned()).collect();
    Ok(start)
}

/// The setting with infold's two entries and those of the servers that infold took, which are switched off. It is one
/// table, because names may have dots, at which Codex would split a key.
fn servers_for(daemon_url: &str, servers: &TakenServers, config: &Table) -> String {
    let text = |text: &str| Value::String(text.to_owned());
    let mode = |mode: &str| Value::Table([("approval_mode".to_owned(), text(mode))].into_iter().collect());
    let entry = |path: &str, tools: Table| {
        let timeout_s = Value::Integer(i64::try_from(servers.call_timeout_s()).unwrap_or(i64::MAX));
        let mut entry = Table::new();
        entry.insert("url".to_owned(), text(&format!("{daemon_url}{path}")));
        entry.insert("tool_timeout_sec".to_owned(), timeout_s);
        entry.insert("tools".to_owned(), Value::Table(tools));
        entry
    };
    let is_single = |pattern: &&str| !pattern.contains('*');
    let single = |action, word: &'static str| {
        let tools = servers.patterns(action).filter(is_single);
        tools.map(move |tool| (tool.to_owned(), mode(word))).collect::<Table>()
    };
    let mut listed = single(RightsAction::Allow, "approve");
    listed.extend(single(RightsAction::Ask, "prompt"));
    let mut others = entry(SERVERS_PATH, listed);
    // Codex has no patterns, so it asks about all servers if it has to ask about all tools of one.
    if servers.patterns(RightsAction::Ask).any(|pattern| !is_single(&pattern)) {
        others.insert("default_tools_approval_mode".to_owned(), text("prompt"));
    }
    let own = entry("/mcp", harmless_tools().map(|tool| (tool.to_owned(), mode("approve"))).collect());
    let mut all: Table = servers.off.iter().map(|server| (server.name.clone(), off(server, config))).collect();
    all.insert(SERVER.to_owned(), Value::Table(own));
    all.insert(servers.entry.to_owned(), Value::Table(others));
    format!("{SERVERS}={}", Value::Table(all))
}

/// An entry that switches a server off. If Codex does not read the file that has it, it has to be whole.
fn off(server: &OffServer, config: &Table) -> Value {
    let mut entry = Table::from_iter([("enabled".to_owned(), Value::Boolean(false))]);
    if config.get(SERVERS).and_then(|servers| servers.get(&server.name)).is_none() {
        let (field, value) = match &server.way {
            ServerWay::Child { program, .. } => ("command", program),
            ServerWay::Http { url, .. } => ("url", url),
        };
        entry.insert(field.to_owned(), Value::String(value.clone()));
    }
    Value::Table(entry)
}

/// The names of servers that a profile or another option of the command line changes.
pub fn changed_servers(arguments: &[OsString], surroundings: &Surroundings) -> Result<Vec<String>, Refused> {
    let servers = |config: Table| config.get(SERVERS).and_then(Value::as_table).cloned().unwrap_or_default();
    let (files, used) = (servers(config(&[], surroundings)?), servers(config(arguments, surroundings)?));
    let names = files.keys().chain(used.keys()).filter(|name| files.get(*name) != used.get(*name));
    Ok(names.cloned().collect())
}

/// The setting that lists infold's tools in every request, beside those that the user has chosen for that.
fn listing(config: &Table) -> String {
    let code_mode = config.get("features").and_then(|features| features.get("code_mode"));
    let own = code_mode.and_then(|own| own.get(LISTED)?.as_array()).cloned().unwrap_or_default();
    let ours = Value::String(format!("mcp__{SERVER}"));
    let listed: Vec<Value> = own.into_iter().filter(|name| *name != ours).chain([ours.clone()]).collect();
    let listed = Value::Array(listed);
    match code_mode {
        // If the user wrote the feature as a mere flag, the flag becomes its field `enabled`.
        Some(Value::Boolean(enabled)) => format!("features.code_mode={{enabled={enabled},{LISTED}={listed}}}"),
        Some(_) | None => format!("features.code_mode.{LISTED}={listed}"),
    }
}

/// Whether a version of Codex, as it prints it, knows the setting for listed tools. Earlier ones refuse to start with a
/// setting that they do not know.
pub fn lists(version: &str) -> bool {
    let numbers = version.split_whitespace().last().unwrap_or_default().split(['.', '-']);
    let mut numbers = numbers.map_while(|number| number.parse::<u32>().ok());
    let found = (numbers.next(), numbers.next());
    matches!(found, (Some(major), Some(minor)) if (major, minor) >= LISTS_SINCE)
}

/// The folder of Codex's own settings; `None` if HOME is not set.
pub fn folder(surroundings: &Surroundings) -> Option<PathBuf> {
    let named = surroundings.text("CODEX_HOME").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(surroundings.text("HOME")?).join(".codex")))
}

/// The name of the provider that the user has chosen. It has to fit between the dots of a `-c` option.
pub fn provider_of(config: &Table) -> Result<&str, Refused> {
    let provider = config.get("model_provider").and_then(Value::as_str).unwrap_or(BUILT_IN);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if provider.is_empty() || !provider.chars().all(plain) {
        return Err(Refused::new(format!("cannot pass Codex's provider {provider:?} on its command line"))
            .hint("rename it in config.toml: letters, digits, - and _ only"));
    }
    Ok(provider)
}

/// The address of the chosen provider; `None` if it is OpenAI's own.
fn own_address(config: &Table, surroundings: &Surroundings) -> Result<Option<OwnAddress>, Refused> {
    let provider = provider_of(config)?;
    if provider != BUILT_IN {
        let url = config.get("model_providers").and_then(|all| all.get(provider)?.get("base_url")?.as_str());
        let place = format!("Codex's provider {provider}");
        return Ok(url.and_then(|url| OwnAddress::new(AgentApi::OpenAi, url, place)));
    }
    if let Some(url) = config.get("openai_base_url").and_then(Value::as_str) {
        return Ok(OwnAddress::new(AgentApi::OpenAi, url, "openai_base_url in Codex's settings"));
    }
    let logged_in = is_logged_in(surroundings)?;
    Ok(logged_in.then(|| OwnAddress::new(AgentApi::OpenAi, LOGGED_IN_URL, "Codex's login")).flatten())
}

/// Whether the user is logged in rather than using a key. Nothing else is taken from the file with the login.
fn is_logged_in(surroundings: &Surroundings) -> Result<bool, Refused> {
    if surroundings.text("CODEX_API_KEY").is_some() {
        return Ok(false);
    }
    let Some(folder) = folder(surroundings) else { return Ok(false) };
    let Some(text) = read_text(&folder.join("auth.json"))? else { return Ok(false) };
    let Ok(auth) = serde_json::from_str::<serde_json::Value>(&text) else { return Ok(false) };
    Ok(auth["tokens"].is_object() && auth["OPENAI_API_KEY"].is_null())
}

/// The settings in force: the user's file, the profile's, and what the command line overrides.
pub fn config(arguments: &[OsString], surroundings: &Surroundings) -> Result<Table, Refused> {
    let mut config = Table::new();
    if let Some(folder) = folder(surroundings) {
        lay_over(&mut config, read_toml(&folder.join("config.toml"))?);
        let profile = value_of(arguments, "--profile").or_else(|| value_of(arguments, "-p"));
        if let Some(profile) = profile.or_else(|| text(&config, "profile")) {
            let inside = config.get("profiles").and_then(|all| all.get(&profile)?.as_table()).cloned();
            lay_over(&mut config, inside.unwrap_or_default());
            lay_over(&mut config, read_toml(&folder.join(format!("{profile}.config.toml")))?);
        }
    }
    for (key, value) in overrides(arguments) {
        put(&mut config, &key, value);
    }
    Ok(config)
}

/// Reads a settings file in TOML; one that does not exist is empty.
pub fn read_toml(path: &Path) -> Result<Table, Refused> {
    let text = read_text(path)?.unwrap_or_default();
    text.parse().map_err(|error: toml::de::Error| {
        Refused::new(format!("{} is not TOML: {}", path.display(), error.message())).hint("fix the file first")
    })
}

fn text(config: &Table, key: &str) -> Option<String> {
    config.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// The keys and values of each `-c KEY=VALUE`.
fn overrides(arguments: &[OsString]) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let mut left = arguments.iter().take_while(|argument| *argument != "--").filter_map(|argument| argument.to_str());
    while let Some(argument) = left.next() {
        let given = match argument {
            "-c" | "--config" => left.next(),
            _ => argument.strip_prefix("--config="),
        };
        let Some((key, value)) = given.and_then(|given| given.split_once('=')) else { continue };
        // A value that is not TOML is plain text, as for Codex itself.
        let parsed = format!("value = {value}").parse::<Table>().ok().and_then(|mut table| table.remove("value"));
        found.push((key.trim().to_owned(), parsed.unwrap_or_else(|| Value::String(value.trim().to_owned()))));
    }
    found
}

fn put(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
        }
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// Lays `over` upon `table`: tables are merged, any other value is replaced.
pub fn lay_over(table: &mut Table, over: Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(over)) => lay_over(inner, over),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}
