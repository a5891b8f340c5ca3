//! `infold servers check`: what a server is, what it lists, how long it took, and what is wrong with it.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use infold_core::strip_controls;
use infold_mcp::gateway::{
    ChildWay, HttpWay, LinkCounts, LinkEra, LinkError, LinkIdentity, LinkLimits, LinkSetup, LinkWay, ListKind,
    ListLimits, Listed, ServerAbout, ServerLink,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::variables;
use crate::commands::Invocation;
use crate::failure::Refused;
use crate::output::Form;
use crate::settings::Surroundings;

/// This program, even if its file has been replaced since it was started.
const THIS: &str = "/proc/self/exe";
/// Bounds of a check. They are the ones that the gateway has by default.
const LIMITS: LinkLimits = LinkLimits {
    start_timeout_ms: 30_000,
    message_bytes_max: 32 << 20,
    calls_max: 64,
    close_timeout_ms: 2_000,
    list: ListLimits { pages_max: 100, items_max: 2_000, item_bytes_max: 64 << 10, timeout_ms: 30_000 },
};
/// Events that may wait; a check looks at none.
const EVENTS_MAX: usize = 1;
const NAME_CHARS_MAX: usize = 60;

/// Arguments of `servers check`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// The server's address
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    url: Option<String>,
    /// The program of a server on standard input and output, and what it takes
    #[arg(last = true)]
    command: Vec<OsString>,
    /// A variable for the server's environment; the value may be left out if infold has it
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// A header for requests to the server
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// The folder that the server starts in
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// How long the server may take to start, and each list
    #[arg(long, value_name = "MS", default_value_t = LIMITS.start_timeout_ms)]
    timeout_ms: u64,
}

impl CheckArgs {
    fn way(&self, surroundings: &Surroundings) -> anyhow::Result<LinkWay> {
        let Some(url) = &self.url else {
            let (program, arguments) = self.command.split_first().context("no server was named")?;
            return Ok(LinkWay::Child(ChildWay {
                tender: THIS.into(),
                program: program.clone(),
                arguments: arguments.to_vec(),
                variables: variables::of_server(surroundings, &self.env),
                folder: self.folder.clone(),
            }));
        };
        let headers = self.header.iter().map(|header| {
            let (name, value) = header.split_once(':').ok_or_else(|| {
                Refused::new(format!("{header:?} is no header")).hint("the form is --header 'NAME: VALUE'")
            })?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        });
        Ok(LinkWay::Http(HttpWay { url: url.clone(), headers: headers.collect::<anyhow::Result<_>>()? }))
    }

    fn limits(&self) -> LinkLimits {
        let list = ListLimits { timeout_ms: self.timeout_ms, ..LIMITS.list };
        LinkLimits { start_timeout_ms: self.timeout_ms, list, ..LIMITS }
    }
}

/// Checks one server.
pub fn run(args: CheckArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let way = args.way(&invocation.surroundings)?;
    let setup = LinkSetup { way, known_era: None, identity: LinkIdentity::infold(), limits: args.limits() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot wait")?;
    let report = runtime.block_on(look(setup)).map_err(refused)?;
    match invocation.output.form {
        Form::Json => invocation.output.json(&report.as_json()),
        Form::Text => Ok(invocation.output.text(&report.as_text())?),
    }
}

/// A server that cannot be used is for the user to put right.
fn refused(error: LinkError) -> anyhow::Error {
    let refused = match &error {
        LinkError::NeedsLogin { challenge: Some(challenge), .. } => {
            Refused::new(error.to_string()).hint(format!("it says: {challenge}")).code("needs_login")
        }
        LinkError::NeedsLogin { .. } => Refused::new(error.to_string()).code("needs_login"),
        _ => Refused::new(error.to_string()).code("server_unusable"),
    };
    refused.into()
}

/// What a check has found.
struct ServerReport {
    about: ServerAbout,
    ready_ms: u128,
    lists_ms: u128,
    close_ms: u128,
    lists: Vec<(&'static str, Listed)>,
    counts: LinkCounts,
    last_words: String,
}

async fn look(setup: LinkSetup) -> Result<ServerReport, LinkError> {
    let begin = Instant::now();
    let (events, _nobody) = mpsc::channel(EVENTS_MAX);
    let link = ServerLink::start(setup, events).await?;
    let ready_ms = begin.elapsed().as_millis();
    let about = link.about();

    let begin = Instant::now();
    let lists = all_lists(&link, &about).await;
    let lists_ms = begin.elapsed().as_millis();

    let begin = Instant::now();
    let (counts, last_words) = (link.counts(), link.last_words());
    link.close().await;
    let close_ms = begin.elapsed().as_millis();
    Ok(ServerReport { about, ready_ms, lists_ms, close_ms, lists: lists?, counts, last_words })
}

async fn all_lists(link: &ServerLink, about: &ServerAbout) -> Result<Vec<(&'static str, Listed)>, LinkError> {
    let kinds = [
        ("tools", "tools", ListKind::Tools),
        ("prompts", "prompts", ListKind::Prompts),
        ("resources", "resources", ListKind::Resources),
        ("resource templates", "resources", ListKind::ResourceTemplates),
    ];
    let mut lists = Vec::new();
    for (name, capability, kind) in kinds {
        if about.capabilities.get(capability).is_some_and(Value::is_object) {
            lists.push((name, link.list(kind).await?));
        }
    }
    Ok(lists)
}

impl ServerReport {
    fn as_json(&self) -> Value {
        let lists = self.lists.iter().map(|(name, listed)| {
            let names: Vec<String> = listed.items.iter().map(item_name).collect();
            let list = json!({ "names": names, "bytes": bytes(listed), "problems": listed.problems });
            (name.replace(' ', "_"), list)
        });
        json!({
            "name": self.about.name,
            "version": self.about.version,
            "era": era_name(self.about.era),
            "protocol": self.about.protocol,
            "instructions": self.about.instructions,
            "ready_ms": self.ready_ms,
            "lists_ms": self.lists_ms,
            "close_ms": self.close_ms,
            "lists": lists.collect::<serde_json::Map<_, _>>(),
            "dropped": {
                "unknown_ids": self.counts.unknown_ids,
                "unreadable": self.counts.unreadable,
                "too_long": self.counts.too_long,
                "unwanted": self.counts.unwanted,
                "unanswered": self.counts.unanswered,
            },
            "last_words": self.last_words,
        })
    }

    fn as_text(&self) -> String {
        let about = &self.about;
        let (name, version) = (strip_controls(&about.name), strip_controls(&about.version));
        let mut text = format!("{name} {version}, MCP {}, ready in {} ms\n", about.protocol, self.ready_ms);
        for (kind, listed) in &self.lists {
            let _ = writeln!(text, "{} {kind}, {} bytes", listed.items.len(), bytes(listed));
            listed.items.iter().for_each(|item| {
                let _ = writeln!(text, "  {}", item_name(item));
            });
            listed.problems.iter().for_each(|problem| {
                let _ = writeln!(text, "  ! {}", strip_controls(problem));
            });
        }
        let _ = writeln!(text, "listed in {} ms, closed in {} ms", self.lists_ms, self.close_ms);
        if self.counts.unreadable + self.counts.unknown_ids + self.counts.too_long > 0 {
            let LinkCounts { unreadable, unknown_ids, too_long, .. } = self.counts;
            let _ = writeln!(
                text,
                "dropped: {unreadable} lines that are no message, {unknown_ids} answers to nobody, {too_long} too long"
            );
        }
        text
    }
}

fn era_name(era: LinkEra) -> &'static str {
    match era {
        LinkEra::Legacy => "legacy",
        LinkEra::Modern => "modern",
    }
}

fn item_name(item: &Value) -> String {
    let name = ["name", "uri", "uriTemplate"].iter().find_map(|key| item.get(*key)?.as_str()).unwrap_or("(no name)");
    strip_controls(name).chars().take(NAME_CHARS_MAX).collect()
}

fn bytes(listed: &Listed) -> usize {
    listed.items.iter().map(|item| item.to_string().len()).sum()
}
