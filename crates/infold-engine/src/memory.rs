//! Memories: what is learnt from branches that end, and given to branches that open. What people do with them is here
//! too: look at them, write and change them, take them with them, have them forgotten.

mod ask;
mod asked;
mod asking;
mod edit;
mod embedding;
mod feedback;
mod forgetting;
mod inject;
mod keeping;
mod learning;
mod made;
mod merges;
mod models;
mod notes;
mod people;
mod place;
mod projects;
mod repository;
mod rule_files;
mod search;
mod seen;
mod teaching;
mod transfer;

use std::sync::atomic::AtomicBool;

use infold_core::{Decision, Event};
use tokio::sync::{Mutex, Notify};

pub use asking::AskStatus;
pub use edit::{AddMemory, EditMemory, MemoryAdded, MemoryReview};
pub(crate) use embedding::Embedding;
pub use forgetting::{ForgetMode, ForgetReport, LapsingText};
pub use infold_store::{
    ChangeRow, EvidenceRow, ForgetSource, MemoryCounts, MemoryDetail, MemoryRow, ProjectRow, SearchReach, ShownRow,
    SilenceScope, StateFilter,
};
pub use inject::GiveFate;
pub use models::{
    AskFault, AskModel, Distiller, EmbedTexts, Embedder, EndpointEmbedder, FileEmbedder, MemoryModels, ModelQuestion,
    ModelReply,
};
pub use notes::{NotesRead, NotesWanted, ReadNotes};
pub use people::{FindReason, ListMemories, ListedMemory, MemoryPage, SessionMemories, ShownDetail, WhyShown};
pub use projects::Silence;
pub use search::FoundMemory;
pub use transfer::{EXPORT_TYPE, ImportMemories, ImportMode, MemoriesImported};

/// What an engine knows of its learning.
#[derive(Default)]
pub(crate) struct Learning {
    /// Held by whoever learns.
    turn: Mutex<learning::PassedEnds>,
    /// Notified when a branch has ended.
    ended: Notify,
    /// Notified when a model is to be asked about an end.
    listed: Notify,
    /// Whether it was said that memories are not available.
    problem_said: AtomicBool,
    /// What the main threads of sessions have seen of files.
    waiting: seen::WaitingResults,
    /// What rule files say.
    rule_files: rule_files::ReadRuleFiles,
    /// References of repositories, as they were seen last.
    references: merges::SeenReferences,
}

impl Learning {
    /// Wakes whoever learns if a branch has ended.
    pub(crate) fn note_recorded(&self, decision: &Decision) {
        if decision.events.iter().any(|event| matches!(event, Event::BranchEnded { .. })) {
            self.ended.notify_one();
        }
    }
}
