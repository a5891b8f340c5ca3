//! The official MCP conformance suite against the real program, in both revisions that it scores: directly, and with the
//! fixtures behind another infold as their gateway.
//!
//! The suite calls tools, prompts and resources of its own. The program that the tests build serves them at a path of
//! its own (feature `conformance`); the one that people build has none of it. There is no list of expected failures:
//! all required scenarios pass.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use infold_testkit::{Daemon, DaemonSetup, TempFolder};

use crate::IfAbsent;
use xtask::report::{Report, Totals};
use xtask::tools::{Node, Tools};
use xtask::workspace::{Workspace, run_seeing_lines};

/// The revisions whose required scenarios must pass.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Where the program that the tests build serves the suite's fixtures.
const FIXTURES: &str = "/mcp/conformance";

/// The suite's program, below the folder of npm packages.
const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";

/// Installs the suite, runs it, and fails unless every required scenario passes.
pub fn run(workspace: &Workspace, program: &Path, absent: IfAbsent) -> Result<ExitCode> {
    let mut report = Report::default();
    match Tools::install(workspace).node {
        Err(error) if absent == IfAbsent::Skip => report.skip("conformance", &format!("{error:#}")),
        node => report.stage("conformance", || check(workspace, &node?, program)),
    }
    Ok(report.finish())
}

/// Runs the suite in both revisions.
fn check(workspace: &Workspace, node: &Node, program: &Path) -> Result<Totals> {
    let runtime = tokio::runtime::Runtime::new()?;
    let daemon = runtime.block_on(DaemonSetup::new(program).start())?;
    let fixtures = format!("{}{FIXTURES}", daemon.base_url());

    // Questions in the middle of a call are the older era's, and a program on standard streams speaks that one first.
    let folder = TempFolder::new()?;
    let data = folder.join("fixtures");
    let child = format!(
        "{{ name = \"up\", prefix = \"\", command = {program:?}, args = [\"fixtures\", \"--data\", {data:?}] }}"
    );
    let remote = format!("{{ name = \"up\", prefix = \"\", url = \"{fixtures}\" }}");
    let older = runtime.block_on(gateway(program, &child).start())?;
    let newer = runtime.block_on(gateway(program, &remote).start())?;

    let mut totals = Totals::default();
    let runs = [
        (REVISIONS[0], "directly", &daemon, FIXTURES),
        (REVISIONS[1], "directly", &daemon, FIXTURES),
        (REVISIONS[0], "through the gateway", &older, "/mcp"),
        (REVISIONS[1], "through the gateway", &newer, "/mcp"),
    ];
    for (revision, way, daemon, path) in runs {
        let found = run_suite(workspace, node, (daemon, path), revision)?;
        let Totals { passed, failed, .. } = found;
        println!("required by {revision}, {way}: {passed} checks passed, {failed} failed");
        totals.add(found);
        if failed > 0 {
            println!("the daemon said:\n{}", daemon.stderr());
        }
    }
    Ok(totals)
}

/// A daemon in front of one server, whose tools are all listed.
fn gateway(program: &Path, server: &str) -> DaemonSetup {
    DaemonSetup::new(program)
        .set("gateway.servers", format!("[{server}]"))
        .set("gateway.list_wait_ms", 20_000)
        .set("gateway.deferral_percent", 100)
        .set("gateway.deferral_tokens", 1_000_000)
}

/// Runs the suite once. Its exit code also counts scenarios that no revision requires, so the
/// outcome is read from its summary.
fn run_suite(workspace: &Workspace, node: &Node, (daemon, path): (&Daemon, &str), revision: &str) -> Result<Totals> {
    let output = TempFolder::new()?;
    let mut command = workspace.command(&node.program);
    command
        .arg(node.modules.join(SUITE))
        .args(["server", "--url", &format!("{}{path}", daemon.base_url())])
        .args(["--requirements", revision, "--output-dir"])
        .arg(output.path())
        .env("HOME", daemon.home());
    let mut summary = Summary::default();
    run_seeing_lines(&mut command, |line| summary.see(line))?;

    let mut totals = summary.required();
    if totals.passed == 0 && totals.failed == 0 {
        println!("the suite ended without a summary");
        totals = Totals::one_failed();
    }
    if totals.failed > 0 {
        save_records(output.path(), &workspace.target().join("conformance").join(revision));
    }
    Ok(totals)
}

/// Copies what the suite recorded to where a person can look for the cause of a failure.
fn save_records(from: &Path, to: &Path) {
    let saved = std::fs::create_dir_all(to).and_then(|()| copy_folder(from, to));
    match saved {
        Ok(()) => println!("the suite's records are in {}", to.display()),
        Err(error) => println!("the suite's records could not be kept: {error}"),
    }
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            std::fs::create_dir_all(&target)?;
            copy_folder(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// What the suite says at its end: each scenario's checks, and which scenarios are not scored because
/// the revision does not require them.
#[derive(Debug, Default)]
struct Summary {
    scenarios: Vec<(String, Totals)>,
    not_scored: Vec<String>,
    in_not_scored: bool,
}

impl Summary {
    fn see(&mut self, line: &str) {
        self.in_not_scored |= line.starts_with("Not scored for ");
        let Some(line) = line.trim_start().strip_prefix(['✓', '✗']) else { return };
        if self.in_not_scored {
            self.not_scored.extend(line.split_whitespace().next().map(str::to_owned));
        } else if let Some((name, counts)) = line.trim().split_once(": ") {
            self.scenarios.push((name.to_owned(), checks(counts)));
        }
    }

    /// The checks of those scenarios that the revision requires.
    fn required(&self) -> Totals {
        let mut totals = Totals::default();
        let scored = self.scenarios.iter().filter(|(name, _)| !self.not_scored.contains(name));
        scored.for_each(|(_, found)| totals.add(*found));
        totals
    }
}

/// Reads `3 passed, 0 failed`.
fn checks(counts: &str) -> Totals {
    let mut totals = Totals::default();
    for part in counts.split(',') {
        match part.trim().split_once(' ') {
            Some((count, "passed")) => totals.passed = count.parse().unwrap_or(0),
            Some((count, label)) if label.starts_with("failed") => totals.failed = count.parse().unwrap_or(1),
            _ => {}
        }
    }
    totals
}

#[cfg(test)]
mod tests;
