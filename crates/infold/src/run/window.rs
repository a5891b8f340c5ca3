//! Sets limits by the model's window. The tools' own defaults are small on purpose: nine of ten recorded
//! sub-tasks would not have fitted them. What the user has set stays as it is.

use crate::parts;
use crate::settings::{InForce, Origin, SessionSource, ToolFamily};

const PERCENT: u64 = 100;

/// Sets every limit that the user has not set by the window of `model`, and the tools to those for a proxied agent.
pub fn follow(in_force: &mut InForce, model: Option<&str>) {
    let window_tokens = window_tokens(in_force, model);
    follow_window(in_force, window_tokens);
}

/// The same for a window of this size.
pub fn follow_window(in_force: &mut InForce, window_tokens: u64) {
    let InForce { settings, entries, .. } = in_force;
    let run = settings.run.clone();
    let untouched =
        |key: &str| entries.iter().find(|entry| entry.key == key).is_some_and(|entry| entry.origin == Origin::Default);
    let share = |percent: u32| (window_tokens * u64::from(percent) / PERCENT).max(1);

    let folding = &mut settings.folding;
    if untouched("folding.max_budget") {
        folding.max_budget = share(run.max_budget_percent).max(folding.default_budget);
    }
    if untouched("folding.default_budget") {
        folding.default_budget = share(run.default_budget_percent).min(folding.max_budget);
    }
    if untouched("folding.max_timeout_seconds") {
        folding.max_timeout_seconds = run.max_timeout_seconds.max(folding.default_timeout_seconds);
    }
    if untouched("folding.default_timeout_seconds") {
        folding.default_timeout_seconds = run.default_timeout_seconds.min(folding.max_timeout_seconds);
    }
    if untouched("folding.max_branches_per_minute") {
        folding.max_branches_per_minute = run.max_branches_per_minute;
    }
    if untouched("folding.max_concurrent_per_session") {
        folding.max_concurrent_per_session = run.max_concurrent_per_session;
    }
    if untouched("context.context_limit") {
        settings.context.context_limit = window_tokens;
    }
    if untouched("mcp.session") {
        settings.mcp.session = SessionSource::Proxy;
    }
    if untouched("mcp.tools") {
        settings.mcp.tools = vec![ToolFamily::Lean];
    }
}

fn window_tokens(in_force: &InForce, model: Option<&str>) -> u64 {
    let settings = &in_force.settings;
    if settings.run.window_tokens > 0 {
        return settings.run.window_tokens;
    }
    // OpenCode writes the provider's name and a slash in front of the model.
    let model = model.map(|model| model.rsplit('/').next().unwrap_or(model)).unwrap_or_default();
    parts::windows(settings).tokens_of(model)
}
