//! The test command of the README: installs what is needed, and checks everything there is. One build serves all
//! stages.
//!
//! A missing tool is a failure in CI and a skip with its reason elsewhere. Every stage runs even if
//! an earlier one failed.

use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};

use crate::clients::Agents;
use crate::report::{Report, Totals, harness_totals};
use crate::tools::Tools;
use crate::workspace::{Workspace, in_ci, run_seeing_lines};
use crate::{clients, conformance, page, tidy, workspace};

/// Crashes and power-loss images of a quick run.
const QUICK: [(&str, &str); 2] = [("INFOLD_KILLS", "20"), ("INFOLD_IMAGES", "300")];

/// What is built and run: there are no tests in documents.
const TEST_TARGETS: [&str; 3] = ["--lib", "--bins", "--tests"];

/// Stages that need other people's programs.
const LEFT_OUT_BY_QUICK: [&str; 4] = ["page", "clients", "conformance", "agents"];

/// What the tests that need a tracer have in their names.
const TRACED_TESTS: &str = "power_loss";

/// What `cargo xtask test` takes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Leave out other people's clients and the conformance suite, and crash less often.
    #[arg(long)]
    quick: bool,
}

/// Runs all stages, and closes with the line that counts.
pub fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    let mut report = Report::default();
    report.stage("format", || one(workspace::run(&mut workspace.cargo(&["fmt", "--all", "--check"]))));
    report.stage("tidy", || tidy_stage(workspace));
    // What others wrote is fetched while the compiler works.
    let (tools, agents) = std::thread::scope(|scope| {
        let tools = scope.spawn(|| Tools::install(workspace));
        let agents = scope.spawn(|| (!arguments.quick).then(|| Agents::install(workspace)));
        report.stage("lint and build", || {
            one(workspace::run(workspace.cargo_on_tests("test").args(TEST_TARGETS).args(["--no-run", "--quiet"])))
        });
        (tools.join(), agents.join())
    });
    let installed = |_| anyhow!("installing the tools panicked");
    let (tools, agents) = (tools.map_err(installed)?, agents.map_err(installed)?);
    report.stage("tools", || tools_stage(&tools));
    tests_stage(workspace, arguments, &tools, &mut report);
    match agents {
        None => LEFT_OUT_BY_QUICK.iter().for_each(|stage| report.skip(stage, "left out by --quick")),
        Some(agents) => {
            page_stage(workspace, &mut report);
            clients_stages(workspace, &tools, &mut report);
            clients::agents_stage(workspace, "", agents, &workspace.tested_program(), &mut report);
        }
    }
    Ok(report.finish())
}

/// The page in a browser. Outside CI it is left out where there is none.
fn page_stage(workspace: &Workspace, report: &mut Report) {
    match page::browser() {
        Err(error) if !in_ci() => report.skip("page", &format!("{error:#}")),
        _ => report.stage("page", || page::check(workspace, &workspace.tested_program())),
    }
}

fn tools_stage(tools: &Tools) -> Result<Totals> {
    let missing = tools.missing();
    for line in &missing {
        println!("missing: {line}");
    }
    if !missing.is_empty() && in_ci() {
        bail!("in CI every tool must be there");
    }
    Ok(Totals::one_passed())
}

fn tidy_stage(workspace: &Workspace) -> Result<Totals> {
    let problems = tidy::problems(workspace)?;
    for problem in &problems {
        println!("{problem}");
    }
    Ok(if problems.is_empty() { Totals::one_passed() } else { Totals::one_failed() })
}

/// Runs `cargo test`. Where the tracer is missing, the one test that needs it is left out by name.
fn tests_stage(workspace: &Workspace, arguments: &Arguments, tools: &Tools, report: &mut Report) {
    let mut command = workspace.cargo_on_tests("test");
    command.args(TEST_TARGETS).arg("--no-fail-fast");
    if arguments.quick {
        command.envs(QUICK);
    }
    if tools.strace.is_err() && !in_ci() {
        report.skip("power loss", "strace is missing");
        command.args(["--", "--skip", TRACED_TESTS]);
    }
    report.stage("tests", || {
        let mut totals = Totals::default();
        let see = |line: &str| totals.add(harness_totals(line).unwrap_or_default());
        let succeeded = run_seeing_lines(&mut command, see)?;
        if !succeeded && totals.failed == 0 {
            bail!("the tests could not be built or run");
        }
        Ok(totals)
    });
}

/// Other people's clients. Outside CI, those that could not be installed are left out, each with its
/// reason.
fn clients_stages(workspace: &Workspace, tools: &Tools, report: &mut Report) {
    if let (Err(error), false) = (&tools.python, in_ci()) {
        report.skip("clients: Python SDK", &format!("{error:#}"));
    }
    if let (Err(error), false) = (&tools.node, in_ci()) {
        report.skip("clients: TypeScript SDK and Inspector", &format!("{error:#}"));
        report.skip("conformance", &format!("{error:#}"));
    }
    if tools.python.is_ok() || tools.node.is_ok() || in_ci() {
        report.stage("clients", || clients::check(workspace, tools, &workspace.tested_program()));
    }
    if tools.node.is_ok() || in_ci() {
        report.stage("conformance", || conformance::check(workspace, tools, &workspace.tested_program()));
    }
}

fn one(outcome: Result<()>) -> Result<Totals> {
    outcome.map(|()| Totals::one_passed())
}
