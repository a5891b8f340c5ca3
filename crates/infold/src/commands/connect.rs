//! `infold connect`: changes an agent's settings files so that it always goes through the daemon.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context;
use serde_json::json;

use super::Invocation;
use crate::connect::{self, Plan, PlannedFile};
use crate::data_folder;
use crate::failure::{self, Refused};
use crate::help;
use crate::output::Form;
use crate::probe::{Listener, probe};
use crate::run::Agent;
use crate::service::{self, Installed, ServedDaemon};

/// Arguments of `connect`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Changes a few values in the agent's settings files: the address of its model and infold's tools; for Claude \
         Code also a hook that blocks writing a placeholder over a secret. Nothing else in the files changes. \
         `infold disconnect` undoes it.",
        "From then on the agent needs the daemon. With systemd or launchd, a user service is installed (under systemd \
         the first request starts the daemon). Otherwise run `infold serve --agents` yourself. If another program holds \
         the daemon's port, nothing is changed: it would get the agent's requests.",
    ],
    &[("infold connect claude", ""), ("infold connect codex --dry-run", "show what would change")],
))]
pub struct ConnectArgs {
    /// The agent
    agent: Agent,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not install a service that starts the daemon
    #[arg(long)]
    no_service: bool,
}

/// Plans the changes, makes them unless this is a dry run, and installs a service that starts the daemon.
pub fn run(args: &ConnectArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let address = daemon_address(&invocation.in_force.settings.server.listen)?;
    check_listener(address, args.agent)?;
    let daemon_url = format!("http://{address}");
    let data = data_folder::location(&invocation.in_force)?;
    let plan = connect::connect(args.agent, &daemon_url, invocation, &data)?;
    if args.dry_run {
        return show(&plan, args.agent, invocation);
    }

    let changes = plan.steps.iter().any(PlannedFile::changes);
    if changes {
        plan.carry_out(&invocation.data_folder()?)?;
    }
    let daemon = ServedDaemon::of(invocation)?;
    let service = match args.no_service {
        true => Installed::No("--no-service".to_owned()),
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
                    "{name} now needs the daemon at {daemon_url}, and no service starts it ({why}): run `{}`",
                    daemon.by_hand()
                ),
            ),
        }
    }
    Ok(())
}

/// The address at which agents on this machine reach the daemon that listens on `listen`.
fn daemon_address(listen: &str) -> anyhow::Result<SocketAddr> {
    let mut address: SocketAddr = listen.parse().context("server.listen")?;
    if address.port() == 0 {
        return Err(Refused::new("server.listen has port 0, so the agent could not find the daemon")
            .hint("set a fixed port, such as 127.0.0.1:9090")
            .into());
    }
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    Ok(address)
}

/// Refuses an address that another program holds: it would get the agent's requests, and the key in them.
fn check_listener(address: SocketAddr, agent: Agent) -> Result<(), Refused> {
    let who = match probe(address) {
        Listener::Nobody | Listener::Ours { .. } => return Ok(()),
        Listener::Unproven => "a program that calls itself infold, but is not yours,",
        Listener::Other => "another program",
    };
    let name = agent.name();
    Err(Refused::new(format!("{who} listens on {address} and would get {name}'s requests; nothing was changed")).hint(
        format!(
            "stop it, or choose another port: `infold connect {} --set server.listen={}`; `ss -ltnp 'sport = :{}'` \
             shows which program it is",
            agent.program(),
            SocketAddr::new(address.ip(), address.port().wrapping_add(1).max(1024)),
            address.port()
        ),
    ))
}

/// Prints what would change: a diff of each file, or the plan as JSON.
pub fn show(plan: &Plan, agent: Agent, invocation: &Invocation) -> anyhow::Result<()> {
    match invocation.output.form {
        Form::Text => Ok(invocation.output.text(&plan.steps.iter().map(PlannedFile::diff).collect::<String>())?),
        Form::Json => tell(plan, agent, invocation),
    }
}

/// Prints each file of the plan, and whether it was changed.
pub fn tell(plan: &Plan, agent: Agent, invocation: &Invocation) -> anyhow::Result<()> {
    let status = |step: &PlannedFile| match (&step.before, &step.after) {
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
                .map(|step| json!({"path": step.path, "status": status(step), "diff": step.diff()}))
                .collect();
            invocation.output.json(&json!({"agent": agent.program(), "files": files}))
        }
        Form::Text => {
            let lines = plan.steps.iter().map(|step| format!("{}: {}\n", step.path.display(), status(step)));
            Ok(invocation.output.text(&lines.collect::<String>())?)
        }
    }
}
