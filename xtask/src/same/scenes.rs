//! placeholder

use super::compare::{Group, Pair};
use super::program::Program;
use anyhow::Result;
pub async fn compare(_: &Pair<Program>, _: &mut Group) -> Result<()> {
    Ok(())
}
