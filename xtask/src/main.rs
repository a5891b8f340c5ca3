//! Chores of this repository: `cargo xtask test`, `tidy`, `torture` and `fuzz`, and the way to those that drive the program.
//!
//! This program is built first, so it depends on little. What drives the program from outside (`drive`) depends on our
//! crates, and is built with them.
#![allow(clippy::print_stdout, reason = "what a chore prints is its result")]

mod fuzz;
mod suite;
mod tidy;
mod torture;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use xtask::workspace::Workspace;

/// Chores of the infold repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about)]
struct XtaskArguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Install what the tests need, and run all of them.
    Test(suite::SuiteArguments),
    /// Check the rules of this repository that a program can check.
    Tidy,
    /// Try for longer than the test command does what may break it, and write the figures of docs/reliability.md.
    Torture(torture::TortureArguments),
    /// Look for inputs that break a law of what reads other people's bytes.
    Fuzz(fuzz::FuzzArguments),
    /// Run the official MCP conformance suite against the program.
    #[command(disable_help_flag = true)]
    Conformance(Driven),
    /// Drive the program with other people's MCP clients, and their agents with what it wrote.
    #[command(disable_help_flag = true)]
    Clients(Driven),
    /// Record the transcripts under `fixtures` again, with the real agents and a scripted model.
    #[command(disable_help_flag = true)]
    Record(Driven),
    /// Serve a scripted model on loopback until it is stopped.
    #[command(disable_help_flag = true)]
    Model(Driven),
    /// Measure the program and compare with the targets.
    #[command(disable_help_flag = true)]
    Bench(Driven),
    /// Show that two programs do the same: what models are sent, what commands make, every figure.
    #[command(disable_help_flag = true)]
    Same(Driven),
    /// Look at the page of `infold replay` in a real browser.
    #[command(disable_help_flag = true)]
    Page(Driven),
    /// Measure what scrubbing finds, and make the tables of docs/scrubbing.md.
    #[command(disable_help_flag = true)]
    Secrets(Driven),
    /// Make the tables of docs/measurements.md from recorded sessions.
    #[command(disable_help_flag = true)]
    Measure(Driven),
}

/// XtaskArguments that are handed on as they are.
#[derive(Debug, clap::Args)]
struct Driven {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<OsString>,
}

fn main() -> ExitCode {
    match run(XtaskArguments::parse().chore) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<ExitCode> {
    let workspace = Workspace::find()?;
    match chore {
        Chore::Test(arguments) => suite::run(&workspace, &arguments),
        Chore::Tidy => tidy::run(&workspace),
        Chore::Torture(arguments) => torture::run(&workspace, &arguments),
        Chore::Fuzz(arguments) => fuzz::run(&workspace, &arguments),
        Chore::Conformance(driven) => drive(&workspace, "conformance", &driven),
        Chore::Clients(driven) => drive(&workspace, "clients", &driven),
        Chore::Record(driven) => drive(&workspace, "record", &driven),
        Chore::Model(driven) => drive(&workspace, "model", &driven),
        Chore::Bench(driven) => drive(&workspace, "bench", &driven),
        Chore::Same(driven) => drive(&workspace, "same", &driven),
        Chore::Page(driven) => drive(&workspace, "page", &driven),
        Chore::Secrets(driven) => drive(&workspace, "secrets", &driven),
        Chore::Measure(driven) => drive(&workspace, "measure", &driven),
    }
}

/// Builds what drives the program, and has it do the chore.
fn drive(workspace: &Workspace, chore: &str, driven: &Driven) -> Result<ExitCode> {
    let mut command = workspace.cargo(&["run", "--quiet", "--package", "drive", "--", chore]);
    let status = command.args(&driven.arguments).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
