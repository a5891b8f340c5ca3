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
    pub distill_model: String,
    pub distill_api: ModelApi,
    pub distill_upstream: String,
    pub distill_key_env: String,
    pub distill_tokens_per_day: u64,
    pub distill_record_bytes_max: usize,
    pub distill_answer_tokens_max: u64,
    pub distill_timeout_ms: u64,
    pub distill_pause_ms: u64,
    pub embedding_model: String,
    pub embedding_upstream: String,
    pub embedding_key_env: String,
    pub embedding_wait_ms: u64,
    pub embedding_timeout_ms: u64,
}

/// The API that a model of the user's speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelApi {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's chat completions.
    #[serde(rename = "openai")]
    OpenAi,
}

impl MemoryPart {
    /// Whether the built-in model says what texts mean, and no other.
    pub fn has_built_in_embedding(&self) -> bool {
        self.embedding_upstream.is_empty() && matches!(self.embedding_model.as_str(), "" | "built-in")
    }

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
