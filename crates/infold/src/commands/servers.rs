//! `infold servers`: other MCP servers, seen from infold. Without more it lists those of the settings; `check` starts or
//! reaches one, lists what it has, and says what is wrong; `import` takes those of an agent.

mod check;
mod import;
mod list;
mod report;

use super::Invocation;
use crate::help;

/// Arguments of `servers`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &["Without a command, this lists the servers of your settings. Values that may be secret are never shown."],
    &[
        ("infold servers", "list the servers of your settings"),
        ("infold servers import claude", "add those of Claude Code to your settings"),
        ("infold servers check github", "start one, and say what is wrong with it"),
    ],
))]
pub struct ServersArgs {
    #[command(subcommand)]
    action: Option<ServersAction>,
}

#[derive(Debug, clap::Subcommand)]
enum ServersAction {
    /// Start or reach a server, list what it has, and say what is wrong
    Check(check::CheckArgs),
    /// Add the servers of an agent to your settings
    Import(import::ImportArgs),
}

/// Does what was asked.
pub fn run(args: ServersArgs, invocation: &Invocation) -> anyhow::Result<()> {
    match args.action {
        None => list::run(invocation),
        Some(ServersAction::Check(args)) => check::run(args, invocation),
        Some(ServersAction::Import(args)) => import::run(&args, invocation),
    }
}
