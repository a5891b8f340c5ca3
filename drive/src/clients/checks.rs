//! The checks with real coding agents, as one stage of the test command.

use std::path::Path;

use anyhow::{Context, Result};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use infold_testkit::DaemonSetup;
use tokio::runtime::Runtime;

use super::agents::{Agents, RealAgent};
use super::behind::{self, Reach};
use super::findings::RunFindings;
use super::run::{self, Listing};
use super::spoken::{self, WordsPlace};
use super::{attached, beside, connect, guarded, lessons, nudged, recipe, rescue, scripts, threads};
use crate::IfAbsent;
use xtask::report::{Report, Totals};
use xtask::tools::on_path;
use xtask::workspace::{Workspace, in_ci};

/// The agents, with the names that checks are printed under.
const NAMED: [(RealAgent, &str); 3] =
    [(RealAgent::Claude, "Claude Code"), (RealAgent::Codex, "Codex"), (RealAgent::Opencode, "OpenCode")];

/// How long a server says nothing, where that is what is checked.
const SILENCE_SECONDS: u32 = 180;

/// Checks that run at once.
const AT_ONCE: usize = 2;

/// The two places where Claude Code puts what is said while tools run, with the names that checks are printed under.
const WORDS: [(WordsPlace, &str); 2] =
    [(WordsPlace::Beside, "words beside results"), (WordsPlace::Inside, "words inside results")];

/// Which checks are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentTier {
    /// Those of the test command.
    Usual,
    /// Those in which a server says nothing for minutes.
    Silent,
}

/// Runs the checks whose names hold `only`, or reports why they are left out. In CI nothing is left out.
pub fn stage(
    workspace: &Workspace,
    (tier, only): (AgentTier, &str),
    (binary, absent): (&Path, IfAbsent),
    report: &mut Report,
) {
    match Agents::install(workspace) {
        Ok(agents) => report.stage("agents", || match tier {
            AgentTier::Usual => check(workspace, only, &agents, binary),
            AgentTier::Silent => in_silence(only, &agents, binary),
        }),
        Err(error) if absent == IfAbsent::Skip => report.skip("agents", &format!("{error:#}")),
        Err(error) => report.stage("agents", || Err(error)),
    }
}

fn check(workspace: &Workspace, only: &str, agents: &Agents, binary: &Path) -> Result<Totals> {
    let mut checks = Checks::wanted(only);
    checks.add("a rescued Claude Code session goes on", rescue::claude(agents, binary));
    checks.add("a rescued Codex session goes on", rescue::codex(agents, binary));
    checks.add("an OpenCode session forks through infold", async {
        let daemon = DaemonSetup::new(binary).start().await?;
        let outcome = recipe::check(agents, workspace, daemon.base_url()).await;
        outcome.with_context(|| format!("the daemon said:\n{}", daemon.stderr()))
    });
    through_infold(agents, binary, &mut checks);
    by_themselves(agents, binary, &mut checks);
    at_a_terminal(agents, binary, &mut checks);
    checks.run()
}

fn in_silence(only: &str, agents: &Agents, binary: &Path) -> Result<Totals> {
    let mut checks = Checks::wanted(only);
    for (agent, name) in NAMED {
        for (reach, way) in [(Reach::Direct, "by its name"), (Reach::Deferred, "through infold's tools")] {
            let waited = behind::check(agents, binary, agent, (reach, SILENCE_SECONDS));
            checks.add(&format!("{name} waits {SILENCE_SECONDS} silent seconds for a call {way}"), waited);
        }
    }
    checks.run()
}

/// Adds the checks of agents that are wired by `infold run` and `infold connect`.
fn through_infold<'a>(agents: &'a Agents, binary: &'a Path, checks: &mut Checks<'a>) {
    let claude = |listing| run::claude(agents, binary, listing);
    checks.add("Claude Code folds ten files through infold run", claude(Listing::Loaded));
    checks.add("Claude Code folds ten files although it defers tools", claude(Listing::Deferred));
    let codex = |agent, listing| run::codex(agents, binary, agent, listing);
    checks.add("Codex folds ten files through infold run", codex(RealAgent::Codex, Listing::Loaded));
    checks.add("Codex folds ten files although it defers tools", codex(RealAgent::Codex, Listing::Deferred));
    checks.add("Codex folds ten files with its own model", codex(RealAgent::CodexScripts, Listing::Loaded));
    checks.add("Codex folds ten files from scripts", codex(RealAgent::CodexScripts, Listing::Deferred));
    checks.add("Codex opens and reads in one script", scripts::opens_and_reads(agents, binary));
    checks.add("Codex opens in a script that prints nothing", scripts::prints_nothing(agents, binary));
    checks.add("Codex opens and returns in one script", scripts::opens_and_returns(agents, binary));
    checks.add("Codex opens in a script that it waits for", scripts::waits(agents, binary));
    checks.add("OpenCode folds ten files through infold run", run::opencode(agents, binary));
    for (agent, name) in NAMED {
        let name = |what: &str| format!("{name} {what}");
        let connected = connect::check(agents, binary, agent);
        checks.add(&name("folds when it is connected, and is what it was afterwards"), connected);
        checks.add(&name("opens three branches in one message"), threads::at_once(agents, binary, agent));
        checks.add(&name("leaves a branch when the user speaks"), threads::left(agents, binary, agent));
        checks.add_all(&name("learns in one session for another"), lessons::check(agents, binary, agent));
        let refused = guarded::check(agents, binary, agent);
        let used = |reach| behind::check(agents, binary, agent, (reach, 0));
        checks.add(&name("uses its own server through the gateway"), used(Reach::Direct));
        checks.add(&name("finds its own server's tools through the gateway"), used(Reach::Deferred));
        checks.add(&name("is not let to overwrite a secret with its placeholder"), refused);
    }
    checks.add("a subagent of Claude Code folds a branch of its own", threads::in_a_subagent(agents, binary));
}

/// Adds the checks with a person at the terminal of Claude Code. Outside CI they are left out where there is no tmux.
fn at_a_terminal<'a>(agents: &'a Agents, binary: &'a Path, checks: &mut Checks<'a>) {
    if !on_path("tmux") && !in_ci() {
        println!("skipped a person at a terminal: tmux is missing");
        checks.totals.skipped += 1;
        return;
    }
    for (kind, name) in WORDS {
        let spoken = spoken::claude(agents, binary, kind);
        checks.add_all(&format!("a person at the terminal of Claude Code, {name}"), spoken);
    }
}

/// Adds the checks of what clients say by themselves while a branch works.
fn by_themselves<'a>(agents: &'a Agents, binary: &'a Path, checks: &mut Checks<'a>) {
    for (kind, name) in WORDS {
        checks.add_all(&format!("Claude Code by itself, {name}"), nudged::claude(agents, binary, kind));
    }
    checks.add_all("OpenCode by itself", attached::opencode(agents, binary));
    checks.add_all("Codex by itself", beside::codex(agents, binary));
}

/// Checks that are to be run, a few at once: an agent waits for its model most of the time.
pub struct Checks<'a> {
    only: &'a str,
    planned: Vec<(String, BoxFuture<'a, Result<Option<RunFindings>>>)>,
    totals: Totals,
}

impl<'a> Checks<'a> {
    /// An empty list that takes only checks whose names hold `only`.
    pub fn wanted(only: &'a str) -> Self {
        Self { only, planned: Vec::new(), totals: Totals::default() }
    }

    /// Adds a check, unless its name lacks the wanted text.
    pub fn add(&mut self, name: &str, work: impl Future<Output = Result<()>> + Send + 'a) {
        self.plan(name, async { work.await.map(|()| None) });
    }

    /// Adds a check that runs an agent once for several findings, each of which counts.
    fn add_all(&mut self, name: &str, work: impl Future<Output = Result<RunFindings>> + Send + 'a) {
        self.plan(name, async { work.await.map(Some) });
    }

    fn plan(&mut self, name: &str, work: impl Future<Output = Result<Option<RunFindings>>> + Send + 'a) {
        if name.contains(self.only) {
            self.planned.push((name.to_owned(), work.boxed()));
        }
    }

    /// Runs the checks, prints what became of each, and counts them.
    pub fn run(mut self) -> Result<Totals> {
        let running = std::mem::take(&mut self.planned).into_iter().map(|(name, work)| async { (name, work.await) });
        let mut running = stream::iter(running).buffer_unordered(AT_ONCE);
        Runtime::new()?.block_on(async {
            while let Some((name, outcome)) = running.next().await {
                match outcome {
                    Ok(None) => self.count(&name, Ok(())),
                    Ok(Some(findings)) => {
                        for (finding, outcome) in findings.into_list() {
                            self.count(&format!("{name}: {finding}"), outcome);
                        }
                    }
                    Err(error) => self.count(&name, Err(error)),
                }
            }
        });
        Ok(self.totals)
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
