//! The program: reads the command line and the settings, and puts the parts together.
//!
//! Each command is one file of `commands`. Results go to standard output and everything else to
//! standard error; how a command ends is in `failure`.

mod cli;
mod commands;
mod data_folder;
mod draw;
mod failure;
mod health;
mod output;
mod parts;
mod probe;
mod settings;
mod signals;
mod telemetry;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::commands::{Invocation, completions, doctor, man};
use crate::output::Output;
use crate::settings::Surroundings;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let surroundings = Surroundings::of_this_process();
    failure::conclude(run(cli, surroundings))
}

fn run(cli: Cli, surroundings: Surroundings) -> anyhow::Result<()> {
    let output = Output::new(&cli.globals, &surroundings);
    let flags = cli.flag_values();
    match cli.command {
        // These two have to work whatever the settings say.
        Command::Completions { shell } => return completions::run(shell, &output),
        Command::Man(args) => return man::run(&args, &output),
        // It tells what is wrong with the settings, so it reads them itself.
        Command::Doctor => return doctor::run(&surroundings, flags, &output),
        command => {
            let given = settings::gather(&surroundings, flags)?;
            let in_force = settings::resolve(given)?;
            in_force.warnings.iter().for_each(|warning| failure::tell("warning", warning));
            let invocation = Invocation { in_force, output, globals: cli.globals, surroundings };
            commands::run(command, invocation)
        }
    }
}
