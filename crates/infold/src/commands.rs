//! The commands, one file each, and the [`Invocation`] that most of them get.

pub mod acp;
pub mod approve;
pub mod chat;
pub mod completions;
pub mod confine;
pub mod connect;
pub mod count;
mod demo;
pub mod disconnect;
pub mod doctor;
pub mod exec;
pub mod export;
pub mod fork;
pub mod hook;
pub mod launch;
pub mod man;
mod mcp;
pub mod memory;
mod places;
pub mod replay;
pub mod rescue;
pub mod result;
pub mod rewind;
pub mod rules;
pub mod run;
pub mod scrub;
pub mod secret;
pub(crate) mod serve;
pub mod servers;
pub mod sessions;
mod settings;
pub mod show;
pub mod store;
pub mod tend;
pub mod tools;
pub mod top;

use std::path::Path;

use crate::cli::{Cli, Command, Globals};
use crate::data_folder::{self, DataFolder};
use crate::failure;
use crate::output::Output;
use crate::settings::{Backend, FlagValues, InForce, ScrubFault, Surroundings, gather, resolve};
use crate::telemetry::Logging;

/// Everything that a command gets: the settings, its flags, the environment and the place for its results.
#[derive(Clone)]
pub struct Invocation {
    /// The settings of this run, each with the layer that it came from.
    pub in_force: InForce,
    /// Prints results to standard output, as text or as JSON.
    pub output: Output,
    /// The flags that every command takes.
    pub globals: Globals,
    /// The environment variables, and the folder that the program was started in.
    pub surroundings: Surroundings,
}

impl Invocation {
    fn new(flags: FlagValues, globals: Globals, surroundings: Surroundings, output: Output) -> anyhow::Result<Self> {
        let in_force = resolve(gather(&surroundings, flags)?)?;
        let warnings = in_force.warnings.iter().filter(|_| !globals.quiet);
        warnings.for_each(|warning| failure::tell("warning", warning));
        Ok(Self { in_force, output, globals, surroundings })
    }

    /// The same in another folder, whose project may have settings of its own.
    pub(crate) fn in_folder(&self, folder: &Path) -> anyhow::Result<Self> {
        let flags = FlagValues { set: self.globals.set.clone(), listen: None, data: self.globals.data.clone() };
        let surroundings = Surroundings { folder: Some(folder.to_owned()), ..self.surroundings.clone() };
        Self::new(flags, self.globals.clone(), surroundings, self.output)
    }

    fn logging(&self) -> Logging {
        Logging::new(&self.in_force.settings.telemetry, &self.globals, &self.surroundings)
    }

    /// Logs a warning if `[testing]` is on: its switches are for infold's own tests and must not go unnoticed.
    fn warn_of_testing(&self) {
        let testing = &self.in_force.settings.testing;
        if testing.scrub_fault != ScrubFault::None {
            tracing::warn!("[testing] is on, which is meant for infold's own tests");
        }
    }

    pub(crate) fn data_folder(&self) -> anyhow::Result<DataFolder> {
        DataFolder::create(data_folder::location(&self.in_force)?)
    }

    /// Opens the data folder; `None` if it holds no database, because nothing has been stored yet.
    fn data_folder_in_use(&self) -> anyhow::Result<Option<DataFolder>> {
        let folder = DataFolder::existing(data_folder::location(&self.in_force)?)?;
        let backend = self.in_force.settings.store.backend;
        // Where the state is shared, others may have stored something.
        Ok(folder.filter(|folder| backend == Backend::Nats || folder.database(backend).exists()))
    }
}

/// Runs the command that was typed.
pub fn run(cli: Cli, surroundings: Surroundings) -> anyhow::Result<()> {
    let output = Output::new(&cli.globals, &surroundings);
    let flags = cli.flag_values();
    let load = || Invocation::new(flags.clone(), cli.globals.clone(), surroundings.clone(), output);
    match cli.command {
        // These have to work whatever the settings say.
        Command::Completions { shell } => completions::run(shell, &output),
        Command::Man(args) => man::run(&args, &output),
        Command::Hook(args) => hook::run(&args, &surroundings, flags, &output),
        Command::Launch(args) => launch::run(&args),
        Command::Tend(args) => tend::run(&args),
        Command::Confine(args) => confine::run(&args),
        // It reports what is wrong with the settings, so it reads them itself.
        Command::Doctor => doctor::run(&surroundings, flags, &output),
        Command::Serve(args) => serve::run(&args, load()?),
        Command::Demo => demo::run(load()?),
        Command::Run(args) => run::run(&args, load()?),
        Command::Exec(args) => exec::run(*args, load()?),
        Command::Acp(args) => acp::run(args, load()?),
        Command::Chat(args) => chat::run(*args, load()?),
        Command::Rewind(args) => rewind::run(&args, &load()?),
        Command::Export(args) => export::run(&args, &load()?),
        Command::Connect(args) => connect::run(&args, &load()?),
        Command::Disconnect(args) => disconnect::run(&args, &load()?),
        Command::Mcp => mcp::run(&load()?, mcp::ServedTools::Own),
        #[cfg(feature = "conformance")]
        Command::Fixtures => mcp::run(&load()?, mcp::ServedTools::Fixtures),
        Command::Settings(args) => settings::run(&args, &load()?),
        Command::Servers(args) => servers::run(args, &load()?),
        Command::Tools(args) => tools::run(&args, &load()?),
        Command::Approve(args) => approve::run(&args, &load()?),
        Command::Memory(args) => memory::run(args, &load()?),
        Command::Sessions(args) => sessions::run(&args, &load()?),
        Command::Show(args) => show::run(&args, &load()?),
        Command::Top(args) => top::run(&args, &load()?),
        Command::Rescue(args) => rescue::run(&args, &load()?),
        Command::Result(args) => result::run(&args, &load()?),
        Command::Fork(args) => fork::run(&args, &load()?),
        Command::Replay(args) => replay::run(&args, &load()?),
        Command::Scrub(args) => scrub::run(&args, &load()?),
        Command::Rules(args) => rules::run(&args, &load()?),
        Command::Count(args) => count::run(&args, &load()?),
        Command::Secret(args) => secret::run(&args, &load()?),
        Command::Store(args) => store::run(&args, &load()?),
    }
}
