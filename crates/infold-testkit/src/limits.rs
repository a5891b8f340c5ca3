//! The bounds that infold's documents set, as a value for tests that use no settings file.

use infold_core::{Allocation, ContextBound, Limits};

/// The default limits that infold's documents state.
pub fn documented_limits() -> Limits {
    Limits {
        budget_default_tokens: 8_192,
        budget_max_tokens: 32_768,
        timeout_default_s: 300,
        timeout_max_s: 600,
        depth_max: 3,
        open_per_session_max: 10,
        open_per_instance_max: 100,
        fair_share_percent: None,
        openings_per_minute_max: 5,
        allocation: Allocation::Independent,
        session_budget_tokens: None,
        context_limit_tokens: 32_768,
        context_bound: ContextBound::Soft,
        session_end_ms: 30_000,
    }
}
