//! Identifies a request: finds the session that it belongs to.
//!
//! Clients name their sessions in headers or in the body. Those that do not are identified by what they send: a request
//! that extends an earlier one belongs to its session. Conversations in which the model has not spoken yet begin alike
//! too often for that.

use infold_core::transcript::Client;
use infold_core::view::{BlockKind, RequestKind, Side, ThreadSource};
use infold_core::{Principal, SessionId};
use infold_wire::request::Request;
use infold_wire::{RequestIdentity, identify};

use super::{ModelRequest, OwnThread};
use crate::Engine;

/// The session that a request belongs to, and who sent it.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) who: Principal,
    pub(super) session: SessionId,
    /// The subagent's name, if the request is not the main agent's.
    pub(super) agent: Option<String>,
    pub(super) kind: RequestKind,
    pub(super) client: Option<Client>,
    /// How the request's thread is known.
    pub(super) thread: ThreadSource,
    /// The prefix of the conversation's next request, if that request will be identified by it.
    pub(super) digest: Option<[u8; 32]>,
    /// Tokens of the window that its sender keeps to, if the request does not say it by itself.
    pub(super) window_tokens: Option<u64>,
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
    /// Identifies a request. If the store cannot be read, the conversation counts as a new one.
    pub(super) async fn identify(&self, asked: &ModelRequest, request: &Request<'_>) -> Identity {
        let who = asked.who.clone();
        if let Some(OwnThread { session, thread, kind, window_tokens }) = &asked.thread {
            return Identity {
                who,
                session: session.clone(),
                agent: None,
                kind: *kind,
                client: Some(Client::Infold),
                thread: ThreadSource::Named(thread.clone()),
                digest: None,
                window_tokens: Some(*window_tokens),
            };
        }
        let thread = ThreadSource::Transcript;
        let lines: Vec<(&str, &str)> =
            asked.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let RequestIdentity { session, agent, kind, client } = identify(request.api(), &lines, request);
        if let Some(session) = session {
            let session = SessionId::of_client(&session, agent.as_deref());
            return Identity { who, session, agent, kind, client, thread, digest: None, window_tokens: None };
        }
        let digests = request.digests();
        let spoken = spoken_from(request).map_or(&[][..], |entry| digests.get(entry..).unwrap_or_default());
        let known = self.conversation_by_prefix(&who, spoken).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "a conversation could not be looked up");
            None
        });
        let session =
            known.or_else(|| self.by_its_calls(&who, request)).unwrap_or_else(|| nameless(&digests, self.now_ms()));
        let digest = (!spoken.is_empty()).then(|| digests.last().copied()).flatten();
        Identity { who, session, agent, kind, client, thread, digest, window_tokens: None }
    }

    /// Finds the session in which a model was seen to make one of the calls in this request.
    fn by_its_calls(&self, who: &Principal, request: &Request<'_>) -> Option<SessionId> {
        let calls = request.blocks().iter().rev().filter_map(|block| match &block.kind {
            BlockKind::Call(call) => Some(call),
            _ => None,
        });
        // No arguments have this hash, so calls are found by their ids only.
        let mut found = calls.filter_map(|call| self.issued(who, Some(&call.id), &call.tool, &[0; 32]));
        found.next().map(|(session, _)| session)
    }
}

/// The first entry of the conversation that is the model's.
fn spoken_from(request: &Request<'_>) -> Option<usize> {
    request.blocks().iter().find(|block| block.kind.side() == Side::Model).map(|block| block.entry)
}

/// Makes a name for a conversation that was not seen before and that its client does not name. It is never computed a
/// second time, so it only has to be unique.
fn nameless(digests: &[[u8; 32]], now_ms: u64) -> SessionId {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut seed = digests.last().copied().unwrap_or_default().to_vec();
    seed.extend_from_slice(&now_ms.to_le_bytes());
    seed.extend_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    seed.extend_from_slice(&std::process::id().to_le_bytes());
    SessionId::hashed(&seed)
}

#[cfg(test)]
mod tests;
