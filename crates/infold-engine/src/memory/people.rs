//! People look at memories: a list, one of them with all that is known of it, and why a branch was given some.

use infold_core::memory::{Memory, MemoryId, MemoryKind, ProjectKey, QueryTexts};
use infold_core::{Field, Principal, Refusal};
use infold_store::{MemoryCounts, MemoryDetail, MemoryFilter, MemoryRow, SearchReach, ShownRow, StateFilter};

use crate::{BranchRef, Engine, Error, shown};

/// What people look for.
const QUERY: Field = Field { name: "query", chars_max: 2_000 };
const DAY_MS: u64 = 86_400_000;

/// Which memories to list.
#[derive(Debug, Clone, Default)]
pub struct ListMemories {
    /// Only those that count in this project: a path, or a project's key; all if it is not given.
    pub project: Option<String>,
    /// Only those of a kind.
    pub kind: Option<MemoryKind>,
    /// Only those of a state.
    pub state: Option<StateFilter>,
    /// Only those that have to do with this text, the best first.
    pub query: Option<String>,
    /// How many of the first to skip.
    pub offset: usize,
    /// How many to return at most.
    pub limit: usize,
}

/// A memory in a list.
#[derive(Debug, Clone)]
pub struct ListedMemory {
    /// The memory.
    pub row: MemoryRow,
    /// How sure it is now.
    pub confidence: f64,
}

/// Part of a list of memories.
#[derive(Debug, Clone)]
pub struct MemoryPage {
    /// The memories.
    pub memories: Vec<ListedMemory>,
    /// How many there are, and what they were used for in the last day.
    pub counts: MemoryCounts,
}

/// A memory with all that is known of it.
#[derive(Debug, Clone)]
pub struct ShownDetail {
    /// What the store has of it.
    pub detail: MemoryDetail,
    /// How sure it is now.
    pub confidence: f64,
    /// The memory whose place it took, if that is still there.
    pub replaces: Option<Memory>,
}

/// What a branch was given, and what each of it says now.
#[derive(Debug, Clone)]
pub struct WhyShown {
    /// What was noted when the branch was opened.
    pub row: ShownRow,
    /// The memories in that order; `None` for one that was forgotten since.
    pub memories: Vec<Option<ListedMemory>>,
}

impl Engine {
    /// Lists memories: those that fit a query best, or all in the order in which they were made.
    pub async fn list_memories(&self, who: &Principal, request: &ListMemories) -> Result<MemoryPage, Error> {
        let project = match &request.project {
            Some(project) => Some(self.project_by_name(who, project).await?),
            None => None,
        };
        let rows = match &request.query {
            Some(query) => self.rows_found(who, request, &QUERY.clean(query)?, project).await?,
            None => self.inner.store.memories(filter(who, request, project)).await?,
        };

        let memories = rows.into_iter().map(|row| self.listed(row)).collect();
        let since_ms = self.now_ms().saturating_sub(DAY_MS);
        Ok(MemoryPage { memories, counts: self.inner.store.memory_counts(who.owner.clone(), since_ms).await? })
    }

    /// Shows a memory with all that is known of it.
    pub async fn show_memory(&self, who: &Principal, memory: &str) -> Result<ShownDetail, Error> {
        let id = named_memory(memory)?;
        let Some(detail) = self.inner.store.memory(who.owner.clone(), id).await? else {
            return Err(absent(memory).into());
        };
        let replaces = match &detail.row.memory.replaces {
            Some(old) => self.inner.store.memory(who.owner.clone(), old.clone()).await?,
            None => None,
        };
        let confidence = self.confidence(&detail.row.memory);
        Ok(ShownDetail { detail, confidence, replaces: replaces.map(|old| old.row.memory) })
    }

    /// Says which memories a branch was given when it was opened, and why. `None` if it was given none.
    pub async fn why_shown(&self, who: &Principal, branch: &str) -> Result<Option<WhyShown>, Error> {
        let id = self.branch_id(branch)?;
        let Some(row) = self.inner.store.shown_to_branch(who.owner.clone(), id).await? else {
            return self.check_branch(who, branch).await.map(|()| None);
        };
        let mut memories = Vec::with_capacity(row.memories.len());
        for given in &row.memories {
            let found = self.inner.store.memory(who.owner.clone(), given.id.clone()).await?;
            memories.push(found.map(|found| self.listed(found.row)));
        }
        Ok(Some(WhyShown { row, memories }))
    }

    /// Refuses a branch that is neither open, nor ended, nor archived.
    async fn check_branch(&self, who: &Principal, branch: &str) -> Result<(), Error> {
        let named = BranchRef::Id { branch: branch.to_owned(), session: None };
        match self.branch(who, &named, None).await {
            Ok(Some(_)) => Ok(()),
            Ok(None) | Err(Error::Refused(Refusal::BranchNotFound { .. })) => {
                self.trajectory(who, branch, None).await.map(|_| ())
            }
            Err(other) => Err(other),
        }
    }

    async fn rows_found(
        &self,
        who: &Principal,
        request: &ListMemories,
        query: &str,
        project: Option<ProjectKey>,
    ) -> Result<Vec<MemoryRow>, Error> {
        let projects = match project {
            Some(project) => vec![project],
            None => {
                self.inner.store.memory_projects(who.owner.clone()).await?.into_iter().map(|row| row.project).collect()
            }
        };
        let texts = QueryTexts { description: "", prompt: query, git_branch: None };
        let found = self.find_in(&who.owner, projects, texts, SearchReach::All).await?;
        let found = found.into_iter().map(|found| MemoryRow {
            memory: found.memory,
            shown: found.shown,
            used: found.used,
            shown_at_ms: None,
            is_changed: found.is_changed,
            is_merged: found.is_merged,
        });
        let fits = |row: &MemoryRow| {
            let has_kind = request.kind.is_none_or(|kind| row.memory.lesson.kind == kind);
            has_kind && request.state.is_none_or(|state| state.takes(&row.memory.state))
        };
        Ok(found.filter(fits).skip(request.offset).take(request.limit).collect())
    }

    pub(super) fn listed(&self, row: MemoryRow) -> ListedMemory {
        ListedMemory { confidence: self.confidence(&row.memory), row }
    }
}

/// Reads the name of a memory that a caller sent.
pub(super) fn named_memory(text: &str) -> Result<MemoryId, Refusal> {
    MemoryId::parse(text.trim()).ok_or_else(|| absent(text))
}

/// The answer about a memory that is not there, or is somebody else's.
pub(super) fn absent(memory: &str) -> Refusal {
    Refusal::MemoryNotFound { memory: shown(memory) }
}

fn filter(who: &Principal, request: &ListMemories, project: Option<ProjectKey>) -> MemoryFilter {
    MemoryFilter {
        owner: who.owner.clone(),
        project,
        kind: request.kind,
        state: request.state.unwrap_or(StateFilter::All),
        session: None,
        branch: None,
        offset: request.offset,
        limit: request.limit,
    }
}
