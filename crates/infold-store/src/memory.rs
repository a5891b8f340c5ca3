//! The rows of memories: what was learnt, the index of its words, what speaks for it, and what it can be put back to.
//!
//! What must hold: an end of a branch is learnt from once, whatever number of processes tries; every read and every
//! write names the owner, and what is another's is not there; no text of a memory that was forgotten is left in the
//! file. What a lesson is worth is the core's; when to learn, to show and to forget is the engine's.

mod asks;
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
mod vectors;
mod words;

#[cfg(test)]
mod tests;

pub use asks::{AnswerLearnt, AskClaim, AskEnd, AskOutcome, AskSpending, AskTurn, ClaimAnswer, NewAsk, WaitingAsk};
pub use change::{AddedMemories, MemoryUpdate, NewMemories};
pub use find::{FoundMemories, MemoryCandidate, MemorySearch, SearchReach};
pub use forget::{ForgetSource, Forgotten};
pub use held::{HeldText, TextLapse};
pub use keep::{EvidenceKind, KeptMemory, NewEvidence};
pub use learn::{LearnAnswer, LearnStep, LearnWrite};
pub use list::{
    BelievedMemory, EvidenceRow, MemoryCounts, MemoryDetail, MemoryFilter, MemoryRow, ShownRow, StateFilter,
};
pub use marks::{MarkNote, StoredMark};
pub use merges::UnmergedBranch;
pub use outbox::{OutboxBatch, OutboxEnd};
pub use pending::{Extraction, NewLessons, NewShown, ShownMemory};
pub use places::{Clones, NamedProject, ProjectKind, ProjectRow, SilenceScope};
pub use undo::{ChangeRow, UndoAnswer};
pub use vectors::{EmbeddedMemory, MemoryVector};
pub use words::FieldWords;

pub(crate) use pending::{end_columns, write_lessons, write_shown};
