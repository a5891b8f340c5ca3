//! What a user has decided about memories.

use serde::{Deserialize, Serialize};

use super::{LessonSource, MemoryState, Suspicion};

/// What lessons are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LearnFrom {
    /// From what models and people write, and from every ended branch.
    All,
    /// Only from what models and people write.
    Lessons,
    /// From nothing.
    Off,
}

/// Which lessons wait until a person accepts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewOf {
    /// None.
    Off,
    /// Those that no model wrote.
    Mechanical,
    /// All that no person wrote.
    All,
}

impl ReviewOf {
    /// Whether a lesson of this source waits.
    pub fn holds(self, source: LessonSource) -> bool {
        match (self, source) {
            (Self::Off, _) | (_, LessonSource::Hand) => false,
            (Self::Mechanical, LessonSource::Mechanical) | (Self::All, _) => true,
            (Self::Mechanical, LessonSource::Model | LessonSource::Distilled | LessonSource::Imported) => false,
        }
    }
}

/// What happens to a lesson that reads like instructions to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SuspiciousFate {
    /// It waits until a person accepts it.
    Hold,
    /// It is shown, marked as suspicious.
    Quote,
}

/// Which folders are one project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProjectsBy {
    /// The worktrees of one repository.
    Folder,
    /// Also clones that say that they have the same origin.
    Remote,
}

/// What a user has decided about memories.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryRules {
    /// What lessons are taken from.
    pub learn: LearnFrom,
    /// Which folders are one project.
    pub projects: ProjectsBy,
    /// Which lessons wait for a person.
    pub review: ReviewOf,
    /// What happens to lessons that read like instructions.
    pub suspicious: SuspiciousFate,
    /// Days without evidence in which a memory loses half of its confidence above one half.
    pub half_life_days: u64,
    /// Most memories that one owner has.
    pub memories_max: u64,
    /// Most lessons that one call may bring.
    pub lessons_max: usize,
    /// What a branch that opens may be given.
    pub injection: InjectionRules,
}

/// What a branch that opens may be given.
#[derive(Debug, Clone, PartialEq)]
pub struct InjectionRules {
    /// Whether anything is given at all.
    pub is_on: bool,
    /// The share of the branch's budget that memories may take.
    pub budget_ratio: f64,
    /// The tokens that they may take.
    pub tokens_max: u64,
    /// Most memories that one branch is given.
    pub items_max: usize,
    /// The confidence from which a memory is given.
    pub confidence_min: f64,
    /// How sure it must be that a memory has to do with the branch's task.
    pub relevance_min: f64,
}

impl MemoryRules {
    /// What a new memory is at first.
    pub fn first_state(&self, source: LessonSource, judged: &Suspicion) -> MemoryState {
        let is_held = judged.is_suspicious() && source != LessonSource::Hand && self.suspicious == SuspiciousFate::Hold;
        if is_held || self.review.holds(source) { MemoryState::Waiting } else { MemoryState::Live }
    }
}
