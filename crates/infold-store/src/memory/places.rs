//! Where memories count: names that mean the same project, and sessions and projects that are left alone.

use std::fmt;

use infold_core::memory::{Memory, MemoryScope, ProjectKey};
use infold_core::{Owner, Scrubbed, SessionId};
use rusqlite::{OptionalExtension, Transaction, params};

use super::row::{self, stored};
use super::undo::NewChange;
use super::{keep, words};
use crate::gateway::stored_text;
use crate::{Store, StoreError};

/// What nothing is learnt from and nothing is shown to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SilenceScope {
    /// One session.
    Session(SessionId),
    /// All work in a project.
    Project(ProjectKey),
}

impl fmt::Display for SilenceScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(session) => write!(f, "session:{session}"),
            Self::Project(project) => write!(f, "project:{}", project.as_str()),
        }
    }
}

/// A project that has memories or a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRow {
    /// Its key.
    pub project: ProjectKey,
    /// What people call it: the path of a folder, as a rule.
    pub label: Option<Scrubbed>,
    /// Other keys that mean it.
    pub aliases: Vec<ProjectKey>,
    /// How many memories it has that are shown.
    pub live: u64,
    /// How many of its memories wait for review.
    pub waiting: u64,
    /// Whether it is left alone.
    pub is_silenced: bool,
    /// Other projects that say that they have the same remote.
    pub clones: Vec<ProjectKey>,
}

/// Where a project is.
#[derive(Debug, Clone)]
pub struct NamedProject {
    /// Its key.
    pub project: ProjectKey,
    /// What people call it: the path of a folder, as a rule.
    pub label: Scrubbed,
    /// The folder that the worktrees of its repository share, if there is one that may be looked at.
    pub git_folder: Option<Scrubbed>,
    /// A hash of where its origin is; empty if it has none, `None` if that is not known.
    pub remote: Option<String>,
    /// What becomes of another project with the same remote.
    pub clones: Clones,
}

/// What a project is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectKind {
    /// A repository, which may have a remote.
    Repository,
    /// A folder.
    Folder,
}

/// What becomes of projects with the same remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clones {
    /// They stay apart.
    Apart,
    /// They become one project.
    Joined,
}

impl Store {
    /// Whether it is noted where a project is.
    pub async fn is_project_named(
        &self,
        owner: Owner,
        project: ProjectKey,
        kind: ProjectKind,
    ) -> Result<bool, StoreError> {
        self.read_little(move |transaction| {
            let sql = "SELECT remote IS NOT NULL FROM memory_projects WHERE owner = ?1 AND alias = ?2";
            let known: Option<bool> = transaction
                .prepare_cached(sql)?
                .query_row(params![owner.as_str(), project.as_str()], |row| row.get(0))
                .optional()?;
            Ok(known.is_some_and(|has_remote| has_remote || kind == ProjectKind::Folder))
        })
        .await
    }

    /// Notes where a project is, and makes one project of it and another that has the same remote, if that is wanted.
    /// Returns whether it did.
    pub async fn name_project(&self, owner: Owner, named: NamedProject, at_ms: u64) -> Result<bool, StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                write_name(transaction, &owner, &named)?;
                let other = match (&named.remote, named.clones) {
                    (Some(remote), Clones::Joined) if !remote.is_empty() => {
                        first_with_remote(transaction, &owner, remote, &named.project)?
                    }
                    (_, _) => None,
                };
                let Some(into) = other else { return Ok(false) };
                let change = NewChange::begin(transaction, &owner, "projects joined", at_ms)?;
                join(transaction, &owner, &named.project, &into, change)?;
                Ok(true)
            })
            .await
    }

    /// The project's own key, by any of its names.
    pub async fn project_named(&self, owner: Owner, key: ProjectKey) -> Result<ProjectKey, StoreError> {
        self.read_little(move |transaction| project_named(transaction, &owner, &key)).await
    }

    /// Makes one project of two: the memories of `from` move to `into`. Returns how many.
    pub async fn join_projects(
        &self,
        owner: Owner,
        from: ProjectKey,
        into: ProjectKey,
        at_ms: u64,
    ) -> Result<u64, StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                let into = project_named(transaction, &owner, &into)?;
                let change = NewChange::begin(transaction, &owner, "projects joined", at_ms)?;
                join(transaction, &owner, &into, &into, change)?;
                join(transaction, &owner, &from, &into, change)
            })
            .await
    }

    /// Lists the projects that have memories or a name, in order of keys.
    pub async fn memory_projects(&self, owner: Owner) -> Result<Vec<ProjectRow>, StoreError> {
        self.read(move |transaction| list(transaction, &owner)).await
    }

    /// Leaves a session or a project alone from now on.
    pub async fn silence_memories(&self, owner: Owner, scope: SilenceScope, at_ms: u64) -> Result<(), StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                let scope = scope_named(transaction, &owner, &scope)?;
                transaction
                    .prepare_cached("INSERT OR IGNORE INTO memory_silence (owner, scope, at) VALUES (?1, ?2, ?3)")?
                    .execute(params![owner.as_str(), scope.to_string(), at_ms])?;
                Ok(())
            })
            .await
    }

    /// Ends that. Returns whether it was so.
    pub async fn unsilence_memories(&self, owner: Owner, scope: SilenceScope) -> Result<bool, StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                let scope = scope_named(transaction, &owner, &scope)?;
                let deleted = transaction
                    .prepare_cached("DELETE FROM memory_silence WHERE owner = ?1 AND scope = ?2")?
                    .execute(params![owner.as_str(), scope.to_string()])?;
                Ok(deleted > 0)
            })
            .await
    }

    /// Lists what is left alone, as `session:` or `project:` and a name.
    pub async fn silenced_memories(&self, owner: Owner) -> Result<Vec<String>, StoreError> {
        self.read(move |transaction| {
            let sql = "SELECT scope FROM memory_silence WHERE owner = ?1 ORDER BY scope";
            let mut statement = transaction.prepare_cached(sql)?;
            let rows = statement.query_map([owner.as_str()], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Whether a session is left alone, or the project that it works in.
    pub async fn is_memory_silenced(
        &self,
        owner: Owner,
        session: Option<SessionId>,
        project: Option<ProjectKey>,
    ) -> Result<bool, StoreError> {
        self.read_little(move |transaction| is_silenced(transaction, &owner, session.as_ref(), project.as_ref())).await
    }
}

/// Puts a memory of a project under the project's own key.
pub(super) fn put_in_project(transaction: &Transaction<'_>, memory: &mut Memory) -> Result<(), StoreError> {
    if let MemoryScope::Project(project) = &memory.scope {
        memory.scope = MemoryScope::Project(project_named(transaction, &memory.origin.owner, project)?);
    }
    Ok(())
}

/// The project's own key, by any of its names.
pub(super) fn project_named(
    transaction: &Transaction<'_>,
    owner: &Owner,
    key: &ProjectKey,
) -> Result<ProjectKey, StoreError> {
    Ok(alias_of(transaction, owner, key)?.unwrap_or_else(|| key.clone()))
}

pub(super) fn is_silenced(
    transaction: &Transaction<'_>,
    owner: &Owner,
    session: Option<&SessionId>,
    project: Option<&ProjectKey>,
) -> Result<bool, StoreError> {
    let session = session.map(|session| SilenceScope::Session(session.clone()).to_string());
    let project = match project {
        Some(project) => Some(SilenceScope::Project(project_named(transaction, owner, project)?).to_string()),
        None => None,
    };
    let sql = "SELECT 1 FROM memory_silence WHERE owner = ?1 AND scope IN (?2, ?3)";
    Ok(transaction.prepare_cached(sql)?.exists(params![owner.as_str(), session, project])?)
}

/// Makes a name mean a project, or nothing but itself, and notes what it meant.
pub(super) fn set_alias(
    transaction: &Transaction<'_>,
    owner: &Owner,
    alias: &ProjectKey,
    project: Option<&ProjectKey>,
    change: NewChange,
) -> Result<(), StoreError> {
    change.note_alias(transaction, owner, alias, alias_of(transaction, owner, alias)?)?;
    match project {
        Some(project) => transaction
            .prepare_cached(
                "INSERT INTO memory_projects (owner, alias, project) VALUES (?1, ?2, ?3)
                 ON CONFLICT (owner, alias) DO UPDATE SET project = ?3",
            )?
            .execute(params![owner.as_str(), alias.as_str(), project.as_str()])?,
        None => transaction
            .prepare_cached("DELETE FROM memory_projects WHERE owner = ?1 AND alias = ?2")?
            .execute(params![owner.as_str(), alias.as_str()])?,
    };
    Ok(())
}

fn scope_named(transaction: &Transaction<'_>, owner: &Owner, scope: &SilenceScope) -> Result<SilenceScope, StoreError> {
    match scope {
        SilenceScope::Session(_) => Ok(scope.clone()),
        SilenceScope::Project(project) => Ok(SilenceScope::Project(project_named(transaction, owner, project)?)),
    }
}

fn alias_of(transaction: &Transaction<'_>, owner: &Owner, key: &ProjectKey) -> Result<Option<ProjectKey>, StoreError> {
    Ok(transaction
        .prepare_cached("SELECT project FROM memory_projects WHERE owner = ?1 AND alias = ?2")?
        .query_row(params![owner.as_str(), key.as_str()], |row| row.get(0).map(ProjectKey::from_stored))
        .optional()?)
}

fn write_name(transaction: &Transaction<'_>, owner: &Owner, named: &NamedProject) -> Result<(), StoreError> {
    transaction
        .prepare_cached(
            "INSERT INTO memory_projects (owner, alias, project, label, git_folder, remote)
             VALUES (?1, ?2, ?2, ?3, ?4, ?5)
             ON CONFLICT (owner, alias) DO UPDATE
             SET label = coalesce(label, ?3), git_folder = coalesce(git_folder, ?4), remote = coalesce(remote, ?5)",
        )?
        .execute(params![
            owner.as_str(),
            named.project.as_str(),
            named.label.as_str(),
            named.git_folder.as_ref().map(Scrubbed::as_str),
            named.remote
        ])?;
    Ok(())
}

/// Of the other projects with a remote, the one with the most memories.
fn first_with_remote(
    transaction: &Transaction<'_>,
    owner: &Owner,
    remote: &str,
    but: &ProjectKey,
) -> Result<Option<ProjectKey>, StoreError> {
    let but = project_named(transaction, owner, but)?;
    let mut statement = transaction.prepare_cached(
        "SELECT project FROM memory_projects AS place WHERE owner = ?1 AND remote = ?2 AND project <> ?3
         ORDER BY (SELECT count(*) FROM memories WHERE owner = ?1 AND memories.project = place.project) DESC, project",
    )?;
    let key = [owner.as_str(), remote, but.as_str()];
    Ok(statement.query_row(key, |row| row.get(0).map(ProjectKey::from_stored)).optional()?)
}

/// Other projects that have a remote in common with this one.
fn clones_of(
    transaction: &Transaction<'_>,
    owner: &Owner,
    project: &ProjectKey,
) -> Result<Vec<ProjectKey>, StoreError> {
    let mut statement = transaction.prepare_cached(
        "SELECT DISTINCT project FROM memory_projects WHERE owner = ?1 AND project <> ?2 AND remote <> '' AND remote IN
             (SELECT remote FROM memory_projects WHERE owner = ?1 AND project = ?2) ORDER BY project",
    )?;
    let rows =
        statement.query_map([owner.as_str(), project.as_str()], |row| row.get(0).map(ProjectKey::from_stored))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Moves whatever counts under a name to a project. Returns how many memories were moved.
fn join(
    transaction: &Transaction<'_>,
    owner: &Owner,
    alias: &ProjectKey,
    into: &ProjectKey,
    change: NewChange,
) -> Result<u64, StoreError> {
    let from = project_named(transaction, owner, alias)?;
    for name in names_of(transaction, owner, &from)?.iter().chain([alias, &from]) {
        if alias_of(transaction, owner, name)?.as_ref() != Some(into) {
            set_alias(transaction, owner, name, Some(into), change)?;
        }
    }
    if from == *into {
        return Ok(0);
    }
    let sql = format!("SELECT {} FROM memories WHERE owner = ?1 AND project = ?2", row::COLUMNS);
    let mut statement = transaction.prepare_cached(&sql)?;
    let mut rows = statement.query([owner.as_str(), from.as_str()])?;
    let mut moved = Vec::new();
    while let Some(row) = rows.next()? {
        moved.push(stored(row)?);
    }
    for before in &moved {
        change.note(transaction, owner, &before.memory.id, Some(before))?;
        let after = Memory { scope: MemoryScope::Project(into.clone()), ..before.memory.clone() };
        keep::rewrite(transaction, before, &after, Some(&words::read(transaction, before.rowid)?))?;
    }
    Ok(moved.len() as u64)
}

fn names_of(transaction: &Transaction<'_>, owner: &Owner, project: &ProjectKey) -> Result<Vec<ProjectKey>, StoreError> {
    let sql = "SELECT alias FROM memory_projects WHERE owner = ?1 AND project = ?2 ORDER BY alias";
    let mut statement = transaction.prepare_cached(sql)?;
    let rows =
        statement.query_map([owner.as_str(), project.as_str()], |row| row.get(0).map(ProjectKey::from_stored))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn list(transaction: &Transaction<'_>, owner: &Owner) -> Result<Vec<ProjectRow>, StoreError> {
    let mut statement = transaction.prepare_cached(
        "SELECT project, (SELECT label FROM memory_projects AS named WHERE named.owner = ?1 AND alias = known.project)
         FROM (SELECT project FROM memory_projects WHERE owner = ?1
               UNION SELECT project FROM memories WHERE owner = ?1 AND project IS NOT NULL) AS known ORDER BY project",
    )?;
    let found: Vec<(ProjectKey, Option<Scrubbed>)> = statement
        .query_map([owner.as_str()], |row| {
            Ok((ProjectKey::from_stored(row.get(0)?), row.get::<_, Option<String>>(1)?.map(stored_text)))
        })?
        .collect::<Result<_, _>>()?;
    let count = |project: &ProjectKey, state: &str| -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM memories WHERE owner = ?1 AND project = ?2 AND state = ?3";
        let key = [owner.as_str(), project.as_str(), state];
        Ok(transaction.prepare_cached(sql)?.query_row(key, |row| row.get(0))?)
    };
    found
        .into_iter()
        .map(|(project, label)| {
            let mut aliases = names_of(transaction, owner, &project)?;
            aliases.retain(|alias| *alias != project);
            Ok(ProjectRow {
                label,
                aliases,
                live: count(&project, "live")?,
                waiting: count(&project, "waiting")?,
                is_silenced: is_silenced(transaction, owner, None, Some(&project))?,
                clones: clones_of(transaction, owner, &project)?,
                project,
            })
        })
        .collect()
}
