//! The test command of the README: installs what is needed, and checks everything there is. One build serves all
//! stages.
//!
//! A missing tool is a failure in CI and a skip with its reason elsewhere. Every stage runs even if an earlier one
//! failed, as far as there is something to run.

use std::process::{Command, ExitCode};

use anyhow::{Result, anyhow, bail};

use crate::{fuzz, tidy};
use xtask::report::{Report, Totals, closing_totals, harness_totals};
use xtask::tools::{self, Tools};
use xtask::workspace::{self, Warnings, Workspace, in_ci, run_seeing_lines};

/// Crashes, power-loss images and recorded sessions of a quick run.
const QUICK: [(&str, &str); 3] = [("INFOLD_KILLS", "20"), ("INFOLD_IMAGES", "300"), ("INFOLD_RECORDED_EVERY", "12")];

/// What is built and run: there are no tests in documents.
const TEST_TARGETS: [&str; 3] = ["--lib", "--bins", "--tests"];

/// Chores that drive the program with what other people wrote.
const DRIVEN: [&str; 3] = ["page", "clients", "conformance"];

/// What the tests that need a tracer have in their names.
const TRACED_TESTS: [&str; 4] = ["power_loss", "slow_disk", "cluster::faults::", "trouble::faults::"];

/// What `cargo xtask test` takes.
#[derive(Debug, clap::Args)]
pub struct SuiteArguments {
    /// Leave out other people's clients, the conformance suite and fuzzing, crash less often, and take fewer recorded sessions.
    #[arg(long)]
    quick: bool,
}

/// Runs all stages, and closes with the line that counts.
pub fn run(workspace: &Workspace, arguments: &SuiteArguments) -> Result<ExitCode> {
    let mut report = Report::default();
    report.stage("format", || one(workspace::run(&mut workspace.cargo(&["fmt", "--all", "--check"]))));
    report.stage("tidy", || tidy_stage(workspace));
    // What others wrote is fetched while the compiler works. Agents that cannot be had are missed where they are driven.
    let (tools, built) = std::thread::scope(|scope| {
        let tools = scope.spawn(|| {
            if arguments.quick {
                return Tools::install_for_tests(workspace);
            }
            let tools = Tools::install(workspace);
            let _ = tools::install_agents(workspace);
            tools
        });
        report.stage("lint what ships", || one(workspace::run(&mut linting_shipped(workspace))));
        let built = build(workspace, &mut report);
        (tools.join(), built)
    });
    let tools = tools.map_err(|_| anyhow!("installing the tools panicked"))?;
    report.stage("tools", || tools_stage(arguments, &tools));
    if let Some(warnings) = built {
        tests_stage(workspace, arguments, (&tools, warnings), &mut report);
    }
    match built {
        _ if arguments.quick => report.skip("fuzz", "left out by --quick"),
        Some(_) if !fuzz::can_be_built() && !in_ci() => report.skip("fuzz", "a C++ compiler is missing"),
        Some(_) => report.stage("fuzz", || fuzz::stage(workspace)),
        None => report.skip("fuzz", "nothing was built"),
    }
    for chore in DRIVEN {
        match built {
            _ if arguments.quick => report.skip(chore, "left out by --quick"),
            Some(_) => drive(workspace, chore, &mut report),
            None => report.skip(chore, "nothing was built"),
        }
    }
    Ok(report.finish())
}

/// Lints our libraries as people build them: without what only tests need. Those that differ by it are built again.
fn linting_shipped(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo_linting("test", Warnings::AreErrors);
    command.args(["--lib", "--no-run", "--quiet"]);
    command
}

/// Lints and builds everything. Where there are warnings, everything is built without minding them, so that tests still
/// run. Returns how it was built.
fn build(workspace: &Workspace, report: &mut Report) -> Option<Warnings> {
    let mut built = None;
    report.stage("lint and build", || {
        for warnings in [Warnings::AreErrors, Warnings::AreShown] {
            let mut command = workspace.cargo_on_tests("test", warnings);
            if workspace::run(command.args(TEST_TARGETS).args(["--no-run", "--quiet"])).is_ok() {
                built = Some(warnings);
                break;
            }
        }
        Ok(if built == Some(Warnings::AreErrors) { Totals::one_passed() } else { Totals::one_failed() })
    });
    built
}

/// Has a chore drive the program that was built, and reads its closing lines.
fn drive(workspace: &Workspace, chore: &str, report: &mut Report) {
    let mut command = workspace.command(workspace.target().join("debug/drive"));
    command.arg(chore).arg("--tested").arg(workspace.tested_program());
    let (mut totals, mut skips) = (None, Vec::new());
    report.stage(chore, || {
        let succeeded = run_seeing_lines(&mut command, |line| {
            totals = closing_totals(line).or(totals);
            skips.extend(line.strip_prefix("skipped ").map(str::to_owned));
        })?;
        match totals {
            Some(totals) if succeeded || totals.failed > 0 => Ok(totals),
            _ => bail!("it ended without its closing line"),
        }
    });
    report.name_skips(skips);
}

fn tools_stage(arguments: &SuiteArguments, tools: &Tools) -> Result<Totals> {
    let missing = if arguments.quick { tools.missing_for_tests() } else { tools.missing() };
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

/// Runs `cargo test`. Where the tracer is missing, the tests that need it are left out by name.
fn tests_stage(
    workspace: &Workspace,
    arguments: &SuiteArguments,
    (tools, warnings): (&Tools, Warnings),
    report: &mut Report,
) {
    let mut command = workspace.cargo_on_tests("test", warnings);
    command.args(TEST_TARGETS).arg("--no-fail-fast").env("RUST_TEST_THREADS", test_threads());
    if arguments.quick {
        command.envs(QUICK);
    }
    if tools.strace.is_err() && !in_ci() {
        report.skip("power loss and faults", "strace is missing");
        command.arg("--").args(TRACED_TESTS.iter().flat_map(|name| ["--skip", name]));
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

/// Tests that run at once, in each test program: most of them wait for processes that they have started.
fn test_threads() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::env::var("RUST_TEST_THREADS").unwrap_or_else(|_| (2 * cores).to_string())
}

fn one(outcome: Result<()>) -> Result<Totals> {
    outcome.map(|()| Totals::one_passed())
}
