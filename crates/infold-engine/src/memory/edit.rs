//! People write memories, change them, judge those that wait, and undo what was changed.

use infold_core::memory::{
    BeliefMove, Lesson, LessonDraft, LessonSource, Memory, MemoryId, MemoryKind, MemoryScope, MemoryState, Trust,
    suspicion,
};
use infold_core::{Principal, Refusal};
use infold_store::{
    ChangeRow, EvidenceKind, MemoryFilter, MemoryUpdate, NewEvidence, NewMemories, StateFilter, UndoAnswer,
};

use super::made::{MemoryParts, field_words, vector_of};
use super::people::{absent, named_memory};
use crate::{Engine, Error, random};

/// How many changes are listed.
const CHANGES_MAX: usize = 100;
/// How many memories are accepted at once.
const ACCEPTED_MAX: usize = 1_000;

/// A memory that a person writes.
#[derive(Debug, Clone)]
pub struct AddMemory {
    /// The lesson as it was written.
    pub draft: LessonDraft,
    /// The project that it counts in, as a path or a key; `None` means everywhere.
    pub project: Option<String>,
    /// The memory whose place it takes.
    pub replaces: Option<String>,
}

/// A memory that was added.
#[derive(Debug, Clone)]
pub struct MemoryAdded {
    /// The memory.
    pub memory: Memory,
    /// The number by which this can be undone.
    pub change: i64,
    /// A rule file that says the same.
    pub said_by: Option<String>,
}

/// What a person changes of a memory. What is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct EditMemory {
    /// The lesson in a line.
    pub title: Option<String>,
    /// The lesson in a few sentences.
    pub lesson: Option<String>,
    /// What it tells its reader.
    pub kind: Option<MemoryKind>,
    /// The project that it counts in, as a path or a key; an empty one means everywhere.
    pub project: Option<String>,
}

/// What a person says of a memory that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryReview {
    /// It is true, and may be shown.
    Accept,
    /// It is not to be shown.
    Reject,
}

impl Engine {
    /// Adds a memory that a person wrote.
    pub async fn add_memory(&self, who: &Principal, request: AddMemory) -> Result<MemoryAdded, Error> {
        let lesson = self.written_lesson(&request.draft).await?;
        let scope = match &request.project {
            Some(project) => MemoryScope::Project(self.project_by_name(who, project).await?),
            None => MemoryScope::Everywhere,
        };
        let said_by = self.rule_file_in(who, request.project.as_deref(), &lesson).await;
        let replaces = request.replaces.as_deref().map(named_memory).transpose()?;
        let kept = self.new_memory(MemoryParts {
            id: MemoryId::mint(random()?),
            owner: who.owner.clone(),
            scope,
            lesson,
            source: LessonSource::Hand,
            trust: Trust::Person,
            label: None,
            git_branch: None,
            replaces,
        });
        let memory = kept.memory.clone();

        let new = NewMemories {
            owner: who.owner.clone(),
            what: "added",
            memories: vec![kept],
            memories_max: self.inner.settings.memory.memories_max,
            at_ms: self.now_ms(),
        };
        let added = self.inner.store.add_memories(new).await?;
        Ok(MemoryAdded { memory, change: added.change, said_by })
    }

    /// Changes the words, the kind or the place of a memory. A person vouches for what it says then.
    pub async fn edit_memory(&self, who: &Principal, memory: &str, edit: EditMemory) -> Result<Memory, Error> {
        let id = named_memory(memory)?;
        let Some(found) = self.inner.store.memory(who.owner.clone(), id.clone()).await? else {
            return Err(absent(memory).into());
        };
        let before = found.row.memory.lesson;
        let draft = LessonDraft {
            title: edit.title.unwrap_or_else(|| before.title.as_str().to_owned()),
            lesson: edit.lesson.unwrap_or_else(|| before.lesson.as_str().to_owned()),
            kind: Some(edit.kind.unwrap_or(before.kind)),
        };
        let written = self.written_lesson(&draft).await?;
        let scope = match edit.project.as_deref() {
            None => None,
            Some("") => Some(MemoryScope::Everywhere),
            Some(project) => Some(MemoryScope::Project(self.project_by_name(who, project).await?)),
        };

        let decide = move |memory: &Memory| {
            let mut memory = memory.clone();
            memory.lesson = Lesson {
                title: written.title.clone(),
                lesson: written.lesson.clone(),
                kind: written.kind,
                ..memory.lesson
            };
            memory.scope = scope.clone().unwrap_or(memory.scope);
            memory.trust = Trust::Person;
            memory.suspicion = f64::from(suspicion(memory.lesson.text().as_str()).score);
            let words = Some((field_words(&memory), vector_of(&memory)));
            (Some(MemoryUpdate { memory: memory.clone(), words, moved: None }), memory)
        };
        let edited = self.inner.store.change_memory(who.owner.clone(), id, "edited", self.now_ms(), decide).await?;
        edited.ok_or_else(|| absent(memory).into())
    }

    /// Accepts a memory, so that it is shown and a person vouches for it, or rejects it.
    pub async fn review_memory(&self, who: &Principal, memory: &str, review: MemoryReview) -> Result<Memory, Error> {
        let (id, at_ms) = (named_memory(memory)?, self.now_ms());
        let (what, state) = match review {
            MemoryReview::Accept => ("accepted", MemoryState::Live),
            MemoryReview::Reject => ("rejected", MemoryState::Rejected),
        };
        let decide = move |memory: &Memory| {
            let memory = Memory { state: state.clone(), ..memory.clone() };
            let by = BeliefMove::Accepted;
            let evidence =
                NewEvidence { kind: EvidenceKind::Moved(by), session: None, branch: None, from_memory: None, at_ms };
            let (memory, moved) = match review {
                MemoryReview::Accept => (Memory { trust: Trust::Person, ..memory }, Some((by, evidence))),
                MemoryReview::Reject => (memory, None),
            };
            (Some(MemoryUpdate { memory: memory.clone(), words: None, moved }), memory)
        };
        let reviewed = self.inner.store.change_memory(who.owner.clone(), id, what, at_ms, decide).await?;
        reviewed.ok_or_else(|| absent(memory).into())
    }

    /// Accepts all memories that wait, but for those that are suspicious. Returns the names of both.
    pub async fn accept_waiting(&self, who: &Principal) -> Result<(Vec<MemoryId>, Vec<MemoryId>), Error> {
        let waiting = MemoryFilter {
            owner: who.owner.clone(),
            project: None,
            kind: None,
            state: StateFilter::Waiting,
            session: None,
            branch: None,
            offset: 0,
            limit: ACCEPTED_MAX,
        };
        let (mut accepted, mut left) = (Vec::new(), Vec::new());
        for row in self.inner.store.memories(waiting).await? {
            let id = row.memory.id.clone();
            if super::made::is_suspicious(&row.memory) {
                left.push(id);
                continue;
            }
            self.review_memory(who, id.as_str(), MemoryReview::Accept).await?;
            accepted.push(id);
        }
        Ok((accepted, left))
    }

    /// Lists the changes of the caller's memories, the newest first.
    pub async fn memory_changes(&self, who: &Principal) -> Result<Vec<ChangeRow>, Error> {
        Ok(self.inner.store.memory_changes(who.owner.clone(), CHANGES_MAX).await?)
    }

    /// Undoes a change: the one with this number, or the newest. Returns its number, the word for it, and the memories.
    pub async fn undo_memories(
        &self,
        who: &Principal,
        change: Option<i64>,
    ) -> Result<(i64, String, Vec<MemoryId>), Error> {
        match self.inner.store.undo_memory_change(who.owner.clone(), change, self.now_ms()).await? {
            UndoAnswer::Undone { number, what, memories } => Ok((number, what, memories)),
            UndoAnswer::Already => Err(Refusal::ChangeUndone { change: change.unwrap_or_default() }.into()),
            UndoAnswer::NotFound => {
                let change = change.map_or_else(|| "to undo".to_owned(), |number| number.to_string());
                Err(Refusal::ChangeNotFound { change }.into())
            }
        }
    }

    /// Cleans, bounds and scrubs a lesson that a person wrote.
    async fn written_lesson(&self, draft: &LessonDraft) -> Result<Lesson, Error> {
        let LessonDraft { title, lesson, kind } = draft.clean()?;
        let [title, lesson] = self.scrub([title, lesson]).await?;
        LessonDraft::check_scrubbed(&title, &lesson)?;
        let kind = kind.unwrap_or(MemoryKind::Fact);
        Ok(Lesson { title, lesson, kind, files: Vec::new(), commands: Vec::new() })
    }
}
