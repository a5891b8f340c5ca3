//! The checks with real coding agents, as one stage of the test command.

use anyhow::{Context, Result};
use infold_testkit::DaemonSetup;

use super::agents::Agents;
use super::{recipe, rescue};
use crate::report::{Report, Totals};
use crate::workspace::{Profile, Workspace, in_ci};

/// Runs the checks, or says why they are left out. In CI nothing is left out.
pub fn stage(workspace: &Workspace, report: &mut Report) {
    match Agents::install(workspace) {
        Ok(agents) => report.stage("agents", || check(workspace, &agents)),
        Err(error) if in_ci() => report.stage("agents", || Err(error)),
        Err(error) => report.skip("agents", &format!("{error:#}")),
    }
}

fn check(workspace: &Workspace, agents: &Agents) -> Result<Totals> {
    let binary = workspace.build_program(Profile::Debug)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let mut totals = Totals::default();
    totals.add(told("a rescued Claude Code session goes on", runtime.block_on(rescue::claude(agents, &binary))));
    totals.add(told("a rescued Codex session goes on", runtime.block_on(rescue::codex(agents, &binary))));
    let forked = runtime.block_on(async {
        let daemon = DaemonSetup::new(&binary).start().await?;
        let outcome = recipe::check(agents, workspace, daemon.base_url()).await;
        outcome.with_context(|| format!("the daemon said:\n{}", daemon.stderr()))
    });
    totals.add(told("an OpenCode session forks through infold", forked));
    Ok(totals)
}

/// Prints what became of a check, and counts it.
fn told(name: &str, outcome: Result<()>) -> Totals {
    match outcome {
        Ok(()) => {
            println!("ok {name}");
            Totals::one_passed()
        }
        Err(error) => {
            println!("not ok {name}: {error:#}");
            Totals::one_failed()
        }
    }
}
