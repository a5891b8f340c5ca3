//! Projects as people name them, and sessions and projects that are left alone.

use std::path::Path;

use infold_core::memory::ProjectKey;
use infold_core::{Owner, Principal, Refusal, SessionId, normalise_project_path};
use infold_store::{ProjectRow, SilenceScope};

use super::repository::project_of;
use crate::{Engine, Error, shown};

/// The length of a project's key.
const KEY_CHARS: usize = 16;

/// Whether something is learnt from a session or a project, and shown to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// Nothing is.
    On,
    /// It is as settings say.
    Off,
}

impl Engine {
    /// The project that a caller names, by its key or by the path of a folder in it. Folders of other principals are on
    /// other machines: they are names here and are never looked at.
    pub async fn project_by_name(&self, who: &Principal, name: &str) -> Result<ProjectKey, Error> {
        if is_key(name) {
            return Ok(ProjectKey::from_stored(name.to_owned()));
        }
        let path = normalise_project_path(name)?;
        if who.owner != Owner::local() {
            return Ok(ProjectKey::of_path(&path));
        }
        let looked_at = tokio::task::spawn_blocking(move || project_of(Path::new(&path)).project).await;
        looked_at.map_err(|_| crate::Failure::Undecided("the project").into())
    }

    /// Lists the caller's projects that have memories or a name.
    pub async fn memory_projects(&self, who: &Principal) -> Result<Vec<ProjectRow>, Error> {
        Ok(self.inner.store.memory_projects(who.owner.clone()).await?)
    }

    /// Makes one project of two, each named by its key or a path. Returns how many memories were moved.
    pub async fn join_projects(&self, who: &Principal, from: &str, into: &str) -> Result<u64, Error> {
        let (from, into) = (self.project_by_name(who, from).await?, self.project_by_name(who, into).await?);
        if from == into {
            let problem = "names the same project twice".to_owned();
            return Err(Refusal::Invalid { field: "project", problem }.into());
        }
        Ok(self.inner.store.join_projects(who.owner.clone(), from, into, self.now_ms()).await?)
    }

    /// Leaves a session or a project alone, or no longer. It is named as `session:` or `project:` and a name.
    pub async fn silence(&self, who: &Principal, scope: &str, silence: Silence) -> Result<SilenceScope, Error> {
        let scope = self.silence_scope(who, scope).await?;
        match silence {
            Silence::On => {
                self.inner.store.silence_memories(who.owner.clone(), scope.clone(), self.now_ms()).await?;
            }
            Silence::Off => {
                self.inner.store.unsilence_memories(who.owner.clone(), scope.clone()).await?;
            }
        }
        Ok(scope)
    }

    /// Lists what is left alone.
    pub async fn silenced(&self, who: &Principal) -> Result<Vec<String>, Error> {
        Ok(self.inner.store.silenced_memories(who.owner.clone()).await?)
    }

    async fn silence_scope(&self, who: &Principal, scope: &str) -> Result<SilenceScope, Error> {
        match scope.split_once(':') {
            Some(("session", session)) => Ok(SilenceScope::Session(session_named(session)?)),
            Some(("project", project)) => Ok(SilenceScope::Project(self.project_by_name(who, project).await?)),
            _ => {
                let problem = "must be session: or project: and a name, such as session:work".to_owned();
                Err(Refusal::Invalid { field: "scope", problem }.into())
            }
        }
    }
}

/// Reads the name of a session that a caller sent.
pub(super) fn session_named(session: &str) -> Result<SessionId, Refusal> {
    SessionId::parse(session).map_err(|_| Refusal::SessionNotFound { session: shown(session) })
}

fn is_key(name: &str) -> bool {
    name.len() == KEY_CHARS && name.bytes().all(|letter| matches!(letter, b'0'..=b'9' | b'a'..=b'f'))
}
