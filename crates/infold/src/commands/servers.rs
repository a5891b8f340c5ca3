//! `infold servers`: other MCP servers, seen from infold. `check` starts or reaches one, lists what it has, and says what
//! is wrong.

mod check;
mod variables;

use super::Invocation;

/// Arguments of `servers`.
#[derive(Debug, clap::Args)]
pub struct ServersArgs {
    #[command(subcommand)]
    action: ServersAction,
}

#[derive(Debug, clap::Subcommand)]
enum ServersAction {
    /// Start or reach a server, list what it has, and say what is wrong
    Check(check::CheckArgs),
}

/// Does what was asked.
pub fn run(args: ServersArgs, invocation: &Invocation) -> anyhow::Result<()> {
    match args.action {
        ServersAction::Check(args) => check::run(args, invocation),
    }
}
