//! JSON of memories that a search found, with why.

use infold_engine::{FindReason, ListedMemory};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::MemorySummary;

/// A memory in a list, with why it is there if that was asked.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SearchedSummary {
    #[serde(flatten)]
    summary: MemorySummary,
    /// Why it was found, if `explain` asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<SearchReason>,
}

impl SearchedSummary {
    pub(super) fn new(memory: &ListedMemory, found: Option<SearchReason>) -> Self {
        Self { summary: MemorySummary::from(memory), found }
    }
}

/// Why a memory was found, and what would become of it if a branch opened for the query.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SearchReason {
    /// What its place comes from.
    why: Value,
    /// What would become of it: given, not_live, unsure, behind_others, unrelated or silenced.
    fate: &'static str,
}

impl From<&FindReason> for SearchReason {
    fn from(reason: &FindReason) -> Self {
        Self { why: reason.parts.clone(), fate: reason.fate.as_str() }
    }
}
