//! `infold disconnect`: an agent as it was before `infold connect`.

use super::{Invocation, connect, rescue};
use crate::connecting;
use crate::data_folder;
use crate::failure::{self, Refused};
use crate::help;
use crate::output::Form;
use crate::running::Agent;
use crate::service;

/// Arguments of `disconnect`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Files that nobody has touched since are restored byte for byte; from others only infold's values are taken. A \
         session that was begun through infold holds reasoning that was made on what infold sent, and its provider may \
         refuse it now: write such a session anew without it, and resume that one.",
    ],
    &[
        ("infold disconnect claude", ""),
        ("infold disconnect claude --clean 5b2438e4-96a7-43f7-b051-10a055bb0fbe", ""),
        ("infold disconnect --clean session.jsonl", "only write a session without its reasoning"),
    ],
))]
pub struct Args {
    /// The agent
    #[arg(required_unless_present = "clean")]
    agent: Option<Agent>,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Also write this recording, or session, anew without its reasoning
    #[arg(long, value_name = "FILE|SESSION")]
    clean: Option<String>,
}

/// Disconnects an agent.
pub fn run(args: &Args, invocation: &Invocation) -> anyhow::Result<()> {
    if let Some(agent) = args.agent {
        disconnect(agent, args, invocation)?;
    }
    match &args.clean {
        Some(_) if args.dry_run => Err(Refused::new("--clean cannot be tried without doing it")
            .hint("use `infold rescue --force --dry-run` to see what would be written")
            .into()),
        Some(source) => rescue::run(&rescue::Args::without_reasoning(source), invocation),
        None => Ok(()),
    }
}

fn disconnect(agent: Agent, args: &Args, invocation: &Invocation) -> anyhow::Result<()> {
    let data = data_folder::location(&invocation.in_force)?;
    let plan = connecting::disconnect(agent, &data)?;
    if args.dry_run {
        return connect::show(&plan, agent, invocation);
    }
    plan.carry_out(&invocation.data_folder()?)?;
    connect::tell(&plan, agent, invocation)?;
    // The last one to go needs no daemon any more.
    if connecting::connected(&data).is_empty()
        && let Some(removed) = service::remove(&invocation.surroundings)?
        && !invocation.globals.quiet
    {
        failure::tell("service", format!("{removed} removed: no agent is connected any more"));
    }
    if args.clean.is_none() && invocation.output.form == Form::Text && !invocation.globals.quiet {
        failure::tell(
            "hint",
            format!(
                "a session of {} that was begun through infold holds reasoning made on what infold sent; if its \
                 provider refuses it, write it anew with `infold disconnect --clean SESSION` and resume that",
                agent.name()
            ),
        );
    }
    Ok(())
}
