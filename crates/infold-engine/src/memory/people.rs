//! People look at memories: a list, one of them with all that is known of it, and why a branch was given some.

use infold_core::memory::{Memory, MemoryId, MemoryKind, MemoryState, ProjectKey, QueryTexts};
use infold_core::{Field, Owner, Principal, Refusal, SessionId};
use infold_store::{MemoryCounts, MemoryDetail, MemoryFilter, MemoryRow, SearchReach, ShownRow, StateFilter};

use super::asking::AskStatus;
use super::inject::GiveFate;
use super::search::FoundMemory;
use crate::{BranchRef, Engine, Error, shown};

/// What people look for.
const QUERY: Field = Field { name: "query", chars_max: 2_000 };
const DAY_MS: u64 = 86_400_000;
/// Openings and memories of one session that are looked at.
const OF_SESSION_MAX: usize = 1_000;

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
    /// Whether to say why each is where it is, if there is a query.
    pub explain: bool,
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
    /// Why each of them is where it is, in the same order, if somebody asked.
    pub reasons: Vec<FindReason>,
    /// How many there are, and what they were used for in the last day.
    pub counts: MemoryCounts,
    /// What the model takes that is asked for lessons; `None` if none is, or if it is not the caller's.
    pub asking: Option<AskStatus>,
}

/// Why a search has a memory where it has it, and whether a branch that opens for the query would be given it.
#[derive(Debug, Clone)]
pub struct FindReason {
    /// What its place comes from, as it is noted for a branch.
    pub parts: serde_json::Value,
    /// What would become of it.
    pub fate: GiveFate,
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

/// What a session was given of memories, and what was learnt from it.
#[derive(Debug, Clone, Default)]
pub struct SessionMemories {
    /// What its branches were given, in the order in which they were opened.
    pub given: Vec<WhyShown>,
    /// Memories that were made from it, in the order in which they were made.
    pub learnt: Vec<ListedMemory>,
}

impl SessionMemories {
    /// How many memories its branches were given, counted for each branch.
    pub fn given_count(&self) -> usize {
        self.given.iter().map(|why| why.memories.len()).sum()
    }

    /// The tokens of what its branches were given.
    pub fn given_tokens(&self) -> u64 {
        self.given.iter().map(|why| why.row.tokens).sum()
    }

    /// How many of those that were made from it wait for review.
    pub fn waiting_count(&self) -> usize {
        self.learnt.iter().filter(|memory| memory.row.memory.state == MemoryState::Waiting).count()
    }
}

impl Engine {
    /// Says what the branches of a session were given of memories, and what was learnt from them.
    pub async fn session_memories(&self, who: &Principal, session: &SessionId) -> Result<SessionMemories, Error> {
        let store = &self.inner.store;
        let rows = store.shown_in_session(who.owner.clone(), session.clone(), OF_SESSION_MAX).await?;
        let mut given = Vec::with_capacity(rows.len());
        for row in rows {
            given.push(self.why_given(who, row).await?);
        }
        let of_session = MemoryFilter {
            session: Some(session.clone()),
            ..filter(who, &ListMemories { limit: OF_SESSION_MAX, ..ListMemories::default() }, None)
        };
        let learnt = store.memories(of_session).await?;
        Ok(SessionMemories { given, learnt: learnt.into_iter().map(|row| self.listed(row)).collect() })
    }

    /// Lists memories: those that fit a query best, or all in the order in which they were made.
    pub async fn list_memories(&self, who: &Principal, request: &ListMemories) -> Result<MemoryPage, Error> {
        let project = match &request.project {
            Some(project) => Some(self.project_by_name(who, project).await?),
            None => None,
        };
        let (rows, reasons) = match &request.query {
            Some(query) => self.rows_found(who, request, &QUERY.clean(query)?, project).await?,
            None => (self.inner.store.memories(filter(who, request, project)).await?, Vec::new()),
        };

        let memories = rows.into_iter().map(|row| self.listed(row)).collect();
        let asking = if who.owner == Owner::local() { self.ask_status().await? } else { None };
        Ok(MemoryPage { memories, reasons, counts: self.memory_counts(who).await?, asking })
    }

    /// Says how many memories the caller has, and what they were used for in the last day.
    pub async fn memory_counts(&self, who: &Principal) -> Result<MemoryCounts, Error> {
        let since_ms = self.now_ms().saturating_sub(DAY_MS);
        Ok(self.inner.store.memory_counts(who.owner.clone(), since_ms).await?)
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
        self.why_given(who, row).await.map(Some)
    }

    /// What an opening was given, with what each of it says now.
    async fn why_given(&self, who: &Principal, row: ShownRow) -> Result<WhyShown, Error> {
        let ids = row.memories.iter().map(|given| given.id.clone()).collect();
        let found = self.inner.store.memory_rows(who.owner.clone(), ids).await?;
        let mut found: Vec<ListedMemory> = found.into_iter().map(|row| self.listed(row)).collect();
        let now = |id: &MemoryId| {
            let at = found.iter().position(|memory| memory.row.memory.id == *id)?;
            Some(found.swap_remove(at))
        };
        let memories = row.memories.iter().map(|given| &given.id).map(now).collect();
        Ok(WhyShown { row, memories })
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
    ) -> Result<(Vec<MemoryRow>, Vec<FindReason>), Error> {
        let is_silenced = match &project {
            Some(project) => {
                self.inner.store.is_memory_silenced(who.owner.clone(), None, Some(project.clone())).await?
            }
            None => false,
        };
        let is_off = is_silenced || !self.inner.settings.memory.injection.is_on;
        let projects = match project {
            Some(project) => vec![project],
            None => {
                self.inner.store.memory_projects(who.owner.clone()).await?.into_iter().map(|row| row.project).collect()
            }
        };
        let texts = QueryTexts { description: "", prompt: query, git_branch: None };
        let mut found = Vec::new();
        if request.explain {
            // What a branch would find, as it would find it: memories that it is never given change nothing in it.
            let shown = self.find_in(&who.owner, projects.clone(), texts, SearchReach::Shown).await?;
            let fates = self.fates(&shown).into_iter().map(|fate| if is_off { GiveFate::Silenced } else { fate });
            found.extend(shown.into_iter().zip(fates.collect::<Vec<_>>()));
        }
        let others = self.find_in(&who.owner, projects, texts, SearchReach::All).await?;
        let is_known = |other: &FoundMemory| found.iter().any(|(known, _)| known.memory.id == other.memory.id);
        let others: Vec<FoundMemory> = others.into_iter().filter(|other| !is_known(other)).collect();
        found.extend(others.into_iter().map(|other| (other, GiveFate::NotLive)));

        let fits = |(found, _): &(FoundMemory, GiveFate)| {
            let has_kind = request.kind.is_none_or(|kind| found.memory.lesson.kind == kind);
            has_kind && request.state.is_none_or(|state| state.takes(&found.memory.state))
        };
        let on_page = found.into_iter().filter(fits).skip(request.offset).take(request.limit);
        let (rows, reasons): (Vec<_>, Vec<_>) = on_page.map(explained).unzip();
        Ok((rows, if request.explain { reasons } else { Vec::new() }))
    }

    pub(super) fn listed(&self, row: MemoryRow) -> ListedMemory {
        ListedMemory { confidence: self.confidence(&row.memory), row }
    }
}

/// A memory that was found as a row of a list, and why it is there.
fn explained((found, fate): (FoundMemory, GiveFate)) -> (MemoryRow, FindReason) {
    let reason = FindReason { parts: found.parts(), fate };
    let row = MemoryRow {
        memory: found.memory,
        shown: found.shown,
        used: found.used,
        shown_at_ms: None,
        is_changed: found.is_changed,
        is_merged: found.is_merged,
    };
    (row, reason)
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
