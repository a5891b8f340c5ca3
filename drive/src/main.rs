//! Drives the program from outside, as people and other programs do: with other people's clients and agents, in a browser,
//! against an older program, and with a clock in the hand. `cargo xtask` leads here.
//!
//! Nothing in the program may depend on it.
#![allow(clippy::print_stdout, reason = "what a chore prints is its result")]

mod bench;
mod clients;
mod conformance;
mod measure;
mod page;
mod renamed;
mod same;
mod secrets;
mod upstream;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask::workspace::{Workspace, in_ci, shown};

/// Chores of the infold repository that drive the program.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", about)]
struct DriveArguments {
    /// The program that tests drive, if it is built already.
    #[arg(long, value_name = "FILE", global = true)]
    tested: Option<PathBuf>,
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Run the official MCP conformance suite against the program.
    Conformance,
    /// Drive the program with other people's MCP clients, and their agents with what it wrote.
    Clients(clients::ClientsArguments),
    /// Record the transcripts under `fixtures` again, with the real agents and a scripted model.
    Record,
    /// Serve a scripted model on loopback until it is stopped.
    Model(clients::model::ModelArguments),
    /// Measure the program and compare with the targets.
    Bench(bench::BenchArguments),
    /// Be the server behind the gateways that `bench gateway` measures, on standard input.
    #[command(hide = true)]
    Backend,
    /// Show that two programs do the same: what models are sent, what commands make, every figure.
    Same(same::SameArguments),
    /// Look at the page of `infold replay` in a real browser.
    Page,
    /// Measure what scrubbing finds, and make the tables of docs/scrubbing.md.
    Secrets(secrets::SecretsArguments),
    /// Make the tables of docs/measurements.md from recorded sessions.
    Measure(measure::MeasureArguments),
}

/// What happens where a tool that a chore needs is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IfAbsent {
    Skip,
    Fail,
}

fn main() -> ExitCode {
    match run(DriveArguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(DriveArguments { tested, chore }: DriveArguments) -> Result<ExitCode> {
    // Gateways start the backend in any folder and with any home, so it looks for no workspace.
    if matches!(chore, Chore::Backend) {
        return bench::gateway::serve_backend();
    }
    let workspace = Workspace::find()?;
    let program = || tested.clone().map_or_else(|| workspace.build_tested_program(), Ok);
    // Whoever asks for one chore wants it done; as a part of the test command it may be left out.
    let absent = if tested.is_some() && !in_ci() { IfAbsent::Skip } else { IfAbsent::Fail };
    match chore {
        Chore::Conformance => conformance::run(&workspace, &program()?, absent),
        Chore::Clients(arguments) => clients::run(&workspace, &arguments, &program()?, absent),
        Chore::Record => clients::record::run(&workspace),
        Chore::Model(arguments) => clients::model::run(&arguments),
        Chore::Bench(arguments) => bench::run(&workspace, &arguments),
        Chore::Backend => bench::gateway::serve_backend(),
        Chore::Same(arguments) => same::run(&workspace, &arguments),
        Chore::Page => page::run(&workspace, &program()?, absent),
        Chore::Secrets(arguments) => secrets::run(&workspace, &arguments),
        Chore::Measure(arguments) => measure::run(&workspace, &arguments),
    }
}

/// Runs this same command in a release build of this tool.
fn run_release_build(workspace: &Workspace) -> Result<ExitCode> {
    let mut command = workspace.cargo(&["run", "--release", "--quiet", "--package", "drive", "--"]);
    command.args(std::env::args_os().skip(1));
    eprintln!("measuring with a release build: {}", shown(&command));
    let status = command.status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
