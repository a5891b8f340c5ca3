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
                return (found, None);
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
        let rules = &self.inner.settings.memory.injection;
        let mut found = self.find_memories(&who.owner, place, texts, SearchReach::Shown).await?;
        found.retain(|found| found.memory.state == MemoryState::Live && found.confidence >= rules.confidence_min);
        // Only the best are asked whether they have to do with the task: among many, some seem to by chance.
        found.truncate(rules.items_max);
        found.retain(|found| found.relevance >= rules.relevance_min);
        Ok(found)
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
        let signs = self.signs.parts().into_iter().filter(|(_, sign)| *sign != 0.0);
        let signs: serde_json::Map<_, _> = signs.map(|(word, sign)| (word.to_owned(), rounded(sign).into())).collect();
        let parts = serde_json::json!({
            "score": rounded(self.score),
            "relevance": rounded(self.relevance),
            "confidence": rounded(self.confidence),
            "signs": signs,
        });
        infold_store::ShownMemory { id: self.memory.id.clone(), rank, parts }
    }
}

fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}
