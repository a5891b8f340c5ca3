//! `infold run`: runs an agent through infold, without writing anything into the user's own files.

use std::ffi::OsString;
use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::Invocation;
use crate::data_folder;
use crate::failure::{self, AgentEnded};
use crate::help;
use crate::output::Form;
use crate::parts;
use crate::run::{Agent, Daemon, FoundAgent, Guard, OwnAddress, Savings, ToolListing, Wires, follow_window, run_child};
use crate::settings::{LogLevel, Origin};
use crate::telemetry::Telemetry;

/// How long threads that are stuck in a blocking call may hold up the end.
const THREADS_TIMEOUT: Duration = Duration::from_secs(1);

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "The agent runs in this folder and terminal as usual; its requests go through infold's proxy, and infold's \
         tools are added to its own. Its configuration stays in force. If you configured an address for its model \
         (ANTHROPIC_BASE_URL, a provider of Codex or OpenCode, goose's OPENAI_HOST), infold forwards to it, unless \
         infold's settings name another. Put infold's own options before `run`.",
        "With --gateway (or the setting run.gateway), infold hosts the MCP servers in the agent's files for this run, \
         under the agent's rules for their tools: results are scrubbed, counted and stored if they are long. No file \
         is changed. What infold cannot take stays with the agent, and so do a project's servers until you approve \
         them; a note names both.",
        "At the end, infold prints what it removed and saved to standard error; with --json, as one last line of JSON. \
         Standard output is the agent's alone. If infold is killed, the agent ends too.",
    ],
    &[
        ("infold run claude", ""),
        ("infold run claude -p 'Why does the build fail?' --model opus", ""),
        ("infold run codex exec 'Why does the build fail?'", ""),
        ("infold run opencode", ""),
        ("infold run --gateway claude", "with its MCP servers behind infold"),
        ("infold run goose run -t 'Why does the build fail?'", ""),
        ("infold run qwen 'Why does the build fail?'", ""),
        ("infold --set run.window_tokens=1000000 run claude", ""),
        ("infold --json run claude -p 'Why?' 2> log", "the last line of log is the summary"),
    ],
))]
pub struct RunArgs {
    /// Take the agent's MCP servers behind infold for this run (claude, codex, opencode)
    #[arg(long)]
    gateway: bool,
    /// claude, codex, opencode, goose or qwen, and its own arguments
    #[arg(value_name = "AGENT", required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Starts a daemon in this process, runs the agent to its end, and prints what was saved.
pub fn run(args: &RunArgs, mut invocation: Invocation) -> anyhow::Result<()> {
    let Some((name, arguments)) = args.command.split_first() else { return Ok(()) };
    let agent = Agent::named(name)?;
    let program = agent.find(&invocation.surroundings)?;
    let found = agent.look(arguments, &invocation.surroundings)?;
    invocation.in_force.settings.run.gateway |= args.gateway;
    let mut notes: Vec<String> = adapt_settings(&mut invocation, &found)?.into_iter().chain(found.notes).collect();
    let tell = |notes: &[String], invocation: &Invocation| {
        if !invocation.globals.quiet && invocation.output.form == Form::Text {
            notes.iter().for_each(|line| failure::tell("infold", line));
        }
    };
    tell(&notes, &invocation);

    let tools =
        if invocation.in_force.settings.run.always_load { agent.tool_listing(&program) } else { ToolListing::AsOthers };

    // infold's own files are private. The agent gets the user's umask back before it starts.
    let umask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let telemetry = Telemetry::start(&invocation.logging(), &invocation.in_force.settings.telemetry.otlp_endpoint)?;
    let runtime = parts::serving_runtime(&invocation.in_force.settings)?;
    let registry = telemetry.registry.clone();
    let ended = runtime.block_on(async {
        let mut daemon = Daemon::start(&invocation, registry, Some((agent, arguments))).await?;
        rustix::process::umask(umask);
        tell(&daemon.notes, &invocation);
        notes.append(&mut daemon.notes);
        let wires = Wires {
            daemon_url: &daemon.url(),
            guard: Guard::here(&data_folder::location(&invocation.in_force)?)?,
            surroundings: &invocation.surroundings,
            settings: &invocation.in_force.settings,
            tools,
            servers: daemon.servers.as_ref(),
        };
        let start = agent.wire(arguments, &wires)?;
        let ended = run_child(&program, &start).await;
        daemon.stop().await?;
        ended
    });
    if !invocation.globals.quiet {
        let savings = Savings::counted(&telemetry.registry);
        match invocation.output.form {
            Form::Text => savings.lines(agent).iter().for_each(|line| failure::tell("infold", line)),
            Form::Json => tell_as_json(&savings, agent, &ended, &notes),
        }
    }
    runtime.shutdown_timeout(THREADS_TIMEOUT);
    telemetry.stop();
    Ok(ended??)
}

/// Prints what was saved as one line of JSON. It goes to standard error, because standard output is the agent's alone.
fn tell_as_json(savings: &Savings, agent: Agent, ended: &anyhow::Result<Result<(), AgentEnded>>, notes: &[String]) {
    let mut summary = json!({"agent": agent.program()});
    // No code means that the agent could not be run to its end. That error is reported by itself.
    summary["exit_code"] = match ended {
        Ok(Ok(())) => json!(0),
        Ok(Err(ended)) => json!(ended.code),
        Err(_) => Value::Null,
    };
    if let (Value::Object(summary), Value::Object(saved)) = (&mut summary, savings.as_json()) {
        summary.extend(saved);
    }
    summary["notes"] = json!(notes);
    // If standard error cannot be written to, there is nowhere left to report that.
    let _ = writeln!(std::io::stderr().lock(), "{summary}");
}

/// Adapts limits, log level and upstreams to the agent. Returns a note for the user on each upstream.
fn adapt_settings(invocation: &mut Invocation, found: &FoundAgent) -> anyhow::Result<Vec<String>> {
    follow_window(&mut invocation.in_force, found.model.as_deref());
    let origin_of = |invocation: &Invocation, key: &str| {
        let entry = invocation.in_force.entries.iter().find(|entry| entry.key == key);
        entry.map_or(Origin::Default, |entry| entry.origin.clone())
    };
    // Log lines would be written across the agent's screen.
    if invocation.globals.verbose == 0 && origin_of(invocation, "telemetry.log_level") == Origin::Default {
        invocation.in_force.settings.telemetry.log_level = LogLevel::Off;
    }
    let mut notes = Vec::new();
    for own in &found.own {
        let origin = origin_of(invocation, own.api.key());
        notes.push(OwnAddress::take_over(own, &mut invocation.in_force.settings, &origin));
    }
    notes.dedup();
    Ok(notes)
}
