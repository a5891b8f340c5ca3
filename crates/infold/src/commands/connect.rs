//! `infold connect`: an agent wired through a running daemon, for good.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context;
use serde_json::json;

use super::Invocation;
use crate::connecting::{self, Plan};
use crate::data_folder;
use crate::failure::{self, Refused};
use crate::help;
use crate::output::Form;
use crate::running::Agent;
use crate::service::{self, Installed, ServedDaemon};

/// Arguments of `connect`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Changes a few values in the agent's own settings: where its model is, and infold's tools; for Claude Code also \
         a hook that refuses to write placeholders of secrets. Everything else in the files keeps its bytes. `infold \
         disconnect` takes it back.",
        "From then on the agent needs a daemon. Where the system has systemd or launchd for a user's own services, one is \
         installed: under systemd the first request starts the daemon. Elsewhere start `infold serve --agents` yourself.",
    ],
    &[("infold connect claude", ""), ("infold connect codex --dry-run", "only show what would change")],
))]
pub struct Args {
    /// The agent
    agent: Agent,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Install no service that starts the daemon
    #[arg(long)]
    no_service: bool,
}

/// Connects an agent.
pub fn run(args: &Args, invocation: &Invocation) -> anyhow::Result<()> {
    let daemon_url = daemon_url(&invocation.in_force.settings.server.listen)?;
    let data = data_folder::location(&invocation.in_force)?;
    let plan = connecting::connect(args.agent, &daemon_url, invocation, &data)?;
    if args.dry_run {
        return show(&plan, args.agent, invocation);
    }

    let changes = plan.steps.iter().any(connecting::Step::changes);
    if changes {
        plan.carry_out(&invocation.data_folder()?)?;
    }
    let daemon = ServedDaemon::of(invocation)?;
    let service = match args.no_service {
        true => Installed::No("no service was wanted".to_owned()),
        false => service::install(&daemon, &invocation.surroundings)?,
    };
    tell(&plan, args.agent, invocation)?;
    if !invocation.globals.quiet {
        let name = args.agent.name();
        match service {
            Installed::Yes(what) => failure::tell("service", what),
            Installed::No(why) => failure::tell(
                "hint",
                format!(
                    "{name} now needs a daemon at {daemon_url}, and nothing starts it ({why}): run `{}`",
                    daemon.by_hand()
                ),
            ),
        }
    }
    Ok(())
}

/// Where agents of this machine find the daemon that these settings are for.
fn daemon_url(listen: &str) -> anyhow::Result<String> {
    let mut address: SocketAddr = listen.parse().context("server.listen")?;
    if address.port() == 0 {
        return Err(Refused::new("server.listen takes any free port, so no agent could find the daemon")
            .hint("give it a port, such as 127.0.0.1:9090")
            .into());
    }
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    Ok(format!("http://{address}"))
}

/// Prints what would change.
pub fn show(plan: &Plan, agent: Agent, invocation: &Invocation) -> anyhow::Result<()> {
    match invocation.output.form {
        Form::Text => Ok(invocation.output.text(&plan.steps.iter().map(connecting::Step::diff).collect::<String>())?),
        Form::Json => tell(plan, agent, invocation),
    }
}

/// Prints which files were changed.
pub fn tell(plan: &Plan, agent: Agent, invocation: &Invocation) -> anyhow::Result<()> {
    let became = |step: &connecting::Step| match (&step.before, &step.after) {
        _ if !step.changes() => "unchanged",
        (None, _) => "written",
        (_, None) => "removed",
        (Some(_), Some(_)) => "changed",
    };
    match invocation.output.form {
        Form::Json => {
            let files: Vec<_> = plan
                .steps
                .iter()
                .map(|step| json!({"path": step.path, "became": became(step), "diff": step.diff()}))
                .collect();
            invocation.output.json(&json!({"agent": agent.program(), "files": files}))
        }
        Form::Text => {
            let lines = plan.steps.iter().map(|step| format!("{}: {}\n", step.path.display(), became(step)));
            Ok(invocation.output.text(&lines.collect::<String>())?)
        }
    }
}
