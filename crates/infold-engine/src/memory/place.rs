//! Where work is done: the project that what is learnt belongs to.

use std::path::{Path, PathBuf};

use infold_core::memory::{ProjectKey, WorkPlace};
use infold_core::{Owner, Principal, strip_hostile};

use super::repository::{FoundProject, project_of};
use crate::{Engine, SessionRef};

impl Engine {
    /// Where a session's work is done, by the best that is known: what the caller says, the project that the session is
    /// named by, the folder that its client gives the model, the folder that infold was started in.
    pub(crate) async fn work_place(&self, who: &Principal, session: &SessionRef, folder: Option<&Path>) -> WorkPlace {
        let folder = self.folder_of(who, session, folder).await;
        self.place_in(who, folder).await
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

    /// The project of a folder. Folders of other principals are on other machines: they are names here and are never
    /// looked at.
    pub(crate) async fn place_in(&self, who: &Principal, folder: PathBuf) -> WorkPlace {
        let by_name =
            WorkPlace { project: ProjectKey::of_path(&folder.to_string_lossy()), git_branch: None, folder: None };
        if who.owner != Owner::local() {
            return by_name;
        }
        let looked_at = folder.clone();
        let Ok(found) = tokio::task::spawn_blocking(move || project_of(&looked_at)).await else { return by_name };
        let FoundProject { project, git_branch } = found;
        let texts = [git_branch.unwrap_or_default(), folder.to_string_lossy().into_owned()];
        // A name that cannot be scrubbed is left out, and so is a folder that is another one then.
        let Ok(scrubbed) = self.scrub(texts.clone().map(|text| strip_hostile(&text))).await else {
            return WorkPlace { project, git_branch: None, folder: None };
        };
        let [git_branch, folder] = scrubbed.map(|text| (!text.as_str().is_empty()).then_some(text));
        WorkPlace { project, git_branch, folder: folder.filter(|folder| folder.as_str() == texts[1]) }
    }

    /// Notes what people call a project: the first folder that was seen of it. Lists show it; nothing depends on it.
    pub(crate) async fn name_project(&self, who: &Principal, place: &WorkPlace, folder: &Path) {
        let label = match &place.folder {
            Some(folder) => folder.clone(),
            None => match self.scrub([strip_hostile(&folder.to_string_lossy())]).await {
                Ok([label]) => label,
                Err(_) => return,
            },
        };
        if let Err(error) = self.inner.store.name_project(who.owner.clone(), place.project.clone(), label).await {
            tracing::warn!(%error, "a project's name could not be noted");
        }
    }
}
