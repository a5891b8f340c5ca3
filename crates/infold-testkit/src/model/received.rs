//! A request that the fake model has received: its bytes, its session, and what the model found out about it.

use serde_json::Value;

use super::cache::Cached;

/// The model APIs that the fake model speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// `POST /v1/messages` of Anthropic.
    Messages,
    /// `POST /v1/messages/count_tokens` of Anthropic.
    CountTokens,
    /// `POST /v1/responses` of OpenAI.
    Responses,
    /// `POST /v1/chat/completions` of OpenAI.
    Chat,
    /// `POST /api/chat` of Ollama.
    Ollama,
}

/// One request to the fake model.
#[derive(Debug, Clone)]
pub struct Received {
    /// The API that it was sent to.
    pub api: Api,
    /// The request's path, with the query.
    pub path: String,
    /// The headers, with lowercase names, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub bytes: Vec<u8>,
    /// The body as JSON.
    pub body: Value,
    /// The client's ids of the session and the subagent, joined; empty if the client sends none.
    pub session: String,
    /// The rule that it broke, in the provider's words, or why the script could not go on.
    pub broken: Option<String>,
    /// How many pieces of reasoning in it the provider would silently drop.
    pub reasoning_dropped: usize,
    /// How many calls in it lack the reasoning that came before them when the model made them.
    pub reasoning_missing: usize,
    /// How many of its tokens were read from the cache, written to it, or fresh.
    pub cache: Cached,
    /// The HTTP status of the answer.
    pub status: u16,
}

impl Received {
    /// A request with this body and nothing else.
    pub fn of(api: Api, body: Value) -> Self {
        Self {
            api,
            path: String::new(),
            headers: Vec::new(),
            bytes: body.to_string().into_bytes(),
            body,
            session: String::new(),
            broken: None,
            reasoning_dropped: 0,
            reasoning_missing: 0,
            cache: Cached::default(),
            status: 200,
        }
    }

    /// A header's value, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// How many tools the request lists. Every turn of an agent has some; a client's side calls have none.
    pub fn tool_count(&self) -> usize {
        let listed = |list: &Value| list.as_array().map_or(0, Vec::len);
        let items = self.body["input"].as_array().into_iter().flatten();
        let among_items = items.filter(|item| item["type"] == "additional_tools").map(|item| listed(&item["tools"]));
        listed(&self.body["tools"]) + among_items.sum::<usize>()
    }

    /// Whether any string in the body contains this text.
    pub fn holds(&self, text: &str) -> bool {
        fn inside(value: &Value, text: &str) -> bool {
            match value {
                Value::String(found) => found.contains(text),
                Value::Array(values) => values.iter().any(|value| inside(value, text)),
                Value::Object(fields) => fields.values().any(|value| inside(value, text)),
                Value::Null | Value::Bool(_) | Value::Number(_) => false,
            }
        }
        inside(&self.body, text)
    }
}

pub(crate) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// The client's own ids of the session and the subagent, joined. Clients that send none share one session.
pub(crate) fn session_of(headers: &[(String, String)], body: &Value) -> String {
    let names: &[&str] =
        &["x-claude-code-session-id", "session-id", "session_id", "x-session-affinity", "x-session-id"];
    let session = names.iter().find_map(|name| header(headers, name).map(str::to_owned));
    let session = session.or_else(|| body["metadata"]["user_id"].as_str().map(str::to_owned));
    let session = session.or_else(|| body["prompt_cache_key"].as_str().map(str::to_owned)).unwrap_or_default();
    let branches = ["x-claude-code-agent-id", "thread-id"];
    let branch = branches.iter().find_map(|name| header(headers, name)).filter(|branch| *branch != session);
    branch.map_or_else(|| session.clone(), |branch| format!("{session}/{branch}"))
}
