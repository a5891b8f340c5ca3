//! Chores of this repository, written in Rust: `cargo xtask test`, `tidy`, `bench` and the rest.
//!
//! Everything here drives the program from outside, as a person would. Nothing in the program may
//! depend on it.
#![allow(clippy::print_stdout, reason = "what a chore prints is its result")]

mod bench;
mod clients;
mod conformance;
mod report;
mod suite;
mod tidy;
mod tools;
mod torture;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// Chores of the infold repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Install what the tests need, and run all of them.
    Test(suite::Arguments),
    /// Check the rules of this repository that a program can check.
    Tidy,
    /// Run the official MCP conformance suite against the program.
    Conformance,
    /// List and call every tool with the Python and TypeScript SDKs and the MCP Inspector.
    Clients,
    /// Measure the program and compare with the targets.
    Bench(bench::Arguments),
    /// Run the crash and power-loss tests for longer than the test command does.
    Torture(torture::Arguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse().chore) {
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
        Chore::Conformance => conformance::run(&workspace),
        Chore::Clients => clients::run(&workspace),
        Chore::Bench(arguments) => bench::run(&workspace, &arguments),
        Chore::Torture(arguments) => torture::run(&workspace, &arguments),
    }
}
