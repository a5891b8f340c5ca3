//! Git branches that memories come from: which of them were ahead of the trunk, and which have reached it.

use infold_core::memory::ProjectKey;
use infold_core::{Owner, Scrubbed};
use rusqlite::params;

use super::places;
use crate::codec::to_json;
use crate::gateway::stored_text;
use crate::{Store, StoreError};

/// A git branch of a repository, with memories of work that is not known to be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmergedBranch {
    /// The repository's own key, also where its project has another one.
    pub project: ProjectKey,
    /// The folder that the worktrees of the repository share.
    pub git_folder: Scrubbed,
    /// The name of the git branch.
    pub name: Scrubbed,
    /// Its last commit that was seen to be ahead of the trunk.
    pub tip: Option<String>,
}

impl Store {
    /// Lists git branches with memories that are not known to be merged, those of the newest memories first. `trunks` are
    /// names of git branches that are left out.
    pub async fn unmerged_branches(
        &self,
        owner: Owner,
        trunks: &'static [&'static str],
        branches_max: usize,
    ) -> Result<Vec<UnmergedBranch>, StoreError> {
        self.read(move |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT place.alias, place.git_folder, memories.git_branch,
                     (SELECT tip FROM memory_git_branches AS seen
                      WHERE seen.owner = ?1 AND seen.project = place.alias AND seen.name = memories.git_branch)
                 FROM memories JOIN memory_projects AS place
                     ON place.owner = memories.owner AND place.project = memories.project
                 WHERE memories.owner = ?1 AND memories.merged_at IS NULL AND memories.git_branch IS NOT NULL
                     AND place.git_folder IS NOT NULL
                     AND memories.git_branch NOT IN (SELECT value FROM json_each(?2))
                 GROUP BY place.alias, memories.git_branch ORDER BY max(memories.made_at) DESC LIMIT ?3",
            )?;
            let key = params![owner.as_str(), to_json("names", &trunks)?, branches_max];
            let found = statement.query_map(key, |row| {
                Ok(UnmergedBranch {
                    project: ProjectKey::from_stored(row.get(0)?),
                    git_folder: stored_text(row.get(1)?),
                    name: stored_text(row.get(2)?),
                    tip: row.get(3)?,
                })
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Notes that a git branch is ahead of the trunk by this commit.
    pub async fn note_branch_ahead(&self, owner: Owner, branch: UnmergedBranch, tip: String) -> Result<(), StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                transaction
                    .prepare_cached(
                        "INSERT INTO memory_git_branches (owner, project, name, tip) VALUES (?1, ?2, ?3, ?4)
                         ON CONFLICT (owner, project, name) DO UPDATE SET tip = ?4",
                    )?
                    .execute(params![owner.as_str(), branch.project.as_str(), branch.name.as_str(), tip])?;
                Ok(())
            })
            .await
    }

    /// Notes that the work of a git branch is in the trunk. Returns how many memories that changes.
    pub async fn note_branch_merged(
        &self,
        owner: Owner,
        branch: UnmergedBranch,
        at_ms: u64,
    ) -> Result<usize, StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                let project = places::project_named(transaction, &owner, &branch.project)?;
                transaction
                    .prepare_cached("DELETE FROM memory_git_branches WHERE owner = ?1 AND project = ?2 AND name = ?3")?
                    .execute([owner.as_str(), branch.project.as_str(), branch.name.as_str()])?;
                let changed = transaction
                    .prepare_cached(
                        "UPDATE memories SET merged_at = ?4 WHERE owner = ?1 AND project = ?2 AND git_branch = ?3
                         AND merged_at IS NULL AND made_at <= ?4",
                    )?
                    .execute(params![owner.as_str(), project.as_str(), branch.name.as_str(), at_ms])?;
                Ok(changed)
            })
            .await
    }
}
