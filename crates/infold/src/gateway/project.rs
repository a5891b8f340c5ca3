//! Servers in files of the project that the current folder belongs to. Anybody may have written those files, so such a
//! server is used only once the user has approved it, as it is written now.

use std::path::Path;

use infold_core::gateway::{EntryOrigin, ServerEntry, SourceClient};
use infold_engine::Engine;

use super::import::{Import, ImportScope, ImportSource, ImportedServer};
use crate::commands::Invocation;

/// A server in a project's file.
#[derive(Debug)]
pub struct ProjectServer {
    /// Its entry, whose origin names the client and the project.
    pub entry: ServerEntry,
    /// Whether the user has approved it as it is written now.
    pub is_approved: bool,
}

/// All servers in files of this project, of every client whose files can be read. Without an engine, nothing was stored
/// yet, and none is approved.
pub async fn project_servers(invocation: &Invocation, engine: Option<&Engine>) -> anyhow::Result<Vec<ProjectServer>> {
    let mut servers = Vec::new();
    for client in [SourceClient::Claude, SourceClient::Codex, SourceClient::Opencode] {
        // A client that is not set up here has no files, and one whose files are broken says so itself.
        let Ok(import) = Import::read(&source_of(client), ImportScope::Project, invocation) else { continue };
        for server in import.taken {
            let origin = origin_of(client, &server);
            let EntryOrigin::Project { path, .. } = &origin else { continue };
            let is_approved = match engine {
                Some(engine) => engine.is_entry_approved(path, &server.entry).await?,
                None => false,
            };
            servers.push(ProjectServer { entry: ServerEntry { origin, ..server.entry }, is_approved });
        }
    }
    Ok(servers)
}

/// Approves a server of a project, as it is written now.
pub async fn approve_project_server(server: &ProjectServer, engine: &Engine) -> anyhow::Result<()> {
    if let EntryOrigin::Project { path, .. } = &server.entry.origin {
        engine.approve_entry(path, &server.entry).await?;
    }
    Ok(())
}

/// Where a client's servers are read from.
pub fn source_of(client: SourceClient) -> ImportSource {
    match client {
        SourceClient::Claude => ImportSource::Claude,
        SourceClient::Codex => ImportSource::Codex,
        SourceClient::Opencode => ImportSource::Opencode,
    }
}

/// Whose a server of a client is: the user's, or a project's.
pub fn origin_of(client: SourceClient, server: &ImportedServer) -> EntryOrigin {
    match &server.project {
        Some(folder) => EntryOrigin::Project { client, path: real_path_of(folder) },
        None => EntryOrigin::User(client),
    }
}

/// A folder's path without links, so that one project has one path.
fn real_path_of(folder: &Path) -> String {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).to_string_lossy().into_owned()
}
