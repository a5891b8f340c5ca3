//! Ended branches, for people and programs that look back.

use infold_core::Principal;
use infold_store::{ArchiveQuery, Archived, Trajectory};

use crate::{Engine, Error};

impl Engine {
    /// Lists the caller's ended branches, newest first; those of all sessions if none is named.
    pub async fn archive(
        &self,
        who: &Principal,
        session: Option<String>,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<Archived>, Error> {
        let query = ArchiveQuery { owner: who.owner.clone(), session, offset, limit };
        Ok(self.inner.store.archive(query).await?)
    }

    /// Reads an ended branch with everything that happened in it: its latest generation if none is named.
    pub async fn trajectory(
        &self,
        who: &Principal,
        branch: &str,
        generation: Option<u32>,
    ) -> Result<Trajectory, Error> {
        let id = self.branch_id(branch)?;
        let absent = infold_core::Refusal::BranchNotFound { branch: id.to_string() };
        let found = self.inner.store.trajectory(who.owner.clone(), id, generation).await?;
        found.ok_or_else(|| absent.into())
    }
}
