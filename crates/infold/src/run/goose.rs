//! goose: wired by a variable with its provider's address, and by infold's tools as an extension on its command line.
//!
//! Only its commands `run` and `session` take extensions; its other commands are started as they are.

use std::ffi::OsString;
use std::path::PathBuf;

use super::claude::value_of;
use super::own::{AgentApi, OwnAddress};
use super::reading::read_text;
use super::{FoundAgent, Start, Wires};
use crate::failure::Refused;
use crate::settings::Surroundings;

/// The option that names an extension by its address.
const EXTENSION: &str = "--with-streamable-http-extension";
/// The variable that OpenAI's clients share. If it is set, goose uses it instead of its own variable.
const SHARED_ADDRESS: &str = "OPENAI_BASE_URL";

/// A provider of goose's that can be sent through infold.
struct Provider {
    name: &'static str,
    api: AgentApi,
    /// The variable that holds its address.
    address: &'static str,
}

const PROVIDERS: [Provider; 2] = [
    Provider { name: "openai", api: AgentApi::OpenAi, address: "OPENAI_HOST" },
    Provider { name: "anthropic", api: AgentApi::Anthropic, address: "ANTHROPIC_HOST" },
];

/// Finds the provider, its address and the model that the user has configured.
pub fn look(arguments: &[OsString], surroundings: &Surroundings) -> anyhow::Result<FoundAgent> {
    let configured = Configured::read(surroundings)?;
    let name = value_of(arguments, "--provider").or_else(|| configured.value("GOOSE_PROVIDER"));
    let model = value_of(arguments, "--model").or_else(|| configured.value("GOOSE_MODEL"));
    // Without a provider goose asks the user for one, and uses it from the next start on.
    let Some(name) = name else { return Ok(FoundAgent { model, ..FoundAgent::default() }) };
    let Some(provider) = PROVIDERS.iter().find(|provider| provider.name == name) else {
        return Err(Refused::new(format!("with the provider {name:?}, goose's requests would not go through infold"))
            .hint("choose openai or anthropic with --provider or GOOSE_PROVIDER, or run goose without infold")
            .into());
    };
    let own = configured.address(provider);
    let own = own.and_then(|(variable, url)| OwnAddress::new(provider.api, &url, format!("goose's {variable}")));
    Ok(FoundAgent { own: own.into_iter().collect(), model, notes: Vec::new() })
}

/// Wires goose to the daemon, by variables and an extension.
pub fn wire(arguments: &[OsString], wires: &Wires<'_>) -> anyhow::Result<Start> {
    let configured = Configured::read(wires.surroundings)?;
    let address = |provider: &Provider| {
        let url = format!("{}{}", wires.daemon_url, provider.api.route());
        (provider.address.to_owned(), OsString::from(url))
    };
    let mut environment: Vec<(String, OsString)> = PROVIDERS.iter().map(address).collect();
    if configured.value(SHARED_ADDRESS).is_some() {
        let version = OwnAddress::version(AgentApi::OpenAi.upstream(wires.settings));
        let url = format!("{}{}{version}", wires.daemon_url, AgentApi::OpenAi.route());
        environment.push((SHARED_ADDRESS.to_owned(), url.into()));
    }
    Ok(Start { arguments: with_tools(arguments, &format!("{}/mcp", wires.daemon_url)), environment })
}

/// The command line with infold's tools as an extension, if the command takes extensions.
fn with_tools(arguments: &[OsString], server_url: &str) -> Vec<OsString> {
    let extension = [OsString::from(EXTENSION), OsString::from(server_url)];
    let Some((first, rest)) = arguments.split_first() else {
        return [OsString::from("session")].into_iter().chain(extension).collect();
    };
    // A plain word after `session` is a command of its own, such as `list`.
    let is_command = rest.first().is_some_and(|next| !next.to_string_lossy().starts_with('-'));
    let works = first == "run" || ((first == "session" || first == "s") && !is_command);
    if !works {
        return arguments.to_vec();
    }
    [first.clone()].into_iter().chain(extension).chain(rest.iter().cloned()).collect()
}

/// What the user has configured. The environment wins over the file.
struct Configured<'a> {
    file: String,
    surroundings: &'a Surroundings,
}

impl<'a> Configured<'a> {
    fn read(surroundings: &'a Surroundings) -> Result<Self, Refused> {
        let path = folder(surroundings).map(|folder| folder.join("config.yaml"));
        let file = path.map(|path| read_text(&path)).transpose()?.flatten().unwrap_or_default();
        Ok(Self { file, surroundings })
    }

    fn value(&self, name: &str) -> Option<String> {
        let set = self.surroundings.text(name).map(str::to_owned);
        set.or_else(|| plain_value(&self.file, name)).filter(|value| !value.is_empty())
    }

    /// The variable with a provider's address, and the address.
    fn address(&self, provider: &Provider) -> Option<(&'static str, String)> {
        let shared = (provider.api == AgentApi::OpenAi).then_some(SHARED_ADDRESS);
        shared.into_iter().chain([provider.address]).find_map(|name| Some((name, self.value(name)?)))
    }
}

/// A plain value on the outermost level of a YAML file. No other values are needed here.
fn plain_value(yaml: &str, name: &str) -> Option<String> {
    let rest = yaml.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let value = rest.split(" #").next().unwrap_or_default().trim();
    Some(value.trim_matches(['"', '\'']).to_owned())
}

fn folder(surroundings: &Surroundings) -> Option<PathBuf> {
    let named = surroundings.text("XDG_CONFIG_HOME").map(PathBuf::from);
    let base = named.or_else(|| Some(PathBuf::from(surroundings.text("HOME")?).join(".config")))?;
    Some(base.join("goose"))
}
