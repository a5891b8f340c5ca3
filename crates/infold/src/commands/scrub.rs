//! `infold scrub`.

use super::Invocation;

/// Runs it.
pub fn run(invocation: &Invocation) -> anyhow::Result<()> {
    let _ = invocation;
    anyhow::bail!("not wired")
}
