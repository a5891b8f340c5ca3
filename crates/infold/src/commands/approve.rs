//! `infold approve`: tools of other MCP servers that wait because their definitions have changed or are new, and servers
//! of the project. Without a name it shows them, with what is different; with one it approves them as they are now.

mod servers;
mod waiting;

use infold_core::gateway::ServerKey;
use infold_engine::{Engine, Error, WaitingTool};
use serde_json::json;

use super::Invocation;
use crate::draw::one_line;
use crate::failure::{Refused, tell};
use crate::gateway::ProjectServer;
use crate::help;
use crate::output::Form;
use crate::{parts, telemetry};

/// Arguments of `approve`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "A tool whose server changes its description, its arguments or what it says that it does is withheld from \
         models until you approve it. So are new tools, if gateway.new_tools is \"withhold\". Without a name, this \
         shows what waits: lines with - are as you approved them, lines with + are as the server offers them now.",
        "A daemon that runs uses what you approve at once.",
        "The MCP servers in a project's own files (.mcp.json, .codex/config.toml, opencode.json) wait too: `infold run \
         --gateway` uses one only after you have approved it, and again if its entry is changed.",
    ],
    &[
        ("infold approve", "show what waits"),
        ("infold approve github/create_issue", "approve one tool"),
        ("infold approve github", "approve all that waits of a server"),
        ("infold approve --all", "approve all that waits"),
    ],
))]
pub struct ApproveArgs {
    /// A server, or one of its tools
    #[arg(value_name = "NAME[/TOOL]")]
    name: Option<String>,
    /// Approve all that waits: tools of all servers, and servers of this project
    #[arg(long, conflicts_with = "name")]
    all: bool,
}

/// Shows what waits, or approves it.
pub fn run(args: &ApproveArgs, invocation: &Invocation) -> anyhow::Result<()> {
    telemetry::log_only(&invocation.logging());
    let engine = match invocation.data_folder_in_use()? {
        Some(folder) => Some(parts::engine(&folder, &invocation.in_force.settings)?),
        None => None,
    };
    let runtime = parts::asking_runtime()?;
    let waiting = match &engine {
        Some(engine) => runtime.block_on(engine.waiting_tools()).map_err(parts::command_error)?,
        None => Vec::new(),
    };
    let of_project = runtime.block_on(servers::waiting(invocation, engine.as_ref()))?;
    if args.name.is_none() && !args.all {
        return show(&waiting, &of_project, invocation);
    }

    let is_named = |server: &&ProjectServer| args.name.as_deref().is_none_or(|name| name == server.entry.key.as_str());
    let of_project: Vec<&ProjectServer> = of_project.iter().filter(is_named).collect();
    let chosen = match &args.name {
        Some(name) if of_project.is_empty() => chosen(name, &waiting)?,
        Some(name) => chosen(name, &waiting).unwrap_or_default(),
        None => waiting.iter().collect(),
    };
    let engine = match engine {
        None if of_project.is_empty() => None,
        None => Some(parts::engine(&invocation.data_folder()?, &invocation.in_force.settings)?),
        engine => engine,
    };
    let mut approved = Vec::new();
    if let Some(engine) = &engine {
        approved = runtime.block_on(approve(engine, &chosen)).map_err(parts::command_error)?;
        approved.extend(runtime.block_on(servers::approve(&of_project, engine))?);
    }
    match invocation.output.form {
        Form::Json => invocation.output.json(&json!({ "approved": approved })),
        Form::Text if approved.is_empty() => {
            tell("note", "no tool waits for approval");
            Ok(())
        }
        Form::Text => {
            let lines: String = approved.iter().map(|tool| format!("approved {}\n", one_line(tool))).collect();
            Ok(invocation.output.text(&lines)?)
        }
    }
}

/// Approves these tools. Returns those that still waited, as `server/tool`.
async fn approve(engine: &Engine, chosen: &[&WaitingTool]) -> Result<Vec<String>, Error> {
    let mut approved = Vec::new();
    for waiting in chosen {
        let tools = engine.approve_tools(&waiting.server, Some(&waiting.tool)).await?;
        approved.extend(tools.into_iter().map(|tool| place(&waiting.server, &tool)));
    }
    Ok(approved)
}

/// The tools that a name means: all of a server, or one.
fn chosen<'a>(name: &str, waiting: &'a [WaitingTool]) -> Result<Vec<&'a WaitingTool>, Refused> {
    let means = |tool: &&WaitingTool| tool.server.as_str() == name || place(&tool.server, &tool.tool) == name;
    let chosen: Vec<&WaitingTool> = waiting.iter().filter(means).collect();
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    let known: Vec<String> = waiting.iter().map(|tool| one_line(&place(&tool.server, &tool.tool))).collect();
    let hint = match known.as_slice() {
        [] => "no tool of any server waits".to_owned(),
        known => format!("these wait: {}", known.join(", ")),
    };
    Err(Refused::new(format!("nothing that waits for approval is called {name:?}")).hint(hint).code("not_waiting"))
}

fn place(server: &ServerKey, tool: &str) -> String {
    format!("{server}/{tool}")
}

fn show(waiting: &[WaitingTool], of_project: &[ProjectServer], invocation: &Invocation) -> anyhow::Result<()> {
    let output = &invocation.output;
    match output.form {
        Form::Json => {
            let waiting: Vec<_> = waiting.iter().map(waiting::as_json).collect();
            let of_project: Vec<_> = of_project.iter().map(servers::as_json).collect();
            output.json(&json!({ "waiting": waiting, "servers": of_project }))
        }
        Form::Text if waiting.is_empty() && of_project.is_empty() => {
            tell("note", "no tool waits for approval");
            Ok(())
        }
        Form::Text => {
            let tools = waiting.iter().map(|tool| waiting::as_text(tool, &output.style));
            let servers = of_project.iter().map(|server| servers::as_text(server, &output.style));
            let shown: Vec<String> = tools.chain(servers).collect();
            Ok(output.text(&shown.join("\n"))?)
        }
    }
}
