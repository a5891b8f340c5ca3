//! JSON of projects that have memories, and of what is left alone.

use infold_engine::ProjectRow;
use schemars::JsonSchema;
use serde::Serialize;

/// Projects that have memories, and what is left alone.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryProjects {
    /// The projects, in order of keys.
    pub(crate) projects: Vec<MemoryProject>,
    /// Sessions and projects that nothing is learnt from and nothing is shown to.
    pub(crate) silenced: Vec<String>,
}

/// A project that has memories.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryProject {
    /// Its key.
    project: String,
    /// What people call it.
    label: Option<String>,
    /// Other keys that mean it.
    aliases: Vec<String>,
    /// How many of its memories are shown.
    live: u64,
    /// How many of its memories wait for review.
    waiting: u64,
    /// Whether it is left alone.
    silenced: bool,
    /// Keys of other projects that say that they have the same origin.
    clones: Vec<String>,
}

impl From<&ProjectRow> for MemoryProject {
    fn from(row: &ProjectRow) -> Self {
        Self {
            project: row.project.as_str().to_owned(),
            label: row.label.as_ref().map(|label| label.as_str().to_owned()),
            aliases: row.aliases.iter().map(|alias| alias.as_str().to_owned()).collect(),
            clones: row.clones.iter().map(|clone| clone.as_str().to_owned()).collect(),
            live: row.live,
            waiting: row.waiting,
            silenced: row.is_silenced,
        }
    }
}

/// What is left alone, or no longer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SilenceState {
    /// The session or the project.
    pub(crate) scope: String,
    /// Whether it is left alone now.
    pub(crate) silent: bool,
}
