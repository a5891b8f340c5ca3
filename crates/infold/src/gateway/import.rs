//! Takes servers over from other clients: reads their files, never writes them, and says what of each entry infold cannot
//! honour.
//!
//! Each client has its own file here. They turn an entry into fields of `[[gateway.servers]]`, and the client's rules for
//! tools into `tools`, `deny`, `ask` and `allow`. Where that is not exactly possible, the stricter form is taken.

mod claude;
mod codex;
mod draft;
mod json;
mod opencode;
mod patterns;
mod rules;
mod write;

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use infold_core::gateway::{RightsSource, ServerEntry};
use toml::Table;

pub use draft::DroppedField;
pub use write::{AddedServers, add_servers};

use super::entries::{is_own, variable_in};
use crate::commands::Invocation;
use crate::settings::{GatewayServer, Surroundings};
use draft::EntryDraft;

/// How many folders upward a project's files are looked for.
const FOLDERS_MAX: usize = 64;

/// Where servers are taken from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportSource {
    /// Claude Code's files.
    Claude,
    /// Codex's files.
    Codex,
    /// OpenCode's files.
    Opencode,
    /// A file in JSON, of the form that most clients have.
    File(PathBuf),
}

impl FromStr for ImportSource {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "claude" => Self::Claude,
            "codex" => Self::Codex,
            "opencode" => Self::Opencode,
            path => Self::File(path.into()),
        })
    }
}

/// Which files of a client are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportScope {
    /// The user's own.
    User,
    /// The user's own, and those of the project that the current folder belongs to.
    Project,
}

/// A server that can be taken.
#[derive(Debug)]
pub struct ImportedServer {
    /// Its entry, as infold would read it.
    pub entry: ServerEntry,
    /// The file that it comes from.
    pub from: PathBuf,
    /// The folder of the project whose file has it; `None` if it is in the user's own.
    pub project: Option<PathBuf>,
    /// The client's own rules for its tools, if there are any.
    pub own_rules: Option<RightsSource>,
    /// The fields of its section in infold's settings. Values may be secrets.
    pub fields: Table,
    /// Fields that infold cannot honour.
    pub dropped: Vec<DroppedField>,
    /// What it needs and does not have now.
    pub missing: Vec<String>,
}

/// A server that is not taken.
#[derive(Debug, PartialEq, Eq)]
pub struct LeftServer {
    /// Its name.
    pub name: String,
    /// The file that it is in.
    pub from: PathBuf,
    /// Why it is not taken.
    pub why: String,
}

/// What was found in a client's files.
#[derive(Debug, Default)]
pub struct Import {
    /// Servers that can be taken, in the order of the files.
    pub taken: Vec<ImportedServer>,
    /// Servers that stay with the client.
    pub left: Vec<LeftServer>,
    /// What concerns all of them.
    pub notes: Vec<String>,
    /// The client's name, if it gives programs its whole environment.
    pub whole_environment: Option<&'static str>,
}

impl Import {
    /// Reads a client's files.
    pub fn read(source: &ImportSource, scope: ImportScope, invocation: &Invocation) -> anyhow::Result<Self> {
        let found = match source {
            ImportSource::Claude => claude::read(scope, &invocation.surroundings),
            ImportSource::Codex => codex::read(scope, &invocation.surroundings),
            ImportSource::Opencode => opencode::read(scope, &invocation.surroundings),
            ImportSource::File(path) => json::read(path),
        }?;
        let mut import = Self { notes: found.notes, whole_environment: found.whole_environment, ..Self::default() };
        for server in found.servers {
            import.add(server, invocation);
        }
        Ok(import)
    }

    /// What concerns all of them, for somebody who can write `remedy` where programs need more variables.
    pub fn notes_with(&self, remedy: &str) -> Vec<String> {
        let environment = self.whole_environment.map(|client| {
            format!("{client} gives programs its whole environment, infold only PATH, HOME and the like: {remedy}")
        });
        environment.into_iter().chain(self.notes.iter().cloned()).collect()
    }

    fn add(&mut self, server: FoundServer, invocation: &Invocation) {
        let FoundServer { name, from, project, own_rules, draft } = server;
        match draft.and_then(|draft| checked(&name, draft, invocation)) {
            Ok((entry, draft, missing)) => {
                let EntryDraft { fields, dropped, .. } = draft;
                self.taken.push(ImportedServer { entry, from, project, own_rules, fields, dropped, missing });
            }
            Err(why) => self.left.push(LeftServer { name, from, why }),
        }
    }
}

/// A server in a client's file: its entry in infold's form, or why it is not taken.
struct FoundServer {
    name: String,
    from: PathBuf,
    project: Option<PathBuf>,
    own_rules: Option<RightsSource>,
    draft: Result<EntryDraft, String>,
}

/// All servers of a client.
#[derive(Default)]
struct FoundServers {
    servers: Vec<FoundServer>,
    notes: Vec<String>,
    whole_environment: Option<&'static str>,
}

/// Reads the entry as infold's settings would. What is wrong with it then is why it is not taken.
fn checked(
    name: &str,
    mut draft: EntryDraft,
    invocation: &Invocation,
) -> Result<(ServerEntry, EntryDraft, Vec<String>), String> {
    draft.name(name);
    let read = |draft: &EntryDraft| {
        let server = GatewayServer::read(&draft.fields).map_err(|problems| problems.join("; "))?;
        Ok::<_, String>(invocation.in_force.settings.gateway.entry(&server))
    };
    let problems = read(&draft)?.problems();
    draft.drop_headers(&problems);

    let entry = read(&draft)?;
    if is_own(&entry) {
        return Err("it is infold itself".to_owned());
    }
    let problems: Vec<String> = entry.problems().iter().map(ToString::to_string).collect();
    if !problems.is_empty() {
        return Err(problems.join("; "));
    }
    let missing = entry.expanded(&|name| variable_in(&invocation.surroundings, name)).err().unwrap_or_default();
    let missing = missing.iter().map(ToString::to_string).collect();
    Ok((entry, draft, missing))
}

/// The nearest file of this name in the current folder or above it.
fn nearest_file(name: &str, surroundings: &Surroundings) -> Option<PathBuf> {
    let folders = surroundings.folder.iter().flat_map(|folder| folder.ancestors()).take(FOLDERS_MAX);
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}
