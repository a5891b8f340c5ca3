//! Qwen Code: wired by its command line. It keeps all MCP tools, infold's too, behind a search of its own, and calls
//! them through `tool_call`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::claude::{read_settings, value_of};
use super::own::{AgentApi, OwnAddress};
use super::reading::{merge, read_jsonc};
use super::{FoundAgent, SERVER, Start, Wires};
use crate::failure::Refused;
use crate::settings::Surroundings;

/// The option with the model's address.
const BASE_URL: &str = "--openai-base-url";
/// The option with MCP servers.
const SERVERS: &str = "--mcp-config";
/// The login with which it speaks OpenAI's API.
const OPENAI_LOGIN: &str = "openai";
/// Commands of its own that send no requests to a model, so they are started as they are.
const COMMANDS: [&str; 8] = ["mcp", "extensions", "auth", "hooks", "channel", "serve", "update", "sessions"];

/// Finds the model and its address that the user has configured.
pub fn look(arguments: &[OsString], surroundings: &Surroundings) -> anyhow::Result<FoundAgent> {
    let settings = settings(surroundings)?;
    let login = value_of(arguments, "--auth-type");
    let login = login.or_else(|| settings["security"]["auth"]["selectedType"].as_str().map(str::to_owned));
    if let Some(login) = login.filter(|login| login != OPENAI_LOGIN) {
        return Err(Refused::new(format!(
            "with the login {login:?}, Qwen Code's requests would not go through infold"
        ))
        .hint("choose OpenAI's API with --auth-type openai and a key, or run qwen without infold")
        .into());
    }
    let asked = value_of(arguments, BASE_URL).map(|url| (url, BASE_URL));
    let set = || Some((surroundings.text("OPENAI_BASE_URL")?.to_owned(), "OPENAI_BASE_URL in the environment"));
    let stored = || Some((settings["security"]["auth"]["baseUrl"].as_str()?.to_owned(), "Qwen Code's settings"));
    let own =
        asked.or_else(set).or_else(stored).and_then(|(url, place)| OwnAddress::new(AgentApi::OpenAi, &url, place));
    let model = value_of(arguments, "--model").or_else(|| value_of(arguments, "-m"));
    let model = model.or_else(|| surroundings.text("OPENAI_MODEL").map(str::to_owned));
    let model = model.or_else(|| settings["model"]["name"].as_str().map(str::to_owned));
    Ok(FoundAgent { own: own.into_iter().collect(), model, notes: Vec::new() })
}

/// Wires Qwen Code to the daemon, by options and a variable.
pub fn wire(arguments: &[OsString], wires: &Wires<'_>) -> anyhow::Result<Start> {
    if arguments.first().is_some_and(|first| COMMANDS.iter().any(|command| first == command)) {
        return Ok(Start { arguments: arguments.to_vec(), environment: Vec::new() });
    }
    let version = OwnAddress::version(AgentApi::OpenAi.upstream(wires.settings));
    let base_url = format!("{}{}{version}", wires.daemon_url, AgentApi::OpenAi.route());
    let given = value_of(arguments, SERVERS).map(|given| read_settings(OsStr::new(&given), SERVERS)).transpose()?;
    let mut servers = given.unwrap_or_else(|| json!({}));
    // Qwen Code trusts all tools of a server or none, and tools of other servers may change things.
    let is_trusted = wires.servers.is_none();
    let server = json!({"httpUrl": format!("{}/mcp", wires.daemon_url), "trust": is_trusted});
    merge(&mut servers, json!({"mcpServers": {SERVER: server}}));

    let mut all: Vec<OsString> = vec![format!("{BASE_URL}={base_url}").into(), format!("{SERVERS}={servers}").into()];
    all.extend(without(arguments, &[BASE_URL, SERVERS]));
    // The variable would win over the option, so it is set to the same address.
    let environment = vec![("OPENAI_BASE_URL".to_owned(), base_url.into())];
    Ok(Start { arguments: all, environment })
}

/// The command line without these options and their values.
fn without(arguments: &[OsString], options: &[&str]) -> Vec<OsString> {
    let mut rest = Vec::new();
    let mut left = arguments.iter();
    while let Some(argument) = left.next() {
        let text = argument.to_string_lossy();
        let joined = |option: &&str| text.strip_prefix(*option).is_some_and(|value| value.starts_with('='));
        if options.iter().any(|option| text == *option) {
            left.next();
        } else if !options.iter().any(joined) {
            rest.push(argument.clone());
        }
    }
    rest
}

/// Its settings: the user's, and the project's over them.
fn settings(surroundings: &Surroundings) -> Result<Value, Refused> {
    let home = surroundings.text("HOME").map(PathBuf::from);
    let project = surroundings.folder.as_deref().map(Path::to_path_buf);
    let mut settings = json!({});
    for folder in [home, project].into_iter().flatten() {
        let read = read_jsonc(&folder.join(".qwen/settings.json"))?;
        merge(&mut settings, read.unwrap_or_else(|| json!({})));
    }
    Ok(settings)
}
