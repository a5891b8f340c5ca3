//! `infold servers`: how other MCP servers are, how many tools they have, and what calls of these add up to. What is shown
//! comes from the settings and the database; no server is started.

use infold_core::Principal;
use infold_core::gateway::{ServerKey, ServerState};
use infold_engine::{ConfiguredServer, Engine, ServerOverview, WithheldTool};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::commands::Invocation;
use crate::commands::sessions::now_ms;
use crate::draw::{Align, Column, Style, Table, Tone, ago, one_line, thousands};
use crate::failure::tell;
use crate::gateway::configured;
use crate::output::Form;
use crate::{parts, telemetry};

/// Columns that are left out where the terminal is narrow, in this order.
const MAY_GO: [&str; 7] = ["SERVER", "P95", "LAST", "TOKENS", "P50", "ERRORS", "CALLS"];

/// Lists the servers.
pub fn run(invocation: &Invocation) -> anyhow::Result<()> {
    let servers = ServersLoad::new(invocation)?.servers()?;
    let output = &invocation.output;
    match output.form {
        Form::Json => {
            let servers: Vec<Value> = servers.iter().map(infold_control::server_json).collect();
            output.json(&json!({ "servers": servers }))
        }
        Form::Text if servers.is_empty() => {
            tell("note", "the settings name no servers; `infold servers import` takes those of an agent");
            Ok(())
        }
        Form::Text => Ok(output.text(&text(&servers, now_ms(), &output.style))?),
    }
}

/// Where servers are loaded from: the settings, and the database if there is one.
pub struct ServersLoad {
    configured: Vec<ConfiguredServer>,
    engine: Option<Engine>,
    runtime: Runtime,
}

impl ServersLoad {
    /// Opens the database, if there is one.
    pub fn new(invocation: &Invocation) -> anyhow::Result<Self> {
        telemetry::log_only(&invocation.logging());
        let engine = match invocation.data_folder_in_use()? {
            Some(folder) => Some(parts::engine(&folder, &invocation.in_force.settings)?),
            None => None,
        };
        Ok(Self { configured: configured(invocation), engine, runtime: parts::asking_runtime()? })
    }

    /// Loads all servers.
    pub fn servers(&self) -> anyhow::Result<Vec<ServerOverview>> {
        let Some(engine) = &self.engine else {
            return Ok(self.configured.iter().map(|server| server.overview(None)).collect());
        };
        let who = Principal::local();
        self.runtime.block_on(engine.servers(&who, &self.configured)).map_err(parts::command_error)
    }

    /// Loads the tools of a server that may not be used.
    pub fn withheld(&self, server: &ServerKey) -> anyhow::Result<Vec<WithheldTool>> {
        let Some(engine) = &self.engine else { return Ok(Vec::new()) };
        let tools = self.runtime.block_on(engine.known_tools(server)).map_err(parts::command_error)?;
        Ok(tools.withheld)
    }
}

fn text(servers: &[ServerOverview], now_ms: u64, style: &Style) -> String {
    let left = |heading| Column { heading, align: Align::Left };
    let right = |heading| Column { heading, align: Align::Right };
    let mut table = Table::new(vec![
        left("NAME"),
        left("STATE"),
        right("TOOLS"),
        right("TOKENS"),
        right("CALLS"),
        right("P50"),
        right("P95"),
        right("ERRORS"),
        left("LAST"),
        left("SERVER"),
    ]);
    for server in servers {
        let figures = &server.figures;
        table.row(vec![
            (Tone::Strong, one_line(figures.server.as_str())),
            (tone(&server.state), server.state.replace('_', " ")),
            (Tone::Plain, thousands(figures.tools)),
            (Tone::Plain, thousands(figures.definition_tokens)),
            (Tone::Plain, thousands(figures.calls)),
            (Tone::Plain, latency(figures.p50_ms)),
            (Tone::Plain, latency(figures.p95_ms)),
            (if figures.errors > 0 { Tone::Bad } else { Tone::Plain }, thousands(figures.errors)),
            (Tone::Faint, figures.last_at_ms.map_or_else(|| "-".to_owned(), |at_ms| ago(now_ms, at_ms))),
            (Tone::Faint, server.way.clone().unwrap_or_else(|| "not in the settings".to_owned())),
        ]);
    }
    let mut text = table.dropped_to_fit(style.width, &MAY_GO).draw(style);
    servers.iter().flat_map(notes).for_each(|note| text.push_str(&format!("{note}\n")));
    text
}

/// What there is to say of a server beside its row.
fn notes(server: &ServerOverview) -> Vec<String> {
    let name = one_line(server.figures.server.as_str());
    let mut notes: Vec<String> = server.detail.iter().map(|why| format!("{name}: {}", one_line(why))).collect();
    if server.state == ServerState::NeedsLogin.word() {
        notes.push(format!("{name}: log in with `infold servers login {name}`"));
    }
    match server.figures.withheld {
        0 => {}
        1 => notes.push(format!("{name}: 1 tool waits for approval; `infold approve` shows it")),
        count => notes.push(format!("{name}: {count} tools wait for approval; `infold approve` shows them")),
    }
    notes
}

/// How long calls took; a dash if there were none.
pub fn latency(ms: Option<f64>) -> String {
    match ms {
        None => "-".to_owned(),
        Some(ms) if ms < 10.0 => format!("{ms:.1} ms"),
        Some(ms) if ms < 10_000.0 => format!("{ms:.0} ms"),
        Some(ms) => format!("{:.1} s", ms / 1_000.0),
    }
}

/// The tone of a state's word.
pub fn tone(state: &str) -> Tone {
    match state {
        state if state == ServerState::Ready.word() => Tone::Good,
        "failing" | "needs_login" | "needs_approval" => Tone::Warn,
        "unavailable" | "refused" => Tone::Bad,
        "off" => Tone::Faint,
        _ => Tone::Plain,
    }
}
