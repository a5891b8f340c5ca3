//! `infold show`: one session's branches, drawn as a tree.

use super::Invocation;

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  infold show my-session
  infold show my-session --json | jq '.branches[].status'
  watch -c infold show my-session --color always")]
pub struct Args {
    /// The session, as `infold sessions` names it
    #[arg(value_name = "SESSION")]
    pub session: String,
}

/// Draws the session.
pub fn run(args: &Args, invocation: &Invocation) -> anyhow::Result<()> {
    let _ = (args, invocation);
    anyhow::bail!("not wired")
}
