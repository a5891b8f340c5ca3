//! The commands, one file each, and what all of them are given.

pub mod completions;
pub mod doctor;
pub mod man;
mod mcp;
mod scrub;
mod serve;
pub mod sessions;
mod settings;
pub mod show;

use crate::cli::{Command, Globals};
use crate::data_folder::{self, DataFolder};
use crate::output::Output;
use crate::settings::{InForce, Surroundings};
use crate::telemetry::{self, Logging};

/// What a command is given.
pub struct Invocation {
    /// The settings.
    pub in_force: InForce,
    /// Where results go.
    pub output: Output,
    /// The flags that every command takes.
    pub globals: Globals,
    /// The environment.
    pub surroundings: Surroundings,
}

impl Invocation {
    fn logging(&self) -> Logging {
        Logging::new(&self.in_force.settings.telemetry, &self.globals, &self.surroundings)
    }

    fn data_folder(&self) -> anyhow::Result<DataFolder> {
        DataFolder::create(data_folder::location(&self.in_force)?)
    }

    /// The data folder, unless nothing has ever been stored.
    fn existing_data_folder(&self) -> anyhow::Result<Option<DataFolder>> {
        DataFolder::existing(data_folder::location(&self.in_force)?)
    }
}

/// Carries out a command.
pub fn run(command: Command, invocation: Invocation) -> anyhow::Result<()> {
    match command {
        Command::Serve(_) => serve::run(&invocation),
        Command::Mcp => mcp::run(&invocation),
        Command::Settings(args) => settings::run(&args, &invocation),
        Command::Sessions(args) => {
            telemetry::log_only(&invocation.logging());
            sessions::run(&args, &invocation)
        }
        Command::Show(args) => {
            telemetry::log_only(&invocation.logging());
            show::run(&args, &invocation)
        }
        Command::Scrub => scrub::run(&invocation),
        Command::Doctor => doctor::run(&invocation.surroundings, Default::default(), &invocation.output),
        Command::Completions { shell } => completions::run(shell, &invocation.output),
        Command::Man(args) => man::run(&args, &invocation.output),
    }
}
