//! The checks with real coding agents, as one stage of the test command.

use std::path::Path;

use anyhow::{Context, Result};
use infold_testkit::DaemonSetup;
use tokio::runtime::Runtime;

use super::agents::{Agent, Agents};
use super::findings::RunFindings;
use super::run::{self, Listing};
use super::spoken::{self, WordsPlace};
use super::{attached, beside, connect, guarded, nudged, recipe, rescue, scripts, threads};
use crate::report::{Report, Totals};
use crate::tools::on_path;
use crate::workspace::{Profile, Workspace, in_ci};

/// The agents, and what people call them.
const NAMED: [(Agent, &str); 3] =
    [(Agent::Claude, "Claude Code"), (Agent::Codex, "Codex"), (Agent::Opencode, "OpenCode")];

/// Where Claude Code puts what is said while tools run, and how it is called here.
const WORDS: [(WordsPlace, &str); 2] =
    [(WordsPlace::Beside, "words beside results"), (WordsPlace::Inside, "words inside results")];

/// Runs the checks, or those whose names hold `only`, or says why they are left out. In CI nothing is left
/// out.
pub fn stage(workspace: &Workspace, only: &str, report: &mut Report) {
    match Agents::install(workspace) {
        Ok(agents) => report.stage("agents", || check(workspace, only, &agents)),
        Err(error) if in_ci() => report.stage("agents", || Err(error)),
        Err(error) => report.skip("agents", &format!("{error:#}")),
    }
}

fn check(workspace: &Workspace, only: &str, agents: &Agents) -> Result<Totals> {
    let binary = workspace.build_program(Profile::Debug)?;
    let mut checks = Checks::new(only)?;
    checks.run("a rescued Claude Code session goes on", rescue::claude(agents, &binary));
    checks.run("a rescued Codex session goes on", rescue::codex(agents, &binary));
    checks.run("an OpenCode session forks through infold", async {
        let daemon = DaemonSetup::new(&binary).start().await?;
        let outcome = recipe::check(agents, workspace, daemon.base_url()).await;
        outcome.with_context(|| format!("the daemon said:\n{}", daemon.stderr()))
    });
    through_infold(agents, &binary, &mut checks);
    by_themselves(agents, &binary, &mut checks);
    at_a_terminal(agents, &binary, &mut checks);
    Ok(checks.totals)
}

/// The agents wired by `infold run` and `infold connect`.
fn through_infold(agents: &Agents, binary: &Path, checks: &mut Checks<'_>) {
    let claude = |listing| run::claude(agents, binary, listing);
    checks.run("Claude Code folds ten files through infold run", claude(Listing::Loaded));
    checks.run("Claude Code folds ten files although it defers tools", claude(Listing::Deferred));
    let codex = |agent, listing| run::codex(agents, binary, agent, listing);
    checks.run("Codex folds ten files through infold run", codex(Agent::Codex, Listing::Loaded));
    checks.run("Codex folds ten files although it defers tools", codex(Agent::Codex, Listing::Deferred));
    checks.run("Codex folds ten files with its own model", codex(Agent::CodexScripts, Listing::Loaded));
    checks.run("Codex folds ten files from scripts", codex(Agent::CodexScripts, Listing::Deferred));
    checks.run("Codex opens and reads in one script", scripts::opens_and_reads(agents, binary));
    checks.run("Codex opens in a script that prints nothing", scripts::prints_nothing(agents, binary));
    checks.run("Codex opens and returns in one script", scripts::opens_and_returns(agents, binary));
    checks.run("Codex opens in a script that it waits for", scripts::waits(agents, binary));
    checks.run("OpenCode folds ten files through infold run", run::opencode(agents, binary));
    for (agent, name) in NAMED {
        let name = |what: &str| format!("{name} {what}");
        let connected = connect::check(agents, binary, agent);
        checks.run(&name("folds when it is connected, and is what it was afterwards"), connected);
        checks.run(&name("opens three branches in one message"), threads::at_once(agents, binary, agent));
        checks.run(&name("leaves a branch when the user speaks"), threads::left(agents, binary, agent));
        let refused = guarded::check(agents, binary, agent);
        checks.run(&name("is not let to overwrite a secret with its placeholder"), refused);
    }
    checks.run("a subagent of Claude Code folds a branch of its own", threads::in_a_subagent(agents, binary));
}

/// A person at the terminal of Claude Code. Outside CI it is left out where there is no tmux.
fn at_a_terminal(agents: &Agents, binary: &Path, checks: &mut Checks<'_>) {
    if !on_path("tmux") && !in_ci() {
        println!("skipped a person at a terminal: tmux is missing");
        checks.totals.skipped += 1;
        return;
    }
    for (kind, name) in WORDS {
        let spoken = spoken::claude(agents, binary, kind);
        checks.run_all(&format!("a person at the terminal of Claude Code, {name}"), spoken);
    }
}

/// What clients say by themselves while a branch works.
fn by_themselves(agents: &Agents, binary: &Path, checks: &mut Checks<'_>) {
    for (kind, name) in WORDS {
        checks.run_all(&format!("Claude Code by itself, {name}"), nudged::claude(agents, binary, kind));
    }
    checks.run_all("OpenCode by itself", attached::opencode(agents, binary));
    checks.run_all("Codex by itself", beside::codex(agents, binary));
}

/// Checks that were run.
pub struct Checks<'a> {
    runtime: Runtime,
    only: &'a str,
    /// What came of those that were run.
    pub totals: Totals,
}

impl<'a> Checks<'a> {
    /// None yet; those are wanted whose names hold `only`.
    pub fn new(only: &'a str) -> Result<Self> {
        Ok(Self { runtime: Runtime::new()?, only, totals: Totals::default() })
    }

    /// Runs a check if it is wanted, prints what became of it, and counts it.
    pub fn run(&mut self, name: &str, work: impl Future<Output = Result<()>>) {
        if !name.contains(self.only) {
            return;
        }
        let outcome = self.runtime.block_on(work);
        self.count(name, outcome);
    }

    /// Runs an agent once for several findings, each of which counts.
    fn run_all(&mut self, name: &str, work: impl Future<Output = Result<RunFindings>>) {
        if !name.contains(self.only) {
            return;
        }
        match self.runtime.block_on(work) {
            Ok(findings) => {
                for (finding, outcome) in findings.into_list() {
                    self.count(&format!("{name}: {finding}"), outcome);
                }
            }
            Err(error) => self.count(name, Err(error)),
        }
    }

    /// Prints what became of a check, and counts it.
    fn count(&mut self, name: &str, outcome: Result<()>) {
        match outcome {
            Ok(()) => {
                println!("ok {name}");
                self.totals.add(Totals::one_passed());
            }
            Err(error) => {
                println!("not ok {name}: {error:#}");
                self.totals.add(Totals::one_failed());
            }
        }
    }
}
