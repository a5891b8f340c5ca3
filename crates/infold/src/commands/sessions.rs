//! `infold sessions`: what there is, the latest first.

use super::Invocation;

/// Arguments of `sessions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  infold sessions
  infold sessions --limit 5
  infold sessions --json | jq '.sessions[].session_id'")]
pub struct Args {
    /// How many to list at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
}

/// Prints the list.
pub fn run(args: &Args, invocation: &Invocation) -> anyhow::Result<()> {
    let _ = (args, invocation);
    anyhow::bail!("not wired")
}
