//! `infold servers`: the servers of the settings, without anything that may be secret.

use infold_core::gateway::EntryProblem;
use serde_json::{Value, json};

use crate::commands::Invocation;
use crate::draw::{Align, Column, Table, Tone};
use crate::failure::tell;
use crate::gateway::{LoadedServer, LoadedState, describe_way, load};
use crate::output::Form;
use crate::settings::Origin;

/// Lists the servers.
pub fn run(invocation: &Invocation) -> anyhow::Result<()> {
    let servers = load(&invocation.in_force.settings.gateway, &invocation.surroundings);
    let output = &invocation.output;
    match output.form {
        Form::Json => {
            let servers: Vec<Value> = servers.iter().map(|server| as_json(server, &origin(invocation))).collect();
            output.json(&json!({ "servers": servers }))
        }
        Form::Text if servers.is_empty() => {
            tell("note", "the settings name no servers; `infold servers import` takes those of an agent");
            Ok(())
        }
        Form::Text => Ok(output.text(&text(&servers, invocation))?),
    }
}

/// Where the list of servers comes from. A layer has all of them or none.
fn origin(invocation: &Invocation) -> String {
    let entry = invocation.in_force.entries.iter().find(|entry| entry.key == "gateway.servers");
    match entry.map(|entry| &entry.origin) {
        // Its line is that of the first server.
        Some(Origin::User { path, line: _ }) => path.display().to_string(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

fn text(servers: &[LoadedServer], invocation: &Invocation) -> String {
    let left = |heading| Column { heading, align: Align::Left };
    let mut table = Table::new(vec![left("NAME"), left("STATE"), left("SERVER"), left("FROM")]);
    for server in servers {
        let (state, tone) = state(&server.state);
        table.row(vec![
            (Tone::Strong, server.entry.key.to_string()),
            (tone, state.to_owned()),
            (Tone::Plain, describe_way(&server.entry.way)),
            (Tone::Faint, origin(invocation)),
        ]);
    }
    let style = &invocation.output.style;
    let mut text = table.dropped_to_fit(style.width, &["FROM", "SERVER"]).draw(style);
    for server in servers {
        for problem in problems(server) {
            text.push_str(&format!("\n{}: {problem}", server.entry.key));
        }
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn state(state: &LoadedState) -> (&'static str, Tone) {
    match state {
        LoadedState::Usable(_) => ("configured", Tone::Plain),
        LoadedState::Off(_) => ("off", Tone::Faint),
        LoadedState::Refused(_) => ("refused", Tone::Bad),
    }
}

fn problems(server: &LoadedServer) -> &[EntryProblem] {
    match &server.state {
        LoadedState::Usable(_) | LoadedState::Off(_) => &[],
        LoadedState::Refused(problems) => problems,
    }
}

fn as_json(server: &LoadedServer, origin: &str) -> Value {
    let problems: Vec<String> = problems(server).iter().map(ToString::to_string).collect();
    json!({
        "name": server.entry.key.as_str(),
        "state": state(&server.state).0,
        "server": describe_way(&server.entry.way),
        "origin": origin,
        "problems": problems,
    })
}
