//! Where work is done: the project that what is learnt belongs to.

use std::path::{Path, PathBuf};

use infold_core::memory::{ProjectKey, ProjectsBy, WorkPlace};
use infold_core::{Owner, Principal, Scrubbed, strip_hostile};
use infold_store::{Clones, NamedProject, ProjectKind};

use super::repository::{FoundProject, project_of, remote_in};
use crate::{Engine, Error, SessionRef};

/// The length of a remote's hash.
const REMOTE_CHARS: usize = 32;

/// A folder that was looked at.
pub(crate) struct MetFolder {
    pub work_place: WorkPlace,
    /// The folder that the worktrees of its repository share.
    git_folder: Option<Scrubbed>,
    /// The folder as it was named.
    path: String,
}

impl Engine {
    /// Where a session's work is done, by the best that is known: what the caller says, the project that the session is
    /// named by, the folder that its client gives the model, the folder that infold was started in.
    pub(crate) async fn work_place(&self, who: &Principal, session: &SessionRef, folder: Option<&Path>) -> WorkPlace {
        let folder = self.folder_of(who, session, folder).await;
        self.meet_folder(who, folder).await.work_place
    }

    /// The folder that a session's work is done in; empty if nobody knows.
    pub(crate) async fn folder_of(&self, who: &Principal, session: &SessionRef, named: Option<&Path>) -> PathBuf {
        let of_session = || async {
            match session {
                SessionRef::Project { path, .. } => Some(PathBuf::from(path)),
                SessionRef::Id(id) => {
                    let seen = self.inner.store.session_requests(who.owner.clone(), Some(id.clone())).await.ok()?;
                    seen.into_iter().next()?.overview.folder.map(|folder| PathBuf::from(folder.as_str()))
                }
            }
        };
        let known = match named {
            Some(folder) => Some(folder.to_owned()),
            None => of_session().await,
        };
        let is_local = who.owner == Owner::local();
        known.or_else(|| self.inner.settings.folder.clone().filter(|_| is_local)).unwrap_or_default()
    }

    /// The project of a folder.
    pub(crate) async fn place_in(&self, who: &Principal, folder: PathBuf) -> WorkPlace {
        self.look_at_folder(who, folder).await.work_place
    }

    /// Looks at a folder. Those of other principals are on other machines: they are names here and are never looked at.
    pub(crate) async fn look_at_folder(&self, who: &Principal, folder: PathBuf) -> MetFolder {
        let path = folder.to_string_lossy().into_owned();
        let by_name = |project: ProjectKey| MetFolder {
            work_place: WorkPlace { project, git_branch: None, folder: None },
            git_folder: None,
            path: path.clone(),
        };
        if who.owner != Owner::local() {
            return by_name(ProjectKey::of_path(&path));
        }
        let Ok(found) = tokio::task::spawn_blocking(move || project_of(&folder)).await else {
            return by_name(ProjectKey::of_path(&path));
        };
        let FoundProject { project, git_branch, git_folder } = found;
        let texts = [git_branch, git_folder, Some(path.clone())].map(Option::unwrap_or_default);
        let Ok(scrubbed) = self.scrub(texts.clone().map(|text| strip_hostile(&text))).await else {
            return by_name(project);
        };
        let [git_branch, git_folder, folder] = scrubbed.map(|text| (!text.as_str().is_empty()).then_some(text));
        // A folder whose name had a secret in it would be another one.
        let git_folder = git_folder.filter(|folder| folder.as_str() == texts[1]);
        let folder = folder.filter(|folder| folder.as_str() == texts[2]);
        MetFolder { work_place: WorkPlace { project, git_branch, folder }, git_folder, path }
    }

    /// Looks at a folder, and notes where its project is if clones of it are to be found at once.
    pub(crate) async fn meet_folder(&self, who: &Principal, folder: PathBuf) -> MetFolder {
        let found = self.look_at_folder(who, folder).await;
        if self.inner.settings.memory.projects == ProjectsBy::Remote {
            self.name_project(who, &found).await;
        }
        found
    }

    /// Notes where a project is, and what people call it: the first folder that was seen of it. What is known is not
    /// looked at again.
    pub(crate) async fn name_project(&self, who: &Principal, found: &MetFolder) {
        if let Err(error) = self.note_place(who, found).await {
            tracing::warn!(%error, "a project's name could not be noted");
        }
    }

    async fn note_place(&self, who: &Principal, found: &MetFolder) -> Result<(), Error> {
        let WorkPlace { project, folder, .. } = &found.work_place;
        let kind = if found.git_folder.is_some() { ProjectKind::Repository } else { ProjectKind::Folder };
        if self.inner.store.is_project_named(who.owner.clone(), project.clone(), kind).await? {
            return Ok(());
        }
        let label = match folder {
            Some(folder) => folder.clone(),
            None => self.scrub([strip_hostile(&found.path)]).await.map(|[label]| label)?,
        };
        let named = NamedProject {
            project: project.clone(),
            label,
            git_folder: found.git_folder.clone(),
            remote: match &found.git_folder {
                Some(folder) => Some(self.remote_of(folder.as_str().to_owned()).await),
                None => None,
            },
            clones: match self.inner.settings.memory.projects {
                ProjectsBy::Folder => Clones::Apart,
                ProjectsBy::Remote => Clones::Joined,
            },
        };
        if self.inner.store.name_project(who.owner.clone(), named, self.now_ms()).await? {
            tracing::info!(project = project.as_str(), "a clone has the same origin as another project, and joined it");
        }
        Ok(())
    }

    /// A hash of what a repository says its origin is; empty if it says nothing. The key keeps others from trying names.
    async fn remote_of(&self, git_folder: String) -> String {
        let read = tokio::task::spawn_blocking(move || remote_in(Path::new(&git_folder))).await;
        let Some(name) = read.ok().flatten() else { return String::new() };
        blake3::keyed_hash(self.inner.store.secret(), format!("remote:{name}").as_bytes()).to_hex()[..REMOTE_CHARS]
            .to_owned()
    }
}
