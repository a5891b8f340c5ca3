//! What an agent asks of memories between the opening and the end of branches: to find some, to keep one, to judge one.

use infold_core::memory::{
    BeliefMove, LessonSource, MemoryId, MemoryKind, MemoryState, QueryTexts, QuoteCode, QuoteKey, Trust, WorkPlace,
    quote,
};
use infold_core::{Principal, Refusal, SessionId};
use infold_store::SearchReach;

use super::keeping::NewLesson;
use super::search::FoundMemory;
use crate::{Engine, Error, FoundNotes, Judgement, MemoryRecorded, RecordMemory, SearchMemories, SessionRef, shown};

const LIMIT_DEFAULT: u64 = 5;
const LIMIT_MAX: u64 = 20;

impl Engine {
    /// Finds memories for an agent, the best first, and quotes them.
    #[tracing::instrument(skip_all)]
    pub async fn search_memories(&self, who: &Principal, request: SearchMemories) -> Result<FoundNotes, Error> {
        let query = SearchMemories::QUERY.clean(&request.query)?;
        let limit = request.limit.unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX);
        let place = self.place_of(who, request.session.as_ref(), request.folder.as_deref()).await?;

        self.learn().await?;
        let texts = QueryTexts { description: "", prompt: &query, git_branch: place.git_branch_name() };
        let mut memories = self.find_memories(&who.owner, &place, texts, SearchReach::Shown).await?;
        memories.retain(|found| found.memory.state == MemoryState::Live);
        memories.truncate(usize::try_from(limit).unwrap_or(usize::MAX));

        let context = self.quoted(&memories, "memory_search");
        Ok(FoundNotes { memories, context })
    }

    /// Keeps a lesson that an agent wrote in the middle of its work.
    #[tracing::instrument(skip_all)]
    pub async fn record_memory(&self, who: &Principal, request: RecordMemory) -> Result<MemoryRecorded, Error> {
        let lessons = self.clean_lessons(std::slice::from_ref(&request.draft), MemoryKind::Works).await?;
        let lesson = lessons.into_iter().next().ok_or(crate::Failure::Undecided("the lesson"))?;
        let replaces = request.replaces.as_deref().map(memory_id).transpose()?;
        let work_place = self.place_of(who, request.session.as_ref(), request.folder.as_deref()).await?;
        let session = request.session.as_ref().and_then(SessionRef::id).cloned();
        let new = NewLesson {
            lesson,
            source: LessonSource::Model,
            trust: Trust::Own,
            label: None,
            work_place,
            session,
            end: None,
            status: None,
            shown: Vec::new(),
            instead_of: None,
            marks: Vec::new(),
            at_ms: self.now_ms(),
        };
        self.keep_at_once(who, new, replaces).await
    }

    /// Moves what is believed of a memory by somebody's judgement. Returns its name and how sure it is now.
    #[tracing::instrument(skip_all)]
    pub async fn judge_memory(
        &self,
        who: &Principal,
        memory: &str,
        judgement: Judgement,
    ) -> Result<(MemoryId, f64), Error> {
        let id = memory_id(memory)?;
        let by = match judgement {
            Judgement::Helpful => BeliefMove::Helpful,
            Judgement::Unhelpful => BeliefMove::Unhelpful,
        };
        let confidence = self.move_belief(who, &id, by).await?;
        Ok((id, confidence))
    }

    /// Where a call's work is done, which may name no session. One that it names has to be there.
    pub(super) async fn place_of(
        &self,
        who: &Principal,
        session: Option<&SessionRef>,
        folder: Option<&std::path::Path>,
    ) -> Result<WorkPlace, Error> {
        let nobodys = SessionRef::Id(SessionId::hashed(b""));
        match session {
            Some(named) if named.id().is_some() => {
                self.session(who, named).await?;
                Ok(self.work_place(who, named, folder).await)
            }
            Some(project) => Ok(self.work_place(who, project, folder).await),
            None => Ok(self.work_place(who, &nobodys, folder).await),
        }
    }

    /// Memories as one quoted text; `None` if there are none.
    pub(crate) fn quoted(&self, found: &[FoundMemory], reader: &str) -> Option<String> {
        let shown: Vec<_> = found.iter().map(|found| found.to_show(self.now_ms())).collect();
        let notes: Vec<_> = shown.iter().map(infold_core::memory::ShownMemory::note).collect();
        let key = QuoteKey::derive(self.inner.store.secret());
        (!notes.is_empty()).then(|| quote(&notes, &QuoteCode::of(&key, reader, &notes)))
    }
}

/// Reads the name of a memory that a caller sent.
pub(crate) fn memory_id(text: &str) -> Result<MemoryId, Refusal> {
    MemoryId::parse(text.trim()).ok_or_else(|| Refusal::MemoryNotFound { memory: shown(text) })
}
