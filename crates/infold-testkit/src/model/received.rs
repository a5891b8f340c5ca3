//! What the fake model was sent, kept as it came, and whose it was.

use serde_json::Value;

use super::cache::Cached;

/// The model APIs that the fake model speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// Anthropic Messages.
    Messages,
    /// Anthropic's count of what a request holds.
    CountTokens,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions.
    Chat,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Received {
    /// The API that it was sent to.
    pub api: Api,
    /// The path with its query.
    pub path: String,
    /// The headers, with lowercase names, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub bytes: Vec<u8>,
    /// The body, read.
    pub body: Value,
    /// The session and branch of work that it belongs to, as far as the client says.
    pub session: String,
    /// The rule that it broke, in the provider's words, or why the script could not go on.
    pub broken: Option<String>,
    /// Reasoning in it that the provider would drop without a word.
    pub reasoning_dropped: usize,
    /// Calls in it that were said after reasoning which is not in front of them any more.
    pub reasoning_missing: usize,
    /// What the provider had of it already, and what it wrote.
    pub cache: Cached,
    /// What it was answered with; 0 if the connection was closed instead.
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

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Whether the request offers tools, as every turn of the work does and side calls do not.
    pub fn tool_count(&self) -> usize {
        let listed = |list: &Value| list.as_array().map_or(0, Vec::len);
        let items = self.body["input"].as_array().into_iter().flatten();
        let among_items = items.filter(|item| item["type"] == "additional_tools").map(|item| listed(&item["tools"]));
        listed(&self.body["tools"]) + among_items.sum::<usize>()
    }

    /// Whether the body holds this text, wherever.
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

/// Whose request this is: the client's own ids, joined. Clients that name none share one session.
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
