//! Keeping a lesson: what it becomes among the memories that are there.

use infold_core::memory::{
    Belief, BeliefMove, ComparedLesson, Lesson, LessonSource, Memory, MemoryId, MemoryOrigin, MemoryScope, MemoryState,
    NEIGHBOURS_MAX, NearMemory, Placing, QueryTexts, Shingles, TextVector, Trust, WorkPlace, place, suspicion, united,
};
use infold_core::{BranchId, Owner, Principal, Refusal, Scrubbed, SessionId, Status};
use infold_store::{EvidenceKind, KeptMemory, LearnWrite, NewEvidence, NewMemories, SearchReach, StoredMark};

use super::made::{field_words, vector_of};
use crate::{Engine, Error, MemoryRecorded, random};

/// What becomes of a lesson that is kept as a memory of its own.
enum MemoryFate {
    /// What settings say of lessons like it.
    Usual,
    /// It waits for a person.
    Waits,
    /// It takes the place of this one.
    Replaces(MemoryId),
}

/// A lesson that is to be kept, with all that is known of it.
#[derive(Debug, Clone)]
pub(crate) struct NewLesson {
    pub lesson: Lesson,
    pub source: LessonSource,
    pub trust: Trust,
    /// Where its writer had it from, if that was outside.
    pub label: Option<Scrubbed>,
    pub work_place: WorkPlace,
    pub session: Option<SessionId>,
    /// The branch that it comes from, which opening of it, and which lesson of its end this is.
    pub end: Option<(BranchId, u32, u32)>,
    /// How that branch ended.
    pub status: Option<Status>,
    /// Memories that its writer had been shown.
    pub shown: Vec<MemoryId>,
    /// A memory of the same end whose place it takes.
    pub instead_of: Option<MemoryId>,
    /// Lines of its files, as its branch saw them.
    pub marks: Vec<StoredMark>,
    pub at_ms: u64,
}

impl Engine {
    /// What keeping a lesson leads to. `before` is what the same step keeps already.
    pub(super) async fn placed(
        &self,
        owner: &Owner,
        new: &NewLesson,
        before: &[Memory],
    ) -> Result<Vec<LearnWrite>, Error> {
        if let Some(file) = self.rule_file_with(owner, &new.work_place, &new.lesson).await {
            tracing::debug!(file, "a lesson is not kept, because a rule file says it already");
            return Ok(Vec::new());
        }
        let (placing, near) = self.place(owner, new, before).await?;
        let made = |memory: Memory| LearnWrite::Keep {
            kept: Box::new(kept(memory, new.ordinal(), new.marks.clone())),
            evidence: new.evidence(EvidenceKind::Made),
        };
        Ok(match placing {
            Placing::AlreadyKnown => Vec::new(),
            Placing::New => {
                let fate = new.instead_of.clone().map_or(MemoryFate::Usual, MemoryFate::Replaces);
                vec![made(self.memory_of(owner, new, fate)?)]
            }
            Placing::Waits(_) => vec![made(self.memory_of(owner, new, MemoryFate::Waits)?)],
            Placing::Replaces(at) => {
                let memory = self.memory_of(owner, new, MemoryFate::Replaces(near[at].id.clone()))?;
                let gone = (memory.state == MemoryState::Live).then(|| new.turned_out(owner, &memory.id)).flatten();
                [made(memory)].into_iter().chain(gone).collect()
            }
            Placing::Same(at) => {
                let again = self.learnt_again(owner, new, &near[at]);
                let gone = (!again.is_empty()).then(|| new.turned_out(owner, &near[at].id)).flatten();
                again.into_iter().chain(gone).collect()
            }
        })
    }

    /// What it leads to that a lesson says what a memory says. A branch that was shown it is no witness.
    fn learnt_again(&self, owner: &Owner, new: &NewLesson, same: &Memory) -> Vec<LearnWrite> {
        if new.shown.contains(&same.id) || same.state == MemoryState::Rejected {
            return Vec::new();
        }
        let mut writes = Vec::new();
        let lesson = united((&same.lesson, same.trust), (&new.lesson, new.trust));
        if lesson != same.lesson {
            let memory = Memory { lesson, ..same.clone() };
            let evidence = new.evidence(EvidenceKind::Reworded);
            writes.push(LearnWrite::Keep { kept: Box::new(kept(memory, None, new.marks.clone())), evidence });
        }
        let by = BeliefMove::LearntAgain;
        let evidence = new.evidence(EvidenceKind::Moved(by));
        writes.push(LearnWrite::Move { owner: owner.clone(), memory: same.id.clone(), by, evidence });
        writes
    }

    /// Keeps a lesson at once, outside of any end of a branch, unless a rule file says it already. It takes the place of
    /// `replaces`, if that is named.
    pub(crate) async fn keep_at_once(
        &self,
        who: &Principal,
        new: NewLesson,
        replaces: Option<MemoryId>,
    ) -> Result<MemoryRecorded, Error> {
        let owner = &who.owner;
        if replaces.is_none()
            && let Some(file) = self.rule_file_with(owner, &new.work_place, &new.lesson).await
        {
            return Ok(MemoryRecorded::SaidBy { file });
        }
        let (placing, near) = self.place(owner, &new, &[]).await?;
        let fate = match (replaces, placing) {
            (Some(id), _) => {
                let found = self.inner.store.memory(owner.clone(), id.clone()).await?;
                found.ok_or_else(|| Refusal::MemoryNotFound { memory: id.to_string() })?;
                MemoryFate::Replaces(id)
            }
            (None, Placing::Same(at)) => {
                let same = &near[at];
                self.move_belief(who, &same.id, BeliefMove::LearntAgain).await?;
                return Ok(MemoryRecorded::Kept { id: same.id.clone(), state: same.state.as_str(), is_merged: true });
            }
            (None, Placing::Replaces(at)) => MemoryFate::Replaces(near[at].id.clone()),
            (None, Placing::Waits(_)) => MemoryFate::Waits,
            (None, Placing::New | Placing::AlreadyKnown) => MemoryFate::Usual,
        };
        let memory = self.memory_of(owner, &new, fate)?;
        let answer = MemoryRecorded::Kept { id: memory.id.clone(), state: memory.state.as_str(), is_merged: false };
        let added = NewMemories {
            owner: owner.clone(),
            what: "recorded",
            memories: vec![kept(memory, None, new.marks.clone())],
            memories_max: self.inner.settings.memory.memories_max,
            at_ms: new.at_ms,
        };
        self.inner.store.add_memories(added).await?;
        Ok(answer)
    }

    /// The place of a new lesson among the memories that it is compared with.
    async fn place(&self, owner: &Owner, new: &NewLesson, before: &[Memory]) -> Result<(Placing, Vec<Memory>), Error> {
        let mut near = self.near(owner, new).await?;
        near.extend_from_slice(before);
        near.retain(|memory| {
            !matches!(memory.state, MemoryState::Replaced(_)) && new.instead_of.as_ref() != Some(&memory.id)
        });
        near.sort_by(|one, other| one.id.cmp(&other.id));
        let mut shown = Shingles::default();
        for id in &new.shown {
            if let Some(memory) = self.inner.store.memory(owner.clone(), id.clone()).await? {
                shown.add(memory.row.memory.lesson.text().as_str());
            }
        }
        let vector = TextVector::built_in(new.lesson.text().as_str());
        let compared = near.iter().map(|memory| {
            let other = TextVector::built_in(memory.lesson.text().as_str());
            let meaning = vector.as_ref().and_then(|vector| vector.cosine(other.as_ref()?));
            NearMemory { lesson: ComparedLesson::of_memory(memory), meaning }
        });
        let compared: Vec<NearMemory> = compared.collect();
        let placing = place(&ComparedLesson::of(&new.lesson, new.trust), &compared, &shown);
        Ok((placing, near))
    }

    /// The memories that a new lesson is compared with.
    async fn near(&self, owner: &Owner, new: &NewLesson) -> Result<Vec<Memory>, Error> {
        let texts = QueryTexts {
            description: new.lesson.title.as_str(),
            prompt: new.lesson.lesson.as_str(),
            git_branch: new.work_place.git_branch_name(),
        };
        // Lessons are compared by the built-in model, whatever model finds memories.
        let vector = TextVector::built_in(new.lesson.text().as_str());
        let found =
            self.find_with(owner, vec![new.work_place.project.clone()], texts, SearchReach::All, vector).await?;
        Ok(found.into_iter().take(NEIGHBOURS_MAX).map(|found| found.memory).collect())
    }

    /// The name of the memory of an end's lesson.
    pub(super) fn end_memory_id(&self, branch: &BranchId, generation: u32, ordinal: u32) -> MemoryId {
        let name = format!("{branch} {generation} {ordinal}");
        let hash = blake3::keyed_hash(self.inner.store.secret(), name.as_bytes());
        MemoryId::mint(std::array::from_fn(|at| hash.as_bytes()[at]))
    }

    /// A new memory of this lesson.
    fn memory_of(&self, owner: &Owner, new: &NewLesson, fate: MemoryFate) -> Result<Memory, Error> {
        let judged = suspicion(new.lesson.text().as_str());
        if judged.is_suspicious() {
            tracing::warn!(score = judged.score, rules = ?judged.rules, "a lesson reads like instructions to an agent");
        }
        let id = match &new.end {
            // The same end gives the same name, so that learning from it again makes no second one.
            Some((branch, generation, ordinal)) => self.end_memory_id(branch, *generation, *ordinal),
            None => MemoryId::mint(random()?),
        };
        Ok(Memory {
            id,
            scope: MemoryScope::Project(new.work_place.project.clone()),
            git_branch: new.work_place.git_branch.clone(),
            lesson: new.lesson.clone(),
            origin: MemoryOrigin {
                owner: owner.clone(),
                source: new.source,
                session: new.session.clone(),
                branch: new.end.as_ref().map(|(branch, generation, _)| (branch.clone(), *generation)),
                label: new.label.clone(),
            },
            trust: new.trust,
            belief: Belief::prior(new.source, new.trust, new.status),
            suspicion: f64::from(judged.score),
            state: match fate {
                MemoryFate::Waits => MemoryState::Waiting,
                MemoryFate::Usual | MemoryFate::Replaces(_) => {
                    self.inner.settings.memory.first_state(new.source, &judged)
                }
            },
            replaces: match fate {
                MemoryFate::Replaces(id) => Some(id),
                MemoryFate::Usual | MemoryFate::Waits => None,
            },
            made_at_ms: new.at_ms,
            evidence_at_ms: new.at_ms,
        })
    }
}

impl NewLesson {
    /// Puts another memory in the place of the one whose place this lesson was to take.
    fn turned_out(&self, owner: &Owner, by: &MemoryId) -> Option<LearnWrite> {
        let memory = self.instead_of.clone()?;
        Some(LearnWrite::Turn { owner: owner.clone(), memory, state: MemoryState::Replaced(by.clone()) })
    }

    fn ordinal(&self) -> Option<u32> {
        self.end.as_ref().map(|(_, _, ordinal)| *ordinal)
    }

    fn evidence(&self, kind: EvidenceKind) -> NewEvidence {
        NewEvidence {
            kind,
            session: self.session.clone(),
            branch: self.end.as_ref().map(|(branch, generation, _)| (branch.clone(), *generation)),
            from_memory: None,
            at_ms: self.at_ms,
        }
    }
}

fn kept(memory: Memory, ordinal: Option<u32>, marks: Vec<StoredMark>) -> KeptMemory {
    KeptMemory { words: field_words(&memory), vector: vector_of(&memory), memory, ordinal, marks }
}
