//! Puts a memory together, with the words that it is found by.

use infold_core::memory::{
    Belief, Lesson, LessonSource, Memory, MemoryId, MemoryOrigin, MemoryScope, SearchedMemory, TextVector, Trust,
    suspicion,
};
use infold_core::{Owner, Scrubbed};
use infold_store::{FieldWords, KeptMemory, MemoryVector, StoreError};

use crate::{Engine, Error};

/// What a memory is made from.
pub(crate) struct MemoryParts {
    pub id: MemoryId,
    pub owner: Owner,
    pub scope: MemoryScope,
    pub lesson: Lesson,
    pub source: LessonSource,
    pub trust: Trust,
    pub label: Option<Scrubbed>,
    pub git_branch: Option<Scrubbed>,
    pub replaces: Option<MemoryId>,
}

impl Engine {
    /// A new memory that comes from no branch.
    pub(crate) fn new_memory(&self, parts: MemoryParts) -> KeptMemory {
        let now_ms = self.now_ms();
        let judged = suspicion(parts.lesson.text().as_str());
        let memory = Memory {
            id: parts.id,
            scope: parts.scope,
            git_branch: parts.git_branch,
            lesson: parts.lesson,
            origin: MemoryOrigin {
                owner: parts.owner,
                source: parts.source,
                session: None,
                branch: None,
                label: parts.label,
            },
            trust: parts.trust,
            belief: Belief::prior(parts.source, parts.trust, None),
            suspicion: f64::from(judged.score),
            state: self.inner.settings.memory.first_state(parts.source, &judged),
            replaces: parts.replaces,
            made_at_ms: now_ms,
            evidence_at_ms: now_ms,
        };
        let words = field_words(&memory);
        let vector = vector_of(&memory);
        KeptMemory { memory, ordinal: None, words, vector, marks: Vec::new() }
    }

    /// Makes the index of memories' words anew if it is missing or damaged.
    pub async fn mend_memories(&self) -> Result<(), Error> {
        match self.inner.store.check_memory_words().await {
            Ok(()) => Ok(()),
            Err(StoreError::NoMemoryIndex { problem }) => {
                let memories = self.inner.store.rebuild_memory_words(field_words).await?;
                tracing::warn!(problem, memories, "the index of the memories was made anew");
                Ok(())
            }
            Err(other) => Err(other.into()),
        }
    }

    /// How sure a memory is now.
    pub(crate) fn confidence(&self, memory: &Memory) -> f64 {
        let age_ms = self.now_ms().saturating_sub(memory.evidence_at_ms);
        memory.belief.confidence(memory.trust, age_ms, self.inner.settings.memory.half_life_days)
    }
}

/// The words that a memory is found by.
pub(crate) fn field_words(memory: &Memory) -> FieldWords {
    let found_by = SearchedMemory::of_lesson(&memory.lesson, memory.git_branch.as_ref().map(Scrubbed::as_str));
    FieldWords {
        title: found_by.title,
        lesson: found_by.lesson,
        edited: found_by.edited,
        read: found_by.read,
        commands: found_by.commands,
        git: found_by.git,
    }
}

/// What a memory's words mean, by the built-in model.
pub(crate) fn vector_of(memory: &Memory) -> Option<MemoryVector> {
    let vector = TextVector::built_in(memory.lesson.text().as_str())?;
    Some(MemoryVector { model: vector.model().to_owned(), bytes: vector.bytes() })
}

/// Whether a memory reads like instructions to an agent.
pub(crate) fn is_suspicious(memory: &Memory) -> bool {
    suspicion(memory.lesson.text().as_str()).is_suspicious()
}
