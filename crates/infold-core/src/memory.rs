//! Memories: what one branch has learnt, kept for those that come after it.
//!
//! A *lesson* is what was learnt, in words. A *memory* is a lesson as it is kept: with where it comes from, how far
//! that is trusted, what speaks for it, and what it replaces. Everything that is decided about them is here, as values;
//! finding and keeping them is the store's work.

mod ask;
mod belief;
mod choose;
mod distil;
mod files;
mod inject;
mod kept;
mod lesson;
mod mark;
mod merge;
mod outside;
mod query;
mod quote;
mod rank;
mod relevance;
mod remote;
mod rule_file;
mod rules;
mod searched;
pub mod suspicion;
mod vector;

pub use ask::{AskBounds, NoLessonList, ask_instructions, ask_record, read_lessons};
pub use belief::{Belief, BeliefMove};
pub use distil::{BranchWork, DistilledDraft, EndedBranch, NoLesson, RunCommand, distil};
pub(crate) use distil::{error_line, exit_status, head, one_line};
pub use inject::{InjectedContext, Injection, OpeningMemories, ShownMemory};
pub use kept::{
    LessonSource, Memory, MemoryId, MemoryNow, MemoryOrigin, MemoryScope, MemoryState, ProjectKey, Trust, WorkPlace,
};
pub use lesson::{FileUse, Lesson, LessonDraft, LessonFile, MemoryKind};
pub use mark::{SeenFile, mark_bytes, mark_lines, marked_lines};
pub use merge::{ComparedLesson, ComparedTexts, NEIGHBOURS_MAX, NearMemory, Placing, Shingles, place, united};
pub use outside::{CallReach, reach_of};
pub use query::{MemoryQuery, QueryTexts, SEARCHED_MAX, TRUNKS, WordFrequencies, is_trunk};
pub use quote::{Note, QuoteCode, QuoteKey, quote, quoted_text};
pub use rank::{CANDIDATES_MAX, RankCandidate, RankSigns, RankedMemory, rank};
pub use relevance::{Relevance, RelevanceSigns};
pub use remote::{git_setting, remote_name};
pub use rule_file::{RuleFile, rule_file_saying};
pub use rules::{InjectionRules, LearnFrom, MemoryRules, ProjectsBy, ReviewOf, SuspiciousFate};
pub use searched::{SearchedMemory, SearchedTexts};
pub use suspicion::{Suspicion, suspicion};
pub use vector::{FileModel, NotAModel, TextVector};
