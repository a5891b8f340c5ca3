//! What the tools that open a branch share.

use infold_core::{Isolation, Refusal};
use infold_engine::{MemoryWish, Opened};
use rmcp::model::JsonObject;
use serde_json::json;

use crate::arguments::Arguments;

/// The argument `isolation`: what the branch begins with, if the caller says.
pub(super) fn isolation(arguments: &mut Arguments) -> Result<Option<Isolation>, Refusal> {
    let wrong = || Refusal::Invalid { field: "isolation", problem: "must be isolated or inherit".to_owned() };
    let named = arguments.optional_text("isolation")?;
    named.map(|named| Isolation::parse(&named).ok_or_else(wrong)).transpose()
}

/// The argument `inject_memories`: whether the branch is given memories.
pub(super) fn memories(arguments: &mut Arguments) -> Result<MemoryWish, Refusal> {
    Ok(match arguments.optional_flag("inject_memories")? {
        Some(false) => MemoryWish::Nothing,
        Some(true) | None => MemoryWish::Fitting,
    })
}

/// Adds what only some openings have. The proxy reads both from the transcript later: `isolation` if the branch begins
/// with its parent's conversation, and `injected_context` if it was given memories.
pub(super) fn add_to(body: &mut JsonObject, opened: &Opened) {
    if !opened.isolation.is_isolated() {
        body.insert("isolation".to_owned(), json!(opened.isolation.as_str()));
    }
    if let Some(injected) = &opened.injected_context {
        body.insert("injected_context".to_owned(), json!(injected));
    }
}
