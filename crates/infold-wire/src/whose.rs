//! Whose request it is: the session, the agent in it, and what the client says it is for.
//!
//! Clients say so in headers and in the body, each in its own words. Those that say nothing are told apart by what
//! they send ([`Request::digests`]), never by how a conversation begins: many begin alike.

use infold_core::transcript::Client;
use infold_core::view::RequestKind;
use serde::Deserialize;

use crate::request::{Api, Request};

/// Whose request it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whose {
    /// The session, in the client's word for it.
    pub session: Option<String>,
    /// The agent in it, if it is not the main one.
    pub agent: Option<String>,
    /// What it is for.
    pub kind: RequestKind,
    /// The client, if it is one that says so in its headers.
    pub client: Option<Client>,
}

/// Finds out whose request it is. Names of headers may be in any case.
pub fn whose(_api: Api, headers: &[(&str, &str)], request: &Request<'_>) -> Whose {
    let headers = Headers(headers);
    let (session, agent, client) = None
        .or_else(|| claude_code(&headers, request))
        .or_else(|| codex(&headers, request))
        .or_else(|| open_code(&headers))
        .unwrap_or((headers.get("agent-session-id").map(str::to_owned), None, None));
    let kind = headers.turn().request_kind.as_deref().and_then(kind_said).unwrap_or_else(|| request.kind_hint());
    Whose { session, agent, kind, client }
}

type NamedSession = (Option<String>, Option<String>, Option<Client>);

struct Headers<'h>(&'h [(&'h str, &'h str)]);

impl<'h> Headers<'h> {
    /// What a header says, if it says anything.
    fn get(&self, name: &str) -> Option<&'h str> {
        let found = self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(found.1.trim()).filter(|value| !value.is_empty())
    }

    /// What Codex says of the turn.
    fn turn(&self) -> Turn {
        self.get("x-codex-turn-metadata").and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
    }
}

/// What Codex says of a turn, in a header.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Turn {
    session_id: Option<String>,
    thread_id: Option<String>,
    request_kind: Option<String>,
}

/// What the word of Codex for a kind of request means; of words that are not known, the form has to tell.
fn kind_said(word: &str) -> Option<RequestKind> {
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

/// The session in `metadata.user_id`: a JSON text with `session_id`, or the older `user_…_session_<uuid>`.
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
    // To Codex this is the session. Others may use one key for many, which must not be taken for one.
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
