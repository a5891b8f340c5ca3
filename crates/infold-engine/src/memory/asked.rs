//! What a model's answer about an ended branch becomes: lessons like any other, in the place of the one that was taken from
//! the branch without a model.

use infold_core::Status;
use infold_core::memory::{
    BranchWork, FileUse, Lesson, LessonDraft, LessonSource, Memory, MemoryId, MemoryKind, MemoryState, ProjectKey,
    SeenFile, Trust, WorkPlace,
};
use infold_store::{AnswerLearnt, LearnWrite, Trajectory, WaitingAsk};

use super::learning::{TaughtBy, kept_in, marks_of, operations_in};
use crate::{Engine, Error};

/// The first of an end's lessons that a model wrote, so that it has not the name of one that its agent wrote.
const FIRST_ORDINAL: u32 = 1_000;
/// How often it is decided again what an answer becomes, because something else was learnt meanwhile.
const DECIDED_MAX: usize = 20;

impl Engine {
    /// Learns from a model's answer, unless its end waits no more.
    pub(super) async fn learn_from_answer(
        &self,
        waiting: WaitingAsk,
        process: &str,
        trajectory: &Trajectory,
        drafts: Vec<LessonDraft>,
    ) -> Result<(), Error> {
        let lessons = self.answered_lessons(trajectory, drafts).await?;
        for _ in 0..DECIDED_MAX {
            let _one_at_a_time = self.inner.learning.turn.lock().await;
            let from = self.inner.store.outbox(0).await?.from;
            let writes = self.answer_writes(&waiting, trajectory, &lessons).await?;
            let step = self.learn_step((from, from), writes);
            match self.inner.store.learn_answer(waiting.clone(), process.to_owned(), step).await? {
                AnswerLearnt::Done(made) => {
                    self.inner.metrics.memories_made(made);
                    return Ok(());
                }
                AnswerLearnt::Gone => return Ok(()),
                AnswerLearnt::Overtaken => {}
            }
        }
        // Its turn ends with this process, or when it is looked at again.
        Ok(())
    }

    /// The lessons of an answer, scrubbed, with the files that their branch worked with. What is nothing but secrets is left
    /// out.
    async fn answered_lessons(&self, trajectory: &Trajectory, drafts: Vec<LessonDraft>) -> Result<Vec<Lesson>, Error> {
        let usual = match trajectory.archived.branch.status {
            Status::Failed | Status::Timeout => MemoryKind::Fails,
            Status::Completed | Status::Created | Status::Active => MemoryKind::Works,
        };
        let work = BranchWork::of(&operations_in(trajectory));
        let edited = work.edited.into_iter().map(|path| (path, FileUse::Edited));
        let files =
            self.scrubbed_files(edited.chain(work.read.into_iter().map(|path| (path, FileUse::Read))).collect());
        let files = files.await?;
        let mut lessons = Vec::with_capacity(drafts.len());
        for LessonDraft { title, lesson, kind } in drafts {
            let [title, lesson] = self.scrub([title, lesson]).await?;
            if LessonDraft::check_scrubbed(&title, &lesson).is_ok() {
                let kind = kind.unwrap_or(usual);
                lessons.push(Lesson { title, lesson, kind, files: files.clone(), commands: Vec::new() });
            }
        }
        Ok(lessons)
    }

    /// What these lessons lead to. The first that is kept takes the place of the one that no model wrote.
    async fn answer_writes(
        &self,
        waiting: &WaitingAsk,
        trajectory: &Trajectory,
        lessons: &[Lesson],
    ) -> Result<Vec<LearnWrite>, Error> {
        let (owner, (branch, generation)) = (&waiting.ask.owner, &waiting.ask.branch);
        let operations = operations_in(trajectory);
        let seen: Vec<SeenFile> = operations.iter().filter_map(SeenFile::of).collect();
        let usual = || WorkPlace {
            project: waiting.project.clone().unwrap_or_else(|| ProjectKey::of_path("")),
            git_branch: waiting.git_branch.clone(),
            folder: None,
        };
        let taught_by = TaughtBy {
            branch: &trajectory.archived.branch,
            generation: *generation,
            session: waiting.ask.session.clone(),
            work_place: trajectory.archived.branch.work_place.clone().unwrap_or_else(usual),
            shown: waiting.shown.clone(),
            outside: self.outside_of(&operations).await?,
            at_ms: waiting.ask.at_ms,
        };
        let mechanical = self.end_memory_id(branch, *generation, 0);
        let mechanical = self.inner.store.memory(owner.clone(), mechanical).await?;
        let mut instead_of = mechanical.map(|found| found.row.memory).filter(may_be_replaced).map(|memory| memory.id);
        let mut writes = Vec::new();
        for (lesson, ordinal) in lessons.iter().zip(FIRST_ORDINAL..) {
            let mut new = taught_by.lesson(lesson.clone(), LessonSource::Distilled, ordinal);
            new.marks = marks_of(&new.lesson, &seen, new.at_ms);
            new.instead_of = instead_of.clone();
            let before: Vec<Memory> = writes.iter().filter_map(kept_in).cloned().collect();
            let placed = self.placed(owner, &new, &before).await?;
            if instead_of.as_ref().is_some_and(|old| placed.iter().any(|write| takes_place_of(write, old))) {
                instead_of = None;
            }
            writes.extend(placed);
        }
        Ok(writes)
    }
}

/// Whether a lesson of an end may give way to a model's: nobody wrote it, and no person has vouched for it or rejected it.
fn may_be_replaced(memory: &Memory) -> bool {
    let is_in_use = match memory.state {
        MemoryState::Live | MemoryState::Waiting => true,
        MemoryState::Replaced(_) | MemoryState::Rejected => false,
    };
    is_in_use && memory.origin.source == LessonSource::Mechanical && memory.trust != Trust::Person
}

/// Whether a write puts something in the place of this memory.
fn takes_place_of(write: &LearnWrite, old: &MemoryId) -> bool {
    match write {
        LearnWrite::Keep { kept, .. } => {
            kept.memory.replaces.as_ref() == Some(old) && kept.memory.state == MemoryState::Live
        }
        LearnWrite::Turn { memory, .. } => memory == old,
        LearnWrite::Move { .. } | LearnWrite::Ask(_) | LearnWrite::LeaveUnasked { .. } => false,
    }
}
