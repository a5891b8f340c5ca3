//! What has to be equal for two openings to be the same call.

use infold_core::Isolation;

use crate::{MemoryWish, OpenBranch, SessionRef};

/// The parts of an opening that make it this one.
#[derive(serde::Serialize)]
pub(super) struct OpenPrint<'a> {
    verb: &'static str,
    session: &'a SessionRef,
    parent: &'a Option<String>,
    description: &'a str,
    prompt: &'a Option<String>,
    budget_tokens: Option<u64>,
    timeout_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    isolation: Option<Isolation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memories: Option<MemoryWish>,
}

impl<'a> OpenPrint<'a> {
    pub(super) fn of(request: &'a OpenBranch) -> Self {
        Self {
            verb: "open",
            session: &request.session,
            parent: &request.parent,
            description: &request.description,
            prompt: &request.prompt,
            budget_tokens: request.budget_tokens,
            timeout_s: request.timeout_s,
            isolation: request.isolation,
            memories: (request.memories == MemoryWish::Nothing).then_some(request.memories),
        }
    }
}
