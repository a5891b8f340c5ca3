//! Lessons, as callers write them.

use infold_core::memory::{LessonDraft, MemoryKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a lesson tells its reader.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LessonKind {
    /// A way that works.
    Works,
    /// A way that does not work.
    Fails,
    /// Something that is so.
    Fact,
    /// Something that somebody wants so.
    Preference,
}

impl From<LessonKind> for MemoryKind {
    fn from(kind: LessonKind) -> Self {
        match kind {
            LessonKind::Works => Self::Works,
            LessonKind::Fails => Self::Fails,
            LessonKind::Fact => Self::Fact,
            LessonKind::Preference => Self::Preference,
        }
    }
}

/// A lesson as a caller writes it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LessonBody {
    /// The lesson in a line, in at most 120 characters.
    title: String,
    /// The lesson in a few sentences, in at most 1,200 characters.
    lesson: String,
    /// What it tells its reader. If it is not given: what works, or, of a branch that failed, what does not.
    kind: Option<LessonKind>,
}

impl From<LessonBody> for LessonDraft {
    fn from(body: LessonBody) -> Self {
        Self { title: body.title, lesson: body.lesson, kind: body.kind.map(Into::into) }
    }
}
