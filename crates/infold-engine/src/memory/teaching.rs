//! What a branch's agent says about lessons when it returns: all of it is taken, or the return is refused.

use infold_core::memory::{Lesson, LessonDraft, MemoryId, MemoryKind};
use infold_core::{Refusal, ReturnOutcome};
use infold_store::NewLessons;

use crate::{Engine, Error, Teaching, shown};

/// Most memories that one return may name.
const USED_MAX: usize = 50;

impl Engine {
    /// Cleans, bounds and scrubs what a return says about lessons; `None` if it says nothing.
    pub(crate) async fn lessons_of(
        &self,
        teaching: &Teaching,
        outcome: ReturnOutcome,
    ) -> Result<Option<NewLessons>, Error> {
        if teaching.is_nothing() {
            return Ok(None);
        }
        let used = used(&teaching.memories_used)?;
        let lessons = self.clean_lessons(&teaching.lessons, usual_kind(outcome)).await?;
        Ok(Some(NewLessons { lessons, used, extraction: teaching.extraction }))
    }

    /// Cleans, bounds and scrubs lessons. One that is refused is a refusal of all.
    pub(crate) async fn clean_lessons(&self, drafts: &[LessonDraft], usual: MemoryKind) -> Result<Vec<Lesson>, Error> {
        let lessons_max = self.inner.settings.memory.lessons_max;
        if drafts.len() > lessons_max {
            let problem = format!("has {} lessons, at most {lessons_max} are allowed: pass the best", drafts.len());
            return Err(Refusal::Invalid { field: "lessons", problem }.into());
        }
        let mut lessons = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let LessonDraft { title, lesson, kind } = draft.clean()?;
            let [title, lesson] = self.scrub([title, lesson]).await?;
            LessonDraft::check_scrubbed(&title, &lesson)?;
            let kind = kind.unwrap_or(usual);
            lessons.push(Lesson { title, lesson, kind, files: Vec::new(), commands: Vec::new() });
        }
        Ok(lessons)
    }
}

/// What a lesson tells if its writer does not say: a branch that failed warns.
fn usual_kind(outcome: ReturnOutcome) -> MemoryKind {
    match outcome {
        ReturnOutcome::Completed => MemoryKind::Works,
        ReturnOutcome::Failed => MemoryKind::Fails,
    }
}

fn used(names: &[String]) -> Result<Vec<MemoryId>, Refusal> {
    let wrong = |problem: String| Refusal::Invalid { field: "memories_used", problem };
    if names.len() > USED_MAX {
        return Err(wrong(format!("has {} names, at most {USED_MAX} are allowed", names.len())));
    }
    let read = |name: &String| {
        let problem =
            || wrong(format!("names {:?}, which is no memory: pass names such as mem_…, or none", shown(name)));
        MemoryId::parse(name.trim()).ok_or_else(problem)
    };
    names.iter().map(read).collect()
}
