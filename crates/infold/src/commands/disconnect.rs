//! `infold disconnect`: puts an agent's settings files back as they were before `infold connect`.

use super::{Invocation, connect as command, rescue};
use crate::connect;
use crate::data_folder;
use crate::failure::{self, Refused};
use crate::help;
use crate::output::Form;
use crate::run::Agent;
use crate::service;

/// Arguments of `disconnect`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Files that have not changed since `infold connect` are restored byte for byte; from other files only infold's \
         values are removed.",
        "A session that ran through infold contains reasoning that its provider may refuse without infold. --clean \
         writes a copy of the session without reasoning, to resume instead.",
    ],
    &[
        ("infold disconnect claude", ""),
        ("infold disconnect claude --clean 5b2438e4-96a7-43f7-b051-10a055bb0fbe", ""),
        ("infold disconnect --clean session.jsonl", "only write the copy"),
    ],
))]
pub struct DisconnectArgs {
    /// The agent
    #[arg(required_unless_present = "clean")]
    agent: Option<Agent>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Also write a copy of this transcript or session without reasoning
    #[arg(long, value_name = "FILE|SESSION")]
    clean: Option<String>,
}

/// Disconnects the agent if one is named, and writes the copy of a session if `--clean` names one.
pub fn run(args: &DisconnectArgs, invocation: &Invocation) -> anyhow::Result<()> {
    if let Some(agent) = args.agent {
        disconnect(agent, args, invocation)?;
    }
    match &args.clean {
        Some(_) if args.dry_run => Err(Refused::new("--clean and --dry-run cannot be combined")
            .hint("`infold rescue --force --dry-run FILE` shows what would be written")
            .into()),
        Some(source) => rescue::run(&rescue::RescueArgs::without_reasoning(source), invocation),
        None => Ok(()),
    }
}

fn disconnect(agent: Agent, args: &DisconnectArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let data = data_folder::location(&invocation.in_force)?;
    let plan = connect::disconnect(agent, &data)?;
    if args.dry_run {
        return command::show(&plan, agent, invocation);
    }
    plan.carry_out(&invocation.data_folder()?)?;
    command::tell(&plan, agent, invocation)?;
    // Once the last agent is disconnected, nobody needs the service any more.
    if connect::connected(&data).is_empty()
        && let Some(removed) = service::remove(&invocation.surroundings)?
        && !invocation.globals.quiet
    {
        failure::tell("service", format!("removed {removed}: no agent is connected any more"));
    }
    if args.clean.is_none() && invocation.output.form == Form::Text && !invocation.globals.quiet {
        failure::tell(
            "hint",
            format!(
                "if the provider refuses a session of {} that ran through infold, write a copy without reasoning with \
                 `infold disconnect --clean SESSION`, and resume that",
                agent.name()
            ),
        );
    }
    Ok(())
}
