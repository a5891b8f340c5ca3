//! What a branch that opens is given: the memories that have to do with its task.
//!
//! Nothing here can keep a branch from opening. If memories cannot be found, or not in time, it opens without them, and
//! says so once.

use std::sync::atomic::Ordering;
use std::time::Duration;

use infold_core::memory::{Injection, MemoryState, OpeningMemories, QueryTexts, QuoteKey, WorkPlace};
use infold_core::{Principal, Scrubbed};
use infold_store::{NewShown, SearchReach};

use super::place::MetFolder;
use super::search::FoundMemory;
use crate::{Engine, Error, MemoryWish, OpenBranch, Opened, SessionRef};

/// How long an opening waits for memories.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// What a branch that opens is given, and where it works.
pub(crate) struct OpeningContext {
    pub memories: OpeningMemories,
    pub place: MetFolder,
    pub shown: NewShown,
    /// A sentence for the caller, if memories are not there.
    note: Option<String>,
}

/// What becomes of a memory that was found for a branch that opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveFate {
    /// It is given, if the branch has room for it.
    Given,
    /// It waits, was replaced, or was rejected.
    NotLive,
    /// It is not sure enough.
    Unsure,
    /// As many as may be given are before it.
    BehindOthers,
    /// It has too little to do with the task.
    Unrelated,
    /// Nothing is given in this project, or at all.
    Silenced,
}

impl GiveFate {
    /// The word for it, in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::NotLive => "not_live",
            Self::Unsure => "unsure",
            Self::BehindOthers => "behind_others",
            Self::Unrelated => "unrelated",
            Self::Silenced => "silenced",
        }
    }
}

impl Engine {
    /// What a branch with this description and prompt is given.
    pub(crate) async fn opening_context(
        &self,
        who: &Principal,
        request: &OpenBranch,
        texts: [&Scrubbed; 2],
    ) -> OpeningContext {
        let folder = self.folder_of(who, &request.session, request.folder.as_deref()).await;
        let place = self.meet_folder(who, folder).await;
        let work_place = &place.work_place;
        let is_wanted = self.inner.settings.memory.injection.is_on && request.memories == MemoryWish::Fitting;
        let (found, note) = match is_wanted {
            true => self.found_in_time(who, &request.session, work_place, texts).await,
            false => (Vec::new(), None),
        };
        let shown = NewShown {
            project: Some(work_place.project.clone()),
            git_branch: work_place.git_branch.clone(),
            memories: found.iter().zip(1..).map(|(found, rank)| found.as_shown(rank)).collect(),
        };
        OpeningContext { memories: self.fitting(&found), place, shown, note }
    }

    /// Says what was found out on the way to an opening that is done, and notes where it was.
    pub(crate) async fn note_opened(&self, who: &Principal, context: OpeningContext, opened: &mut Opened) {
        opened.notes.extend(context.note);
        self.name_project(who, &context.place).await;
    }

    async fn found_in_time(
        &self,
        who: &Principal,
        session: &SessionRef,
        place: &WorkPlace,
        texts: [&Scrubbed; 2],
    ) -> (Vec<FoundMemory>, Option<String>) {
        let problem = match tokio::time::timeout(WAIT_MAX, self.found_for(who, session, place, texts)).await {
            Ok(Ok(found)) => {
                self.inner.learning.problem_said.store(false, Ordering::Relaxed);
                return (found, self.inner.embedding.take_note());
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("the search took longer than {} ms", WAIT_MAX.as_millis()),
        };
        if self.inner.learning.problem_said.swap(true, Ordering::Relaxed) {
            return (Vec::new(), None);
        }
        tracing::warn!(problem, "branches open without memories");
        (Vec::new(), Some(format!("memories are not available: {problem}")))
    }

    async fn found_for(
        &self,
        who: &Principal,
        session: &SessionRef,
        place: &WorkPlace,
        [description, prompt]: [&Scrubbed; 2],
    ) -> Result<Vec<FoundMemory>, Error> {
        let (session, project) = (session.id().cloned(), Some(place.project.clone()));
        if self.inner.store.is_memory_silenced(who.owner.clone(), session, project).await? {
            return Ok(Vec::new());
        }
        // What the last branch has learnt is there for this one.
        self.learn().await?;
        let texts = QueryTexts {
            description: description.as_str(),
            prompt: prompt.as_str(),
            git_branch: place.git_branch_name(),
        };
        let found = self.find_memories(&who.owner, place, texts, SearchReach::Shown).await?;
        let fates = self.fates(&found);
        Ok(found.into_iter().zip(fates).filter(|(_, fate)| *fate == GiveFate::Given).map(|(found, _)| found).collect())
    }

    /// What becomes of memories that were found for a branch that opens, in their order.
    pub(super) fn fates(&self, found: &[FoundMemory]) -> Vec<GiveFate> {
        let rules = &self.inner.settings.memory.injection;
        let mut places = 0;
        let fate = |found: &FoundMemory| {
            if found.memory.state != MemoryState::Live {
                return GiveFate::NotLive;
            }
            if found.confidence < rules.confidence_min {
                return GiveFate::Unsure;
            }
            // Only the best are asked whether they have to do with the task: among many, some seem to by chance.
            places += 1;
            match found.relevance >= rules.relevance_min {
                _ if places > rules.items_max => GiveFate::BehindOthers,
                true => GiveFate::Given,
                false => GiveFate::Unrelated,
            }
        };
        found.iter().map(fate).collect()
    }

    fn fitting(&self, found: &[FoundMemory]) -> OpeningMemories {
        if found.is_empty() {
            return OpeningMemories::Nothing;
        }
        let memories = found.iter().map(|found| found.to_show(self.now_ms()));
        OpeningMemories::Fitting(Injection {
            memories: memories.collect(),
            rules: self.inner.settings.memory.injection.clone(),
            key: QuoteKey::derive(self.inner.store.secret()),
        })
    }
}

impl FoundMemory {
    /// Why it was given, for people who ask later.
    fn as_shown(&self, rank: u32) -> infold_store::ShownMemory {
        infold_store::ShownMemory { id: self.memory.id.clone(), rank, parts: self.parts() }
    }

    /// What its place comes from, with the words for it.
    pub(super) fn parts(&self) -> serde_json::Value {
        let signs = self.signs.parts().into_iter().filter(|(_, sign)| *sign != 0.0);
        let signs: serde_json::Map<_, _> = signs.map(|(word, sign)| (word.to_owned(), rounded(sign).into())).collect();
        serde_json::json!({
            "score": rounded(self.score),
            "relevance": rounded(self.relevance),
            "confidence": rounded(self.confidence),
            "left of the sum": rounded(self.factor),
            "signs": signs,
        })
    }
}

fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}
