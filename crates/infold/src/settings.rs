//! Settings in layers: the defaults, the user's file, the project's file, the environment, flags.
//!
//! [`sources::gather`] reads what was given, as text; [`resolve`] turns it into values, each with
//! the layer it came from, and does nothing else, so that layering is tested as text. There are no
//! defaults in code: `default.toml` is compiled in and names every key there is. What a project file
//! may do is in [`narrow`].
//!
//! Must hold: every key in force is one of `default.toml`, has its kind, and lies in its range.

mod agent;
mod check;
mod entry;
mod gateway;
mod memory;
mod narrow;
mod nats;
mod problem;
mod server;
mod sources;
mod text;
mod types;

use std::path::{Path, PathBuf};

pub use agent::{AgentApproval, AgentEffort, AgentPart, AgentProvider, AgentSandbox};
pub use entry::{Entry, Origin};
pub use gateway::{CredentialsPlace, Gateway};
pub use memory::ModelApi;
pub use nats::{Backend, Nats, ServerSync};
pub use problem::{Problem, Problems};
pub use server::GatewayServer;
pub use sources::{Assignment, FILE_MAX_BYTES, FlagValues, Given, LookedAt, Surroundings, gather};
pub use types::*;

/// `default.toml`: the default of every setting, with a sentence on each.
pub const DEFAULT_TOML: &str = include_str!("../default.toml");

/// The settings of this run, and where each came from.
#[derive(Debug, Clone)]
pub struct InForce {
    /// The values, typed.
    pub settings: Settings,
    /// Every key in the order of `default.toml`, with its value and layer.
    pub entries: Vec<Entry>,
    /// The files that settings were looked for in, whether or not they exist.
    pub files: Vec<LookedAt>,
    /// Warnings for the user, such as a project file that was ignored.
    pub warnings: Vec<String>,
    data_home: Option<PathBuf>,
}

impl InForce {
    /// The data folder, absolute; `None` if neither a setting nor a home folder names one.
    pub fn data_folder(&self) -> Option<PathBuf> {
        if self.settings.data.is_empty() {
            return self.data_home.clone();
        }
        std::path::absolute(Path::new(&self.settings.data)).ok()
    }

    /// The data folder that is used if no setting names one.
    pub fn usual_data_folder(&self) -> Option<&Path> {
        self.data_home.as_deref()
    }
}

/// Lays the layers over one another and checks the values. All problems are reported at once.
pub fn resolve(given: Given) -> Result<InForce, Problems> {
    let mut problems = Problems::default();
    let mut entries = entry::defaults(DEFAULT_TOML).map_err(Problems::one)?;

    if let Some(file) = &given.user {
        let values = text::file(file, Origin::user, &entries, &mut problems);
        entry::lay_over(&mut entries, values);
    }
    if let Some(file) = &given.project {
        let values = text::file(file, Origin::project, &entries, &mut problems);
        let values = narrow::only_narrowing(values, &entries, &mut problems);
        entry::lay_over(&mut entries, values);
    }
    let values = text::variables(&given.variables, &entries, &mut problems);
    entry::lay_over(&mut entries, values);
    let values = text::flags(&given.flags, &entries, &mut problems);
    entry::lay_over(&mut entries, values);

    let settings = check::typed(&entries, &mut problems);
    match settings {
        Some(settings) if problems.is_empty() => {
            Ok(InForce { settings, entries, files: given.files, warnings: given.warnings, data_home: given.data_home })
        }
        Some(_) | None => Err(problems),
    }
}

#[cfg(test)]
mod tests;
