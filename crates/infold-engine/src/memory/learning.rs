//! Learning from branches that ended: each end once, whatever number of processes tries, and whatever is killed.
//!
//! Ends are worked through one by one, so that a lesson is compared with all that were learnt before it. What an end
//! leads to and the mark that it was learnt from are one transaction of the store.

use std::time::{Duration, Instant};

use infold_core::memory::{
    BeliefMove, BranchWork, CallReach, EndedBranch, FileUse, LearnFrom, Lesson, LessonFile, LessonSource, Memory,
    MemoryId, MemoryState, NoLesson, ProjectKey, SeenFile, Trust, WorkPlace, distil, mark_bytes, marked_lines,
    reach_of,
};
use infold_core::{Branch, BranchId, Event, Operation, Owner, Scrubbed, SessionId, Status, strip_hostile};
use infold_store::{
    EvidenceKind, Extraction, LearnAnswer, LearnStep, LearnWrite, MemoryFilter, NewAsk, NewEvidence, OutboxEnd,
    StateFilter, StoreError, StoredMark, Trajectory,
};
use tokio_util::sync::CancellationToken;

use super::keeping::NewLesson;
use crate::{Engine, Error, Failure};

/// Ends that are learnt from before others have their turn.
const ENDS_AT_ONCE: usize = 32;
/// Ends that an opening or a search waits for: those of the last branches. What else waits is learnt beside it.
const ENDS_WAITED_FOR: usize = 4;
/// Memories that one return may move; models name too many.
const MOVED_MAX: usize = 5;
/// Memories of one branch that a rollback looks at.
const UNLEARNT_MAX: usize = 100;
/// After how long it is stored, at the next look, that ends were passed which lead to nothing.
const PASSED_STORED_AFTER: Duration = Duration::from_secs(2);
/// The longest pause between two looks: another process may have ended a branch and died.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(5);

/// Ends that lead to nothing, from the last event that has been learnt from on. That they were looked at is stored with what
/// comes next, or after a while: it is not worth a transaction for each. Whoever dies before has them looked at again.
#[derive(Debug, Default)]
pub(super) struct PassedEnds {
    from: u64,
    to: u64,
    since: Option<Instant>,
}

impl Engine {
    /// Learns from branches soon after they have ended, until it is cancelled.
    pub(crate) async fn keep_learning(&self, cancel: &CancellationToken) {
        loop {
            if let Err(error) = self.mend_memories().await {
                tracing::error!(%error, "the index of memories is damaged and cannot be made anew; this is tried again");
            }
            // Of several machines with one state, one learns.
            let ends_max = if self.inner.store.is_on_duty() { ENDS_AT_ONCE } else { 0 };
            match self.learn_from(ends_max).await {
                Ok(ENDS_AT_ONCE) if !cancel.is_cancelled() => continue,
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, "nothing could be learnt from ended branches; this is tried again");
                }
            }
            tokio::select! {
                () = cancel.cancelled() => return,
                () = tokio::time::sleep(LOOK_AT_LEAST_EVERY) => {}
                () = self.inner.learning.ended.notified() => {}
            }
        }
    }

    /// Learns from the last branches that have ended, before the process that they ran in is over.
    pub async fn finish_learning(&self) {
        if let Err(error) = self.learn_from(ENDS_AT_ONCE).await {
            tracing::error!(%error, "the last branches are learnt from at the next start");
        }
        if let Err(error) = self.store_passed_ends().await {
            tracing::error!(%error, "ends that lead to nothing are looked at again at the next start");
        }
    }

    /// Stores up to where ends were looked at, whatever they lead to.
    pub(crate) async fn store_passed_ends(&self) -> Result<(), Error> {
        let mut passed = self.inner.learning.turn.lock().await;
        let PassedEnds { from, to, since } = std::mem::take(&mut *passed);
        if since.is_none() {
            return Ok(());
        }
        // If others have come further meanwhile, they have looked at them as well.
        self.inner.store.learn(self.learn_step((from, to), Vec::new())).await?;
        Ok(())
    }

    pub(super) fn learn_step(&self, (from, to): (u64, u64), writes: Vec<LearnWrite>) -> LearnStep {
        let memories_max = self.inner.settings.memory.memories_max;
        LearnStep { from, to, writes, memories_max, at_ms: self.now_ms() }
    }

    /// Learns from branches that have ended since the last time, a few at most, so that what comes next knows of them.
    pub(crate) async fn learn(&self) -> Result<(), Error> {
        self.learn_from(ENDS_WAITED_FOR).await.map(drop)
    }

    /// Learns from at most so many ends, the oldest first. Returns how many there were.
    async fn learn_from(&self, ends_max: usize) -> Result<usize, Error> {
        for learnt in 0..ends_max {
            let mut passed = self.inner.learning.turn.lock().await;
            let batch = self.inner.store.outbox_behind((passed.from, passed.to), 1).await?;
            if batch.behind == batch.to {
                let is_old = passed.since.is_some_and(|since| since.elapsed() >= PASSED_STORED_AFTER);
                drop(passed);
                if is_old {
                    self.store_passed_ends().await?;
                }
                return Ok(learnt);
            }
            let writes = match batch.ends.first() {
                None => Vec::new(),
                Some(end) => match self.learnt_from(end).await {
                    Ok(writes) => writes,
                    // The store is at fault, not the end: it is learnt from when the store is well again.
                    Err(error) if is_of_store(&error) => return Err(error),
                    Err(error) => {
                        let is_over = self.inner.store.note_learning_failure(end.event, error.to_string()).await?;
                        tracing::warn!(%error, event = end.event, is_over, "nothing could be learnt from an end");
                        continue;
                    }
                },
            };
            let leads_to_nothing = |end: &OutboxEnd| end.said.is_none() && end.shown.is_empty();
            if writes.is_empty() && batch.ends.first().is_some_and(leads_to_nothing) {
                let since = passed.since.filter(|_| passed.from == batch.from).unwrap_or_else(Instant::now);
                *passed = PassedEnds { from: batch.from, to: batch.to, since: Some(since) };
                continue;
            }
            let lists_some = writes.iter().any(|write| matches!(write, LearnWrite::Ask(_)));
            let step = self.learn_step((batch.from, batch.to), writes);
            *passed = PassedEnds::default();
            if let LearnAnswer::Learnt { made, .. } = self.inner.store.learn(step).await? {
                self.inner.metrics.memories_made(made);
                if lists_some {
                    self.inner.learning.listed.notify_one();
                }
            }
        }
        Ok(ends_max)
    }

    /// What an end leads to.
    async fn learnt_from(&self, end: &OutboxEnd) -> Result<Vec<LearnWrite>, Error> {
        let owner = &end.session.owner;
        let generation = match &end.happened {
            Event::BranchEnded { generation, .. } | Event::ResultAmended { generation, .. } => *generation,
            Event::RolledBack { reopened, discarded, .. } => return self.unlearnt(owner, reopened, discarded).await,
            _ => return Ok(Vec::new()),
        };
        let Some(branch) = &end.branch else { return Ok(Vec::new()) };
        if end.is_silenced || self.inner.settings.memory.learn == LearnFrom::Off {
            return Ok(Vec::new());
        }
        let operations = self.operations_of(owner, branch, generation).await?;
        let seen: Vec<SeenFile> = operations.iter().filter_map(SeenFile::of).collect();
        self.note_seen(owner, work_place_of(end, branch).project, &seen, end.at_ms).await?;
        let mut writes = moved_by(end, branch, generation);
        for mut lesson in self.lessons_from(end, branch, generation, &operations).await? {
            lesson.marks = marks_of(&lesson.lesson, &seen, end.at_ms);
            let before: Vec<Memory> = writes.iter().filter_map(kept_in).cloned().collect();
            writes.extend(self.placed(owner, &lesson, &before).await?);
        }
        writes.extend(self.asked_later(end, branch, generation, &operations));
        Ok(writes)
    }

    /// Puts an end on the list of those that a model is asked about, if its agent wrote no lesson and the user has named a
    /// model. One whose agent has written some meanwhile is taken off it.
    fn asked_later(
        &self,
        end: &OutboxEnd,
        branch: &Branch,
        generation: u32,
        operations: &[Operation],
    ) -> Option<LearnWrite> {
        self.distiller()?;
        let owner = end.session.owner.clone();
        let has_lessons = end.said.as_ref().is_some_and(|said| !said.lessons.is_empty());
        let is_unwanted = end.said.as_ref().is_some_and(|said| said.extraction == Extraction::Unwanted);
        let has_work = EndedBranch::of(branch).is_some_and(|ended| match distil(&ended, &BranchWork::of(operations)) {
            Ok(_) | Err(NoLesson::TooLittleSaid | NoLesson::NothingNamed) => true,
            Err(NoLesson::SuchAnEnd | NoLesson::TooLittleWork) => false,
        });
        if has_lessons || is_unwanted || !has_work {
            return Some(LearnWrite::LeaveUnasked { owner, branch: branch.id.clone() });
        }
        Some(LearnWrite::Ask(NewAsk {
            owner,
            session: end.session.id.clone(),
            branch: (branch.id.clone(), generation),
            event: end.event,
            at_ms: end.at_ms,
        }))
    }

    /// The lessons of an end: those that the branch's agent wrote, else what can be taken together.
    async fn lessons_from(
        &self,
        end: &OutboxEnd,
        branch: &Branch,
        generation: u32,
        operations: &[Operation],
    ) -> Result<Vec<NewLesson>, Error> {
        let work = BranchWork::of(operations);
        let said = end.said.clone().unwrap_or_default();
        let (lessons, source) = if !said.lessons.is_empty() {
            let edited = work.edited.iter().map(|path| (path.clone(), FileUse::Edited));
            let read = work.read.iter().map(|path| (path.clone(), FileUse::Read));
            let files = self.scrubbed_files(edited.chain(read).collect()).await?;
            let about = |lesson: Lesson| Lesson { files: files.clone(), ..lesson };
            (said.lessons.into_iter().map(about).collect(), LessonSource::Model)
        } else if self.inner.settings.memory.learn == LearnFrom::All && said.extraction == Extraction::Wished {
            (self.distilled(branch, &work).await?.into_iter().collect::<Vec<_>>(), LessonSource::Mechanical)
        } else {
            (Vec::new(), LessonSource::Mechanical)
        };
        let taught_by = TaughtBy {
            branch,
            generation,
            session: end.session.id.clone(),
            work_place: work_place_of(end, branch),
            shown: end.shown.clone(),
            outside: self.outside_of(operations).await?,
            at_ms: end.at_ms,
        };
        Ok(lessons.into_iter().zip(0..).map(|(lesson, ordinal)| taught_by.lesson(lesson, source, ordinal)).collect())
    }

    /// Where the first text from outside came from that these calls brought, as a label; `None` if none did.
    pub(super) async fn outside_of(&self, operations: &[Operation]) -> Result<Option<Scrubbed>, Error> {
        let label = |call: &Operation| match reach_of(call.tool.as_str(), call.arguments.as_str()) {
            CallReach::Inside => None,
            CallReach::Outside { host: Some(host) } => Some(format!("host:{host}")),
            CallReach::Outside { host: None } => Some(format!("tool:{}", call.tool.as_str())),
        };
        let Some(label) = operations.iter().find_map(label) else { return Ok(None) };
        Ok(self.scrub_or_withhold(vec![strip_hostile(&label)]).await?.pop())
    }

    /// What a branch did, call by call.
    async fn operations_of(&self, owner: &Owner, branch: &Branch, generation: u32) -> Result<Vec<Operation>, Error> {
        let found = self.inner.store.trajectory(owner.clone(), branch.id.clone(), Some(generation)).await?;
        Ok(found.as_ref().map(operations_in).unwrap_or_default())
    }

    /// The lesson that can be taken together from an ended branch, if there is one.
    async fn distilled(&self, branch: &Branch, work: &BranchWork) -> Result<Option<Lesson>, Error> {
        let Some(ended) = EndedBranch::of(branch) else { return Ok(None) };
        let Ok(distilled) = distil(&ended, work) else { return Ok(None) };
        let kind = distilled.draft.kind.unwrap_or(infold_core::memory::MemoryKind::Works);
        // What the draft is made of was scrubbed; that it is put together anew makes it new text.
        let Ok(mut lessons) = self.clean_lessons(&[distilled.draft], kind).await else { return Ok(None) };
        let Some(lesson) = lessons.pop() else { return Ok(None) };
        let files = self.scrubbed_files(distilled.files).await?;
        let commands = self.scrub_or_withhold(distilled.commands).await?;
        Ok(Some(Lesson { files, commands: commands.into_iter().take(Lesson::COMMANDS_MAX).collect(), ..lesson }))
    }

    /// Files that a lesson is about, as many as are kept.
    pub(super) async fn scrubbed_files(&self, files: Vec<(String, FileUse)>) -> Result<Vec<LessonFile>, Error> {
        let (paths, uses): (Vec<String>, Vec<FileUse>) = files.into_iter().take(Lesson::FILES_MAX).unzip();
        let paths = self.scrub_or_withhold(paths).await?;
        Ok(paths.into_iter().zip(uses).map(|(path, used)| LessonFile { path, used }).collect())
    }

    /// After a rollback, what only discarded branches have taught waits for a person, and no model is asked about ends that
    /// do not count any more.
    async fn unlearnt(
        &self,
        owner: &Owner,
        reopened: &[BranchId],
        discarded: &[BranchId],
    ) -> Result<Vec<LearnWrite>, Error> {
        let unasked = |branch: &BranchId| LearnWrite::LeaveUnasked { owner: owner.clone(), branch: branch.clone() };
        let mut writes: Vec<LearnWrite> = reopened.iter().chain(discarded).map(unasked).collect();
        for branch in discarded {
            let query = MemoryFilter {
                owner: owner.clone(),
                project: None,
                kind: None,
                state: StateFilter::Live,
                session: None,
                branch: Some(branch.clone()),
                offset: 0,
                limit: UNLEARNT_MAX,
            };
            let memories = self.inner.store.memories(query).await?;
            writes.extend(memories.into_iter().map(|row| LearnWrite::Turn {
                owner: owner.clone(),
                memory: row.memory.id,
                state: MemoryState::Waiting,
            }));
        }
        Ok(writes)
    }
}

/// A branch that has taught something.
pub(super) struct TaughtBy<'a> {
    pub(super) branch: &'a Branch,
    pub(super) generation: u32,
    pub(super) session: SessionId,
    pub(super) work_place: WorkPlace,
    /// Memories that its opening was given.
    pub(super) shown: Vec<MemoryId>,
    /// Where the first text from outside came from that it saw, if it saw any.
    pub(super) outside: Option<Scrubbed>,
    pub(super) at_ms: u64,
}

impl TaughtBy<'_> {
    /// A lesson of the branch's end.
    pub(super) fn lesson(&self, lesson: Lesson, source: LessonSource, ordinal: u32) -> NewLesson {
        NewLesson {
            lesson,
            source,
            trust: if self.outside.is_some() { Trust::Outside } else { Trust::Own },
            label: self.outside.clone(),
            work_place: self.work_place.clone(),
            session: Some(self.session.clone()),
            end: Some((self.branch.id.clone(), self.generation, ordinal)),
            status: Some(self.branch.status),
            shown: self.shown.clone(),
            instead_of: None,
            marks: Vec::new(),
            at_ms: self.at_ms,
        }
    }
}

/// What a branch did, call by call.
pub(super) fn operations_in(trajectory: &Trajectory) -> Vec<Operation> {
    let operations = trajectory.steps.iter().filter_map(|step| match &step.event {
        Event::OperationSeen { operation, .. } => Some((**operation).clone()),
        _ => None,
    });
    operations.collect()
}

/// Whether the store could not do its work, rather than that what it had could not be read.
pub(super) fn is_of_store(error: &Error) -> bool {
    match error {
        Error::Failed(Failure::Store(StoreError::Unreadable { .. })) => false,
        Error::Failed(Failure::Store(_)) => true,
        Error::Failed(_) | Error::Refused(_) => false,
    }
}

/// What a branch's outcome says of the memories that it relied on.
fn moved_by(end: &OutboxEnd, branch: &Branch, generation: u32) -> Vec<LearnWrite> {
    let by = match branch.status {
        Status::Completed => BeliefMove::HelpedBranch,
        Status::Failed | Status::Timeout => BeliefMove::FailedBranch,
        Status::Created | Status::Active => return Vec::new(),
    };
    let used = end.said.iter().flat_map(|said| &said.used).take(MOVED_MAX);
    let moved = used.map(|memory| LearnWrite::Move {
        owner: end.session.owner.clone(),
        memory: memory.clone(),
        by,
        evidence: NewEvidence {
            kind: EvidenceKind::Moved(by),
            session: Some(end.session.id.clone()),
            branch: Some((branch.id.clone(), generation)),
            from_memory: None,
            at_ms: end.at_ms,
        },
    });
    moved.collect()
}

pub(super) fn kept_in(write: &LearnWrite) -> Option<&Memory> {
    match write {
        LearnWrite::Keep { kept, .. } => Some(&kept.memory),
        LearnWrite::Move { .. } | LearnWrite::Turn { .. } | LearnWrite::Ask(_) | LearnWrite::LeaveUnasked { .. } => {
            None
        }
    }
}

fn work_place_of(end: &OutboxEnd, branch: &Branch) -> WorkPlace {
    let recorded = branch.work_place.clone();
    recorded.unwrap_or_else(|| WorkPlace {
        project: end.project.clone().unwrap_or_else(|| ProjectKey::of_path("")),
        git_branch: end.git_branch.clone(),
        folder: None,
    })
}

/// Marks of the files that a lesson is about.
pub(super) fn marks_of(lesson: &Lesson, seen: &[SeenFile], at_ms: u64) -> Vec<StoredMark> {
    let marks = lesson.files.iter().map(|file| StoredMark {
        file: file.path.clone(),
        lines: mark_bytes(&marked_lines(file.path.as_str(), seen)),
        is_changed: false,
        at_ms,
    });
    marks.filter(|mark| !mark.lines.is_empty()).collect()
}
