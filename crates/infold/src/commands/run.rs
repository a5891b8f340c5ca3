//! `infold run`: an agent wired through infold, with nothing written into the user's own files.

use std::ffi::OsString;
use std::time::Duration;

use super::Invocation;
use crate::failure;
use crate::parts;
use crate::running::{Agent, Daemon, Found, OwnAddress, Tools, Wires, follow_window, run_child, tell_savings};
use crate::settings::{LogLevel, Origin};
use crate::telemetry::Telemetry;

/// How long threads that are stuck in a blocking call may hold up the end.
const THREADS_TIMEOUT: Duration = Duration::from_secs(1);

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The agent is started as if by its own name, in this folder and terminal, with its model behind infold's
proxy and infold's tools beside its own. What you have configured for it stays in force. An address that
you had configured for its model (ANTHROPIC_BASE_URL, a provider of Codex or OpenCode) becomes the
upstream, unless the settings name one. Flags for infold stand in front of `run`.

Examples:
  infold run claude
  infold run claude -p 'Why does the build fail?' --model opus
  infold run codex exec 'Why does the build fail?'
  infold run opencode
  infold --set run.window_tokens=1000000 run claude")]
pub struct Args {
    /// claude, codex or opencode, and what it takes itself
    #[arg(value_name = "AGENT", required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Runs the agent to its end.
pub fn run(args: &Args, mut invocation: Invocation) -> anyhow::Result<()> {
    let Some((name, arguments)) = args.command.split_first() else { return Ok(()) };
    let agent = Agent::named(name)?;
    let program = agent.find(&invocation.surroundings)?;
    let found = agent.look(arguments, &invocation.surroundings)?;
    let told = settle_settings(&mut invocation, &found)?;
    if !invocation.globals.quiet {
        told.iter().chain(&found.notes).for_each(|line| failure::tell("infold", line));
    }

    // The agent's files are to have the modes that the user wants, whatever infold's own have.
    let umask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let telemetry = Telemetry::start(&invocation.logging(), &invocation.in_force.settings.telemetry.otlp_endpoint)?;
    let runtime = parts::serving_runtime(&invocation.in_force.settings)?;
    let registry = telemetry.registry.clone();
    let ended = runtime.block_on(async {
        let daemon = Daemon::start(&invocation, registry).await?;
        rustix::process::umask(umask);
        let wires = Wires {
            daemon_url: &daemon.url(),
            program: std::env::current_exe()?,
            surroundings: &invocation.surroundings,
            settings: &invocation.in_force.settings,
            tools: if invocation.in_force.settings.run.always_load { Tools::Loaded } else { Tools::AsOthers },
        };
        let start = agent.wire(arguments, &wires)?;
        let ended = run_child(&program, &start).await;
        daemon.stop().await?;
        ended
    });
    if !invocation.globals.quiet {
        tell_savings(&telemetry.registry, agent);
    }
    runtime.shutdown_timeout(THREADS_TIMEOUT);
    telemetry.stop();
    Ok(ended??)
}

/// Fits the settings to the agent. Says what the user should know of it.
fn settle_settings(invocation: &mut Invocation, found: &Found) -> anyhow::Result<Vec<String>> {
    follow_window(&mut invocation.in_force, found.model.as_deref())?;
    let origin_of = |invocation: &Invocation, key: &str| {
        let entry = invocation.in_force.entries.iter().find(|entry| entry.key == key);
        entry.map_or(Origin::Default, |entry| entry.origin.clone())
    };
    // Log lines would be written across the agent's screen.
    if invocation.globals.verbose == 0 && origin_of(invocation, "telemetry.log_level") == Origin::Default {
        invocation.in_force.settings.telemetry.log_level = LogLevel::Off;
    }
    let mut told = Vec::new();
    for own in &found.own {
        let origin = origin_of(invocation, own.api.key());
        told.push(OwnAddress::take_over(own, &mut invocation.in_force.settings, &origin));
    }
    told.dedup();
    Ok(told)
}
