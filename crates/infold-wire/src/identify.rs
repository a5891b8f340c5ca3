//! Finds out whose request it is: the session, the agent in it, and what the client says the request is for.
//!
//! Clients say it in headers and in the body, each in its own way. For clients that say nothing, the engine compares
//! what they send ([`Request::digests`]), never just how a conversation begins, because many begin alike.

use infold_core::transcript::Client;
use infold_core::view::RequestKind;
use serde::Deserialize;

use crate::request::{Api, Request};

/// Where a request comes from, as far as its client says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestIdentity {
    /// The client's own id of the session; `None` if the client does not say.
    pub session: Option<String>,
    /// The client's own id of the agent; `None` if it is the main agent.
    pub agent: Option<String>,
    /// What the request is for, from a header or else from its form.
    pub kind: RequestKind,
    /// The client; `None` if its headers and the body do not show it.
    pub client: Option<Client>,
}

/// Finds out whose request it is. Header names may be in upper or lower case.
pub fn identify(_api: Api, headers: &[(&str, &str)], request: &Request<'_>) -> RequestIdentity {
    let headers = Headers(headers);
    let (session, agent, client) = None
        .or_else(|| claude_code(&headers, request))
        .or_else(|| codex(&headers, request))
        .or_else(|| open_code(&headers))
        .unwrap_or((headers.get("agent-session-id").map(str::to_owned), None, None));
    let kind = headers.turn().request_kind.as_deref().and_then(kind_named).unwrap_or_else(|| request.kind_hint());
    RequestIdentity { session, agent, kind, client }
}

type NamedSession = (Option<String>, Option<String>, Option<Client>);

struct Headers<'h>(&'h [(&'h str, &'h str)]);

impl<'h> Headers<'h> {
    /// The value of a header; `None` if it is missing or empty.
    fn get(&self, name: &str) -> Option<&'h str> {
        let found = self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(found.1.trim()).filter(|value| !value.is_empty())
    }

    /// What Codex says about the turn; empty for other clients.
    fn turn(&self) -> CodexTurn {
        self.get("x-codex-turn-metadata").and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
    }
}

/// What Codex says about a turn, in the header `x-codex-turn-metadata`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CodexTurn {
    session_id: Option<String>,
    thread_id: Option<String>,
    request_kind: Option<String>,
}

/// The kind of request that Codex names. For an unknown name it is `None`, and the request's form decides.
fn kind_named(word: &str) -> Option<RequestKind> {
    match word {
        "turn" => Some(RequestKind::Turn),
        "compaction" => Some(RequestKind::Compaction),
        "prewarm" => Some(RequestKind::Side),
        _ => None,
    }
}

fn claude_code(headers: &Headers<'_>, request: &Request<'_>) -> Option<NamedSession> {
    let said = request.user_id();
    let session = headers.get("x-claude-code-session-id").map(str::to_owned);
    let session = session.or_else(|| session_in(said.as_deref()?))?;
    let agent = headers.get("x-claude-code-agent-id").map(str::to_owned);
    Some((Some(session), agent, Some(Client::ClaudeCode)))
}

/// The session in `metadata.user_id`, which is JSON with `session_id`, or the older `user_…_session_<uuid>`.
fn session_in(user_id: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct UserId {
        session_id: String,
    }
    let named = serde_json::from_str(user_id).ok().map(|UserId { session_id }| session_id);
    let older = || user_id.strip_prefix("user_")?.rsplit_once("_session_").map(|(_, session)| session.to_owned());
    named.or_else(older).filter(|session| !session.is_empty())
}

fn codex(headers: &Headers<'_>, request: &Request<'_>) -> Option<NamedSession> {
    let turn = headers.turn();
    let is_codex =
        ["x-codex-turn-metadata", "x-codex-window-id", "thread-id"].iter().any(|name| headers.get(name).is_some())
            || headers.get("originator").is_some_and(|name| name.starts_with("codex"));
    let said = ["session-id", "session_id"].iter().find_map(|name| headers.get(name)).map(str::to_owned);
    // Codex uses the session's id as the cache key. Other clients may use one key for many sessions, which must stay
    // separate.
    let key = || request.prompt_cache_key().filter(|_| is_codex).map(|key| key.into_owned());
    let session = said.or(turn.session_id).or_else(key).filter(|_| is_codex || request.api() == Api::Responses)?;
    let thread = headers.get("thread-id").map(str::to_owned).or(turn.thread_id);
    // The main thread has the session's own id.
    let own = thread.filter(|thread| *thread != session);
    let agent = own.or_else(|| headers.get("x-openai-subagent").map(str::to_owned));
    Some((Some(session), agent, is_codex.then_some(Client::Codex)))
}

fn open_code(headers: &Headers<'_>) -> Option<NamedSession> {
    let session = ["x-session-affinity", "x-session-id"].iter().find_map(|name| headers.get(name))?.to_owned();
    Some(match headers.get("x-parent-session-id") {
        Some(parent) if parent != session => (Some(parent.to_owned()), Some(session), Some(Client::OpenCode)),
        _ => (Some(session), None, Some(Client::OpenCode)),
    })
}

#[cfg(test)]
mod tests;
