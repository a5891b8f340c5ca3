//! The program: reads the command line and the settings, and puts the parts together.
//!
//! Each command is one file of `commands`. Results go to standard output and everything else to
//! standard error; how a command ends is in `failure`.

mod acp;
mod agent;
mod chat;
mod cli;
mod cluster;
mod commands;
mod connect;
mod data_folder;
mod demo;
mod draw;
mod failure;
mod file_scrubber;
mod gateway;
mod help;
mod memory_models;
mod output;
mod parts;
mod probe;
mod recognised;
mod requests;
mod rescue;
mod run;
mod scrub_rules;
mod service;
mod settings;
mod signals;
mod sources;
mod telemetry;
mod top;
mod whole_file;

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

use crate::cli::Cli;
use crate::output::Form;
use crate::settings::Surroundings;

/// Gives memory back within a second, whichever thread used it: a daemon that has passed on a body of 30 MB is as small
/// afterwards as before. How it does so is set in `.cargo/config.toml`. SQLite and zstd use it too.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    let cli = Cli::read();
    let form = if cli.globals.json { Form::Json } else { Form::Text };
    let surroundings = Surroundings::of_this_process();
    failure::conclude(commands::run(cli, surroundings), form)
}
