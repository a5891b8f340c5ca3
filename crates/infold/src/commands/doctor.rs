//! `infold doctor`.

use crate::output::Output;
use crate::settings::{FlagValues, Surroundings};

/// Runs it.
pub fn run(surroundings: &Surroundings, flags: FlagValues, output: &Output) -> anyhow::Result<()> {
    let _ = (surroundings, flags, output);
    anyhow::bail!("not wired")
}
