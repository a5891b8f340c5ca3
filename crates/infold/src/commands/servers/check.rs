//! `infold servers check`: what a server is, what it lists, how long it took, and what is wrong with it.

use anyhow::Context;
use infold_core::gateway::{LoginHints, NamedValues, ServerEntry, ServerWay};
use infold_core::strip_hostile;
use infold_mcp::gateway::{LinkError, LinkIdentity, LinkLimits, LinkSetup, ListLimits};

use super::report::look;
use crate::commands::Invocation;
use crate::draw::one_line;
use crate::failure::Refused;
use crate::gateway::{LoadedServer, LoadedState, link_way, load, login_store};
use crate::help;
use crate::output::Form;
use crate::settings::Gateway;

/// How long a server may take to end.
const CLOSE_TIMEOUT_MS: u64 = 2_000;
/// Bounds of each list.
const LIST: ListLimits = ListLimits { pages_max: 100, items_max: 2_000, item_bytes_max: 64 << 10, timeout_ms: 30_000 };

/// Arguments of `servers check`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &["A server of the settings is checked as the gateway would start it. The command in headers_helper is not run."],
    &[
        ("infold servers check github", "a server of the settings"),
        ("infold servers check https://mcp.example/mcp --header 'Authorization: Bearer ...'", ""),
        ("infold servers check --env GITHUB_TOKEN -- npx -y some-server", ""),
    ],
))]
pub struct CheckArgs {
    /// The name of a server in the settings, or an address
    #[arg(required_unless_present = "command", conflicts_with = "command", value_name = "NAME|URL")]
    server: Option<String>,
    /// The program of a server on standard input and output, and what it takes
    #[arg(last = true)]
    command: Vec<String>,
    /// A variable for the server's environment; the value may be left out if infold has it
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// A header for requests to the server
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// The folder that the server starts in
    #[arg(long, value_name = "DIR")]
    folder: Option<String>,
    /// How long the server may take to start, and each list
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
}

impl CheckArgs {
    /// How the server is reached, and how long its start may take.
    fn way(&self, invocation: &Invocation) -> anyhow::Result<(ServerWay, u64)> {
        let gateway = &invocation.in_force.settings.gateway;
        match &self.server {
            None => Ok((self.program()?, gateway.start_timeout_ms)),
            Some(url) if url.contains("://") => Ok((self.address(url)?, gateway.start_timeout_ms)),
            Some(name) => {
                if !(self.env.is_empty() && self.header.is_empty() && self.folder.is_none()) {
                    let problem = "--env, --header and --folder are for servers that are not in the settings";
                    return Err(Refused::new(problem).hint("change the server's entry in your settings").into());
                }
                let entry = named(name, &load(gateway, &invocation.surroundings))?;
                Ok((entry.way, entry.limits.start_timeout_ms))
            }
        }
    }

    fn program(&self) -> anyhow::Result<ServerWay> {
        let (program, arguments) = self.command.split_first().context("no server was named")?;
        let (valued, inherited): (Vec<_>, Vec<_>) = self.env.iter().partition(|variable| variable.contains('='));
        let valued = valued.into_iter().filter_map(|variable| variable.split_once('='));
        Ok(ServerWay::Child {
            program: program.clone(),
            arguments: arguments.to_vec(),
            variables: NamedValues(valued.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()),
            inherited: inherited.into_iter().cloned().collect(),
            folder: self.folder.clone(),
        })
    }

    fn address(&self, url: &str) -> anyhow::Result<ServerWay> {
        let headers = self.header.iter().map(|header| {
            let (name, value) = header.split_once(':').ok_or_else(|| {
                // What is no header may be a key.
                Refused::new("a --header has no colon").hint("the form is --header 'NAME: VALUE'")
            })?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        });
        let headers = NamedValues(headers.collect::<anyhow::Result<_>>()?);
        Ok(ServerWay::Http { url: url.to_owned(), headers, helper: None, login: LoginHints::default() })
    }

    fn limits(&self, gateway: &Gateway, start_timeout_ms: u64) -> LinkLimits {
        let usual = limits(gateway, self.timeout_ms.unwrap_or(start_timeout_ms));
        LinkLimits { list: ListLimits { timeout_ms: self.timeout_ms.unwrap_or(LIST.timeout_ms), ..LIST }, ..usual }
    }
}

/// Bounds for somebody who looks at one server.
pub fn limits(gateway: &Gateway, start_timeout_ms: u64) -> LinkLimits {
    LinkLimits {
        start_timeout_ms,
        message_bytes_max: gateway.message_bytes_max,
        calls_max: gateway.calls_max,
        close_timeout_ms: CLOSE_TIMEOUT_MS,
        list: LIST,
    }
}

/// The entry of a server of the settings that can be used; one that is switched off is checked as well.
fn named(name: &str, servers: &[LoadedServer]) -> anyhow::Result<ServerEntry> {
    let Some(server) = servers.iter().find(|server| server.entry.key.as_str() == name) else {
        let known: Vec<&str> = servers.iter().map(|server| server.entry.key.as_str()).collect();
        let hint = match known.as_slice() {
            [] => "there are none: add one to your settings, or give an address".to_owned(),
            known => format!("the settings have {}", known.join(", ")),
        };
        return Err(Refused::new(format!("no server is called {name:?}")).hint(hint).into());
    };
    match &server.state {
        LoadedState::Usable(entry) | LoadedState::Off(Ok(entry)) => Ok(ServerEntry::clone(entry)),
        LoadedState::Refused(problems) | LoadedState::Off(Err(problems)) => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Err(Refused::new(format!("{name}: {}", problems.join("; "))).code("server_unusable").into())
        }
    }
}

/// Checks one server.
pub fn run(args: CheckArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let (way, start_timeout_ms) = args.way(invocation)?;
    let name = args.server.as_deref().unwrap_or_default();
    let way = link_way((name, &way), &invocation.surroundings, login_store(invocation).ok().as_ref());
    let limits = args.limits(&invocation.in_force.settings.gateway, start_timeout_ms);
    let setup = LinkSetup { way, known_era: None, identity: LinkIdentity::infold(), limits };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot wait")?;
    let report = runtime.block_on(look(setup)).map_err(refused)?;
    match invocation.output.form {
        Form::Json => invocation.output.json(&report.as_json()),
        Form::Text => Ok(invocation.output.text(&report.as_text())?),
    }
}

/// A server that cannot be used is for the user to put right.
pub fn refused(error: LinkError) -> anyhow::Error {
    let refused = match &error {
        LinkError::NeedsLogin { challenge: Some(challenge), .. } => {
            let challenge = one_line(&strip_hostile(challenge));
            Refused::new(error.to_string()).hint(format!("it says: {challenge}")).code("needs_login")
        }
        LinkError::NeedsLogin { challenge: None, .. } => Refused::new(error.to_string()).code("needs_login"),
        _ => Refused::new(error.to_string()).code("server_unusable"),
    };
    refused.into()
}
