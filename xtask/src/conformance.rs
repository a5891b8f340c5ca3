//! The official MCP conformance suite against the real program, in both revisions that it scores.
//!
//! The suite calls tools, prompts and resources of its own, which the program serves behind the
//! setting `testing.fixtures`. There is no list of expected failures: all required scenarios pass.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use infold_testkit::{Daemon, DaemonSetup, TempFolder};

use crate::report::{Report, Totals};
use crate::tools::{Node, Tools};
use crate::workspace::{Profile, Workspace, run_seeing_lines};

/// The revisions whose required scenarios must pass.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// The suite's program, below the folder of npm packages.
const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";

/// Installs the suite, runs it, and fails unless every required scenario passes.
pub fn run(workspace: &Workspace) -> Result<ExitCode> {
    let tools = Tools::install(workspace);
    let mut report = Report::default();
    report.stage("conformance", || check(workspace, &tools));
    Ok(report.finish())
}

/// Runs the suite in both revisions.
pub fn check(workspace: &Workspace, tools: &Tools) -> Result<Totals> {
    let node = tools.node.as_ref().map_err(|error| anyhow!("{error:#}"))?;
    let binary = workspace.build_program(Profile::Debug)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let daemon = runtime.block_on(DaemonSetup::new(&binary).set("testing.fixtures", true).start())?;

    let mut totals = Totals::default();
    for revision in REVISIONS {
        let found = run_suite(workspace, node, &daemon, revision)?;
        let Totals { passed, failed, .. } = found;
        println!("required by {revision}: {passed} checks passed, {failed} failed");
        totals.add(found);
    }
    if totals.failed > 0 {
        println!("the daemon said:\n{}", daemon.stderr());
    }
    Ok(totals)
}

fn run_suite(workspace: &Workspace, node: &Node, daemon: &Daemon, revision: &str) -> Result<Totals> {
    let output = TempFolder::new()?;
    let mut command = workspace.command(&node.program);
    command
        .arg(node.modules.join(SUITE))
        .args(["server", "--url", &format!("{}/mcp", daemon.base_url())])
        .args(["--requirements", revision, "--output-dir"])
        .arg(output.path())
        .env("HOME", daemon.home());
    let mut totals = Totals::default();
    let succeeded = run_seeing_lines(&mut command, |line| {
        totals.add(total_line(line).unwrap_or_default());
    })?;
    if totals.failed == 0 && (!succeeded || totals.passed == 0) {
        println!("the suite failed without counting a failure");
        totals.add(Totals::one_failed());
    }
    if totals.failed > 0 {
        keep(output.path(), &workspace.target().join("conformance").join(revision));
    }
    Ok(totals)
}

/// Keeps what the suite recorded, for whoever has to find out why.
fn keep(from: &Path, to: &Path) {
    let kept = std::fs::create_dir_all(to).and_then(|()| copy_folder(from, to));
    match kept {
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

/// Reads the suite's closing count: `Total: 83 passed, 0 failed`.
fn total_line(line: &str) -> Option<Totals> {
    let counts = line.trim().strip_prefix("Total: ")?;
    let mut totals = Totals::default();
    for part in counts.split(',') {
        let (count, label) = part.trim().split_once(' ')?;
        let count: usize = count.parse().ok()?;
        match label.split(' ').next() {
            Some("passed") => totals.passed = count,
            Some("failed") => totals.failed = count,
            _ => {}
        }
    }
    Some(totals)
}

#[cfg(test)]
mod tests;
