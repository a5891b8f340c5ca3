//! Whose request it is: the session of the engine that it belongs to.
//!
//! Clients name their sessions in headers or in the body. Those that do not are known by what they send: a
//! request that extends one that was seen belongs to its session. Conversations in which the model has not
//! spoken yet begin alike too often to be told apart so.

use infold_core::transcript::Client;
use infold_core::view::{BlockKind, RequestKind, Side};
use infold_core::{Principal, SessionId};
use infold_wire::request::Request;
use infold_wire::{Whose, whose};

use super::ModelRequest;
use crate::Engine;

/// Whose request it is.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) who: Principal,
    pub(super) session: SessionId,
    /// The agent, as its client calls it, if it is not the main one.
    pub(super) agent: Option<String>,
    pub(super) kind: RequestKind,
    pub(super) client: Option<Client>,
    /// What the next request of this conversation will begin with, if that is how it will be known.
    pub(super) digest: Option<[u8; 32]>,
}

impl Identity {
    pub(super) fn client_name(&self) -> Option<String> {
        let name = match self.client? {
            Client::ClaudeCode => "Claude Code",
            Client::Codex => "Codex",
            Client::OpenCode => "OpenCode",
            Client::Infold => "infold",
            Client::Anthropic | Client::OpenAi | Client::Normalized => return None,
        };
        Some(name.to_owned())
    }
}

impl Engine {
    /// Finds out whose request it is. Where the store cannot say, the conversation counts as a new one.
    pub(super) async fn identify(&self, asked: &ModelRequest, request: &Request<'_>) -> Identity {
        let who = asked.who.clone();
        let lines: Vec<(&str, &str)> =
            asked.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let Whose { session, agent, kind, client } = whose(request.api(), &lines, request);
        if let Some(session) = session {
            let session = SessionId::of_client(&session, agent.as_deref());
            return Identity { who, session, agent, kind, client, digest: None };
        }
        let digests = request.digests();
        let spoken = spoken_from(request).map_or(&[][..], |entry| digests.get(entry..).unwrap_or_default());
        let known = self.conversation_by_prefix(&who, spoken).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "a conversation could not be looked up");
            None
        });
        let session = known.or_else(|| self.by_its_calls(&who, request)).unwrap_or_else(|| nameless(&digests));
        let digest = (!spoken.is_empty()).then(|| digests.last().copied()).flatten();
        Identity { who, session, agent, kind, client, digest }
    }

    /// The session in which a model was seen to make one of these calls.
    fn by_its_calls(&self, who: &Principal, request: &Request<'_>) -> Option<SessionId> {
        let calls = request.blocks().iter().rev().filter_map(|block| match &block.kind {
            BlockKind::Call(call) => Some(call),
            _ => None,
        });
        // No arguments have this hash, so that only the id counts.
        let mut found = calls.filter_map(|call| self.issued(who, Some(&call.id), &call.tool, &[0; 32]));
        found.next().map(|(session, _)| session)
    }
}

/// The first entry that is the model's.
fn spoken_from(request: &Request<'_>) -> Option<usize> {
    request.blocks().iter().find(|block| block.kind.side() == Side::Model).map(|block| block.entry)
}

/// A name for a conversation that nobody named and that was not seen before. It need not be found again by
/// what it is made of, only be like no other.
fn nameless(digests: &[[u8; 32]]) -> SessionId {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut seed = digests.last().copied().unwrap_or_default().to_vec();
    seed.extend_from_slice(&since.as_nanos().to_le_bytes());
    seed.extend_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    seed.extend_from_slice(&std::process::id().to_le_bytes());
    SessionId::hashed(&seed)
}

#[cfg(test)]
mod tests;
