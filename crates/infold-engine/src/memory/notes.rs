//! What a client reads of a project's memories: those that a branch could be given, quoted in the same way.

use std::cmp::Reverse;
use std::path::PathBuf;

use infold_core::Principal;
use infold_core::memory::{
    InjectedContext, MemoryId, MemoryScope, MemoryState, ProjectKey, QueryTexts, QuoteKey, ShownMemory,
};
use infold_store::SearchReach;

use super::people::{ListedMemory, absent, named_memory};
use crate::{Engine, Error, SearchMemories};

/// Most memories in one text.
const NOTES_MAX: usize = 20;

/// Which memories a client wants to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotesWanted {
    /// Those that are surest.
    Surest,
    /// Those that have to do with this text.
    About(String),
    /// The one of this name.
    Named(String),
}

/// A client's wish to read memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadNotes {
    /// Which ones.
    pub wanted: NotesWanted,
    /// The project that they count in, as a path or a key, if the client names it.
    pub project: Option<String>,
    /// The folder that the work is done in, if the client says so.
    pub folder: Option<PathBuf>,
}

/// Memories as a client reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotesRead {
    /// As many as fit, as one quoted text; `None` if there are none.
    pub text: Option<String>,
    /// How many more could be shown and did not fit.
    pub left_out: usize,
}

impl Engine {
    /// Reads memories that may be shown to a branch of a project, as one quoted text within the tokens that a branch
    /// may be given.
    #[tracing::instrument(skip_all)]
    pub async fn read_notes(&self, who: &Principal, request: ReadNotes) -> Result<NotesRead, Error> {
        let project = match &request.project {
            Some(name) => self.project_by_name(who, name).await?,
            None => self.place_of(who, None, request.folder.as_deref()).await?.project,
        };
        let is_silenced = self.inner.store.is_memory_silenced(who.owner.clone(), None, Some(project.clone())).await?;
        if !is_silenced {
            self.learn().await?;
        }

        let (memories, found) = match (request.wanted, is_silenced) {
            (NotesWanted::Named(name), true) => return Err(absent(&name).into()),
            (NotesWanted::Named(name), false) => (vec![self.named_note(who, &name, project).await?], 1),
            (NotesWanted::Surest | NotesWanted::About(_), true) => (Vec::new(), 0),
            (NotesWanted::Surest, false) => self.surest_notes(who, project).await?,
            (NotesWanted::About(query), false) => self.notes_about(who, &query, project).await?,
        };

        let settings = &self.inner.settings;
        let key = QuoteKey::derive(self.inner.store.secret());
        let room_tokens = settings.memory.injection.tokens_max;
        let fitting = InjectedContext::fitting(&memories, (&key, "resource"), room_tokens, &settings.counter);
        let left_out = found - fitting.as_ref().map_or(0, |fitting| fitting.memories.len());
        Ok(NotesRead { text: fitting.map(|fitting| fitting.text.as_str().to_owned()), left_out })
    }

    /// The memories of a project that are surest, and how many there are in all.
    async fn surest_notes(&self, who: &Principal, project: ProjectKey) -> Result<(Vec<ShownMemory>, usize), Error> {
        let believed = self.inner.store.believed_memories(who.owner.clone(), project).await?;
        let now_ms = self.now_ms();
        let rules = &self.inner.settings.memory;
        let sure = believed.into_iter().filter_map(|memory| {
            let age_ms = now_ms.saturating_sub(memory.evidence_at_ms);
            let confidence = memory.belief.confidence(memory.trust, age_ms, rules.half_life_days);
            (confidence >= rules.injection.confidence_min).then_some((confidence, memory.evidence_at_ms, memory.id))
        });
        let mut sure: Vec<(f64, u64, MemoryId)> = sure.collect();
        // Of equally sure ones, those first of which something was learnt last.
        sure.sort_by(|one, other| {
            other.0.total_cmp(&one.0).then(Reverse(one.1).cmp(&Reverse(other.1))).then(one.2.cmp(&other.2))
        });
        let found = sure.len();
        let ids = sure.into_iter().take(NOTES_MAX).map(|(_, _, id)| id).collect();
        let rows = self.inner.store.memory_rows(who.owner.clone(), ids).await?;
        Ok((rows.into_iter().map(|row| self.listed(row).to_show(now_ms)).collect(), found))
    }

    /// The memories of a project that have to do with a text, the best first, and how many there are in all.
    async fn notes_about(
        &self,
        who: &Principal,
        query: &str,
        project: ProjectKey,
    ) -> Result<(Vec<ShownMemory>, usize), Error> {
        let query = SearchMemories::QUERY.clean(query)?;
        let texts = QueryTexts { description: "", prompt: &query, git_branch: None };
        let mut found = self.find_in(&who.owner, vec![project], texts, SearchReach::Shown).await?;
        let confidence_min = self.inner.settings.memory.injection.confidence_min;
        found.retain(|found| found.memory.state == MemoryState::Live && found.confidence >= confidence_min);
        let now_ms = self.now_ms();
        Ok((found.iter().take(NOTES_MAX).map(|found| found.to_show(now_ms)).collect(), found.len()))
    }

    /// The memory of this name, if a branch of the project could be given it.
    async fn named_note(&self, who: &Principal, name: &str, project: ProjectKey) -> Result<ShownMemory, Error> {
        let id = named_memory(name)?;
        let found = self.inner.store.memory_rows(who.owner.clone(), vec![id]).await?;
        let project = self.inner.store.project_named(who.owner.clone(), project).await?;
        let counts_here = |memory: &ListedMemory| match &memory.row.memory.scope {
            MemoryScope::Everywhere => true,
            MemoryScope::Project(of) => *of == project,
        };
        let confidence_min = self.inner.settings.memory.injection.confidence_min;
        let may_be_shown = |memory: &ListedMemory| {
            let is_sure = memory.confidence >= confidence_min;
            is_sure && memory.row.memory.state == MemoryState::Live && counts_here(memory)
        };
        let shown = found.into_iter().map(|row| self.listed(row)).find(may_be_shown);
        let shown = shown.map(|memory| memory.to_show(self.now_ms()));
        shown.ok_or_else(|| absent(name).into())
    }
}
