//! The rules for memories that the documents name.

use infold_core::memory::{InjectionRules, LearnFrom, MemoryRules, ProjectsBy, ReviewOf, SuspiciousFate};

/// The documents' defaults.
pub fn documented_memory_rules() -> MemoryRules {
    MemoryRules {
        learn: LearnFrom::All,
        projects: ProjectsBy::Folder,
        review: ReviewOf::Off,
        suspicious: SuspiciousFate::Hold,
        half_life_days: 365,
        memories_max: 20_000,
        lessons_max: 5,
        injection: InjectionRules {
            is_on: true,
            budget_ratio: 0.2,
            tokens_max: 2_048,
            items_max: 10,
            confidence_min: 0.7,
            relevance_min: 0.4,
        },
    }
}
