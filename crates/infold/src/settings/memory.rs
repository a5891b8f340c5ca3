//! `[memory]` as types. `default.toml` says what each setting means.

use infold_core::memory::{InjectionRules, LearnFrom, MemoryRules, ProjectsBy, ReviewOf, SuspiciousFate};
use serde::Deserialize;

/// `[memory]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct MemoryPart {
    pub learn: LearnFrom,
    pub projects: ProjectsBy,
    pub inject: bool,
    pub injection_budget_ratio: f64,
    pub injection_tokens_max: u64,
    pub memory_max_items: usize,
    pub memory_min_confidence: f64,
    pub relevance_min: f64,
    pub lessons_max: usize,
    pub review: ReviewOf,
    pub suspicious: SuspiciousFate,
    pub half_life_days: u64,
    pub memories_max: u64,
}

impl MemoryPart {
    /// The same, as decisions are made by it.
    pub fn rules(&self) -> MemoryRules {
        MemoryRules {
            learn: self.learn,
            projects: self.projects,
            review: self.review,
            suspicious: self.suspicious,
            half_life_days: self.half_life_days,
            memories_max: self.memories_max,
            lessons_max: self.lessons_max,
            injection: InjectionRules {
                is_on: self.inject,
                budget_ratio: self.injection_budget_ratio,
                tokens_max: self.injection_tokens_max,
                items_max: self.memory_max_items,
                confidence_min: self.memory_min_confidence,
                relevance_min: self.relevance_min,
            },
        }
    }
}
