//! Claude Code: wired by its environment and its command line.
//!
//! Variables in its settings win over the environment, and of two `--settings` only the last counts. So infold's are
//! merged into the user's `--settings`. MCP servers of several `--mcp-config` add up.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use infold_core::gateway::{RightsAction, SourceClient};
use serde_json::{Value, json};

use super::behind::{SERVERS_PATH, harmless_tools};
use super::own::{AgentApi, OwnAddress};
use super::reading::{merge, parse_jsonc, read_jsonc, read_text};
use super::{FoundAgent, SERVER, Start, ToolListing, Wires};
use crate::failure::Refused;
use crate::gateway::TakenServers;
use crate::settings::Surroundings;

/// The variable that holds the model's address.
const BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// The variable that keeps MCP tools behind a search. With a base address other than Anthropic's, Claude Code would
/// otherwise list every MCP tool in every request.
const TOOL_SEARCH: &str = "ENABLE_TOOL_SEARCH";
/// Variables that send its requests to other providers, whatever the base address is.
const OTHER_PROVIDERS: [&str; 3] = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"];
/// The option with settings, as JSON or as a file.
const SETTINGS: &str = "--settings";

/// Finds the model and its address that the user has configured.
pub fn look(arguments: &[OsString], surroundings: &Surroundings) -> anyhow::Result<FoundAgent> {
    let configured = Configured::read(arguments, surroundings)?;
    let is_set = |name: &&str| configured.variable(name).is_some_and(|(value, _)| is_on(value));
    if let Some(name) = OTHER_PROVIDERS.into_iter().find(is_set) {
        return Err(Refused::new(format!("{name} is set, so Claude Code's requests would not go through infold"))
            .hint("unset it, or run claude without infold")
            .into());
    }
    let own = configured.variable(BASE_URL);
    let own = own.and_then(|(url, place)| OwnAddress::new(AgentApi::Anthropic, url, format!("{BASE_URL} in {place}")));
    let model = value_of(arguments, "--model").or_else(|| configured.model());
    Ok(FoundAgent { own: own.into_iter().collect(), model, notes: Vec::new() })
}

/// Wires Claude Code to the daemon, by options, settings and variables.
pub fn wire(arguments: &[OsString], wires: &Wires<'_>) -> anyhow::Result<Start> {
    let (rest, given) = split_settings(arguments);
    let mut settings = given.map(|given| read_settings(&given, SETTINGS)).transpose()?.unwrap_or_else(|| json!({}));
    let mut variables = variables_for(wires.daemon_url).to_vec();
    // If the user has chosen how tools are searched for, that stays.
    if Configured::read(arguments, wires.surroundings)?.variable(TOOL_SEARCH).is_some() {
        variables.retain(|(name, _)| *name != TOOL_SEARCH);
    }
    merge(&mut settings, settings_for(&variables, wires.guard.claude_hook(wires.servers)?));
    merge(&mut settings, permissions_for(wires.servers));

    let mut servers = json!({"mcpServers": {SERVER: server_for(wires.daemon_url, wires.tools)}});
    if let Some(taken) = wires.servers {
        let url = format!("{}{SERVERS_PATH}", wires.daemon_url);
        servers["mcpServers"][taken.entry] = json!({"type": "http", "url": url});
    }
    // With `=` an option takes this one value, and none of what follows it.
    let mut start = Start { arguments: vec![format!("--mcp-config={servers}").into()], ..Start::default() };
    start.arguments.push(format!("--settings={settings}").into());
    start.arguments.extend(rest);
    start.environment = variables.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    Ok(start)
}

/// The variables that Claude Code needs: the model's address, and that it searches for tools.
pub fn variables_for(daemon_url: &str) -> [(&'static str, String); 2] {
    [(BASE_URL, format!("{daemon_url}{}", AgentApi::Anthropic.route())), (TOOL_SEARCH, "true".to_owned())]
}

/// infold's MCP server, as Claude Code's settings describe one.
pub fn server_for(daemon_url: &str, tools: ToolListing) -> Value {
    let mut server = json!({"type": "http", "url": format!("{daemon_url}/mcp")});
    if tools == ToolListing::Loaded {
        server["alwaysLoad"] = json!(true);
    }
    server
}

/// The permission to call infold's tools without asking the user: they touch nothing but the context.
pub fn permission() -> String {
    format!("mcp__{SERVER}")
}

fn settings_for(variables: &[(&str, String)], hook: Value) -> Value {
    let variables: serde_json::Map<_, _> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    json!({
        "env": variables,
        "hooks": {"PreToolUse": [hook]},
    })
}

/// What may be called without asking. With servers behind infold, these are single tools and the rules for servers' tools
/// as they are listed; and the servers that infold took are denied to Claude Code itself.
fn permissions_for(servers: Option<&TakenServers>) -> Value {
    let Some(servers) = servers else { return json!({"permissions": {"allow": [permission()]}}) };
    let spell = |entry: &str, tool: &str| SourceClient::Claude.spell(entry, tool);
    let listed = |action| servers.patterns(action).map(|pattern| spell(servers.entry, pattern));
    let allow: Vec<String> =
        harmless_tools().map(|tool| spell(SERVER, tool)).chain(listed(RightsAction::Allow)).collect();
    let ask: Vec<String> = listed(RightsAction::Ask).collect();
    let denied = servers.off.iter().map(|server| json!({"serverName": server.name}));
    json!({"permissions": {"allow": allow, "ask": ask}, "deniedMcpServers": denied.collect::<Vec<_>>()})
}

/// The folder of Claude Code's own settings; `None` if HOME is not set.
pub fn folder(surroundings: &Surroundings) -> Option<PathBuf> {
    let named = surroundings.text("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(surroundings.text("HOME")?).join(".claude")))
}

/// The file with the user's servers. It is beside the folder, or in it if the user has chosen the folder.
pub fn claude_servers_file(surroundings: &Surroundings) -> Option<PathBuf> {
    let folder = folder(surroundings)?;
    Some(match surroundings.text("CLAUDE_CONFIG_DIR") {
        Some(_) => folder.join(".claude.json"),
        None => folder.with_file_name(".claude.json"),
    })
}

/// What the user has configured, on the command line, in files and in the environment.
struct Configured<'a> {
    /// Settings and where they come from, those that win first.
    layers: Vec<(Value, String)>,
    surroundings: &'a Surroundings,
}

impl<'a> Configured<'a> {
    fn read(arguments: &[OsString], surroundings: &'a Surroundings) -> Result<Self, Refused> {
        let given = split_settings(arguments).1.map(|given| read_settings(&given, SETTINGS)).transpose()?;
        let mut layers: Vec<(Value, String)> =
            given.map(|given| (given, "--settings".to_owned())).into_iter().collect();
        let project = surroundings.folder.iter().map(|folder| folder.join(".claude"));
        let names = project.flat_map(|folder| ["settings.local.json", "settings.json"].map(|name| folder.join(name)));
        for path in names.chain(folder(surroundings).map(|folder| folder.join("settings.json"))) {
            layers.extend(read_jsonc(&path)?.map(|settings| (settings, path.display().to_string())));
        }
        Ok(Self { layers, surroundings })
    }

    /// A variable's value, and where it is set. Settings win over the environment.
    fn variable(&self, name: &str) -> Option<(&str, &str)> {
        let mut set = self.layers.iter().map(|(settings, place)| (&settings["env"][name], place.as_str()));
        let set = set.find_map(|(value, place)| Some((value.as_str()?, place)));
        set.or_else(|| Some((self.surroundings.text(name)?, "the environment")))
    }

    fn model(&self) -> Option<String> {
        let in_settings = self.layers.iter().find_map(|(settings, _)| settings["model"].as_str());
        self.variable("ANTHROPIC_MODEL").map(|(model, _)| model).or(in_settings).map(str::to_owned)
    }
}

fn is_on(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off")
}

/// Takes the user's `--settings` out of the arguments. The last one counts.
fn split_settings(arguments: &[OsString]) -> (Vec<OsString>, Option<OsString>) {
    let mut rest = Vec::new();
    let mut settings = None;
    let mut left = arguments.iter();
    while let Some(argument) = left.next() {
        if argument == "--" {
            rest.push(argument.clone());
            rest.extend(left.cloned());
            break;
        }
        if argument == "--settings" {
            settings = left.next().cloned();
        } else if let Some(value) = argument.to_str().and_then(|text| text.strip_prefix("--settings=")) {
            settings = Some(value.into());
        } else {
            rest.push(argument.clone());
        }
    }
    (rest, settings)
}

/// Reads the value of an option such as `--settings`, which is JSON or the name of a file with JSON.
pub fn read_settings(given: &OsStr, option: &str) -> Result<Value, Refused> {
    if let Some(text) = given.to_str().filter(|text| text.trim_start().starts_with('{')) {
        return parse_jsonc(text, option);
    }
    let text = read_text(Path::new(given))?;
    let missing = || Refused::new(format!("{option}: no file {}", Path::new(given).display()));
    parse_jsonc(&text.ok_or_else(missing)?, &given.to_string_lossy())
}

/// The value of an option, written as `--option value` or `--option=value`. The last one counts.
pub fn value_of(arguments: &[OsString], option: &str) -> Option<String> {
    let mut left = arguments.iter().take_while(|argument| *argument != "--").filter_map(|argument| argument.to_str());
    let mut found = None;
    while let Some(argument) = left.next() {
        if argument == option {
            found = left.next().map(str::to_owned);
        } else if let Some(value) = argument.strip_prefix(option).and_then(|rest| rest.strip_prefix('=')) {
            found = Some(value.to_owned());
        }
    }
    found
}
