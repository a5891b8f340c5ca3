//! The rows of memories: what was learnt, the index of its words, what speaks for it, and what it can be put back to.
//!
//! What must hold: an end of a branch is learnt from once, whatever number of processes tries; every read and every
//! write names the owner, and what is another's is not there; no text of a memory that was forgotten is left in the
//! file. What a lesson is worth is the core's; when to learn, to show and to forget is the engine's.

mod change;
mod find;
mod forget;
mod held;
mod keep;
mod learn;
mod list;
mod marks;
mod merges;
mod outbox;
mod pending;
mod places;
mod row;
mod undo;
mod words;

#[cfg(test)]
mod tests;

pub use change::{AddedMemories, MemoryUpdate, NewMemories};
pub use find::{FoundMemories, MemoryCandidate, MemorySearch, SearchReach};
pub use forget::{ForgetSource, Forgotten};
pub use held::{HeldText, TextLapse};
pub use keep::{EvidenceKind, KeptMemory, MemoryVector, NewEvidence};
pub use learn::{LearnAnswer, LearnStep, LearnWrite};
pub use list::{EvidenceRow, MemoryCounts, MemoryDetail, MemoryFilter, MemoryRow, ShownRow, StateFilter};
pub use marks::{MarkNote, StoredMark};
pub use merges::UnmergedBranch;
pub use outbox::{OutboxBatch, OutboxEnd};
pub use pending::{Extraction, NewLessons, NewShown, ShownMemory};
pub use places::{Clones, NamedProject, ProjectKind, ProjectRow, SilenceScope};
pub use undo::{ChangeRow, UndoAnswer};
pub use words::FieldWords;

pub(crate) use pending::{end_columns, write_lessons, write_shown};
