//! `infold servers NAME`: everything that is known of one server.

use std::fmt::Write as _;

use infold_core::gateway::ServerKey;
use infold_engine::{ServerOverview, WithheldTool};

use super::list::{ServersLoad, latency};
use crate::commands::Invocation;
use crate::commands::sessions::now_ms;
use crate::draw::{ago, one_line, thousands};
use crate::failure::Refused;
use crate::output::Form;

/// Shows one server.
pub fn run(name: &str, invocation: &Invocation) -> anyhow::Result<()> {
    let load = ServersLoad::new(invocation)?;
    let servers = load.servers()?;
    let server = servers.iter().find(|server| server.figures.server.as_str() == name);
    let server = server.ok_or_else(|| absent(name, &servers))?;
    let withheld = load.withheld(&ServerKey::new(name))?;

    match invocation.output.form {
        Form::Json => invocation.output.json(&infold_control::server_detail_json(server, &withheld)),
        Form::Text => Ok(invocation.output.text(&text(server, &withheld, now_ms()))?),
    }
}

fn absent(name: &str, servers: &[ServerOverview]) -> Refused {
    let known: Vec<String> = servers.iter().map(|server| one_line(server.figures.server.as_str())).collect();
    let hint = match known.as_slice() {
        [] => "there are none: add one to your settings, or run `infold servers import`".to_owned(),
        known => format!("there are {}", known.join(", ")),
    };
    Refused::new(format!("no server is called {name:?}")).hint(hint).code("server_not_found")
}

fn text(server: &ServerOverview, withheld: &[WithheldTool], now_ms: u64) -> String {
    let figures = &server.figures;
    let mut text = format!("{}: {}", one_line(figures.server.as_str()), server.state.replace('_', " "));
    // Writing into a string cannot fail.
    let _ = match &server.detail {
        Some(detail) => writeln!(text, " ({})", one_line(detail)),
        None => writeln!(text),
    };
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<12} {value}");
    };
    line("server", server.way.clone().unwrap_or_else(|| "not in the settings".to_owned()));
    server.origin.iter().for_each(|origin| line("from", origin.clone()));
    figures.era.iter().for_each(|era| line("protocol", era.clone()));
    let tokens = thousands(figures.definition_tokens);
    line("tools", format!("{}, {tokens} tokens if all are listed", thousands(figures.tools)));
    line("calls", format!("{}, {} failed", thousands(figures.calls), thousands(figures.errors)));
    if figures.calls > 0 {
        line("took", format!("{} (half of the calls), {} (95 %)", latency(figures.p50_ms), latency(figures.p95_ms)));
        line("tokens", format!("{} in, {} out", thousands(figures.tokens_in), thousands(figures.tokens_out)));
        line("stored", format!("{} long results", thousands(figures.offloaded)));
    }
    figures.last_at_ms.iter().for_each(|at_ms| line("last call", ago(now_ms, *at_ms)));
    for tool in withheld {
        line("withheld", format!("{} {}", one_line(&tool.tool), tool.why.words()));
    }
    if withheld.iter().any(|tool| tool.why.waits_for_approval()) {
        let _ = writeln!(text, "`infold approve` shows what is different in tools that wait");
    }
    text
}
