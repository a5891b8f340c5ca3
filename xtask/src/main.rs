//! Chores of this repository, written in Rust: `cargo xtask test`, `tidy`, `bench` and the rest.
//!
//! Everything here drives the program from outside, as a person would. Nothing in the program may
//! depend on it.
#![allow(clippy::print_stdout, reason = "what a chore prints is its result")]

mod bench;
mod clients;
mod conformance;
mod measure;
mod page;
mod report;
mod same;
mod suite;
mod tidy;
mod tools;
mod torture;
mod upstream;
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
    /// Drive the program with other people's MCP clients, and their agents with what it wrote.
    Clients(clients::Arguments),
    /// Record the transcripts under `fixtures` again, with the real agents and a scripted model.
    Record,
    /// Serve a scripted model on loopback until it is stopped.
    Model(clients::model::Arguments),
    /// Measure the program and compare with the targets.
    Bench(bench::Arguments),
    /// Show that two programs do the same: what models are sent, what commands make, every figure.
    Same(same::Arguments),
    /// Look at the page of `infold replay` in a real browser.
    Page,
    /// Make the tables of docs/measurements.md from recorded sessions.
    Measure(measure::Arguments),
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
        Chore::Clients(arguments) => clients::run(&workspace, &arguments),
        Chore::Record => clients::record::run(&workspace),
        Chore::Model(arguments) => clients::model::run(&arguments),
        Chore::Bench(arguments) => bench::run(&workspace, &arguments),
        Chore::Same(arguments) => same::run(&workspace, &arguments),
        Chore::Page => page::run(&workspace),
        Chore::Measure(arguments) => measure::run(&workspace, &arguments),
        Chore::Torture(arguments) => torture::run(&workspace, &arguments),
    }
}
