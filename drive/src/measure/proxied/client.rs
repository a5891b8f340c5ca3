//! A recorded session as its client would send it: a list of entries that grows, and how many of them each
//! request held.
//!
//! Between two requests lies an answer of the model and what came after it. The items of the answer are put into one
//! message of the model, and what came after into one of the user, results first, as the providers want it.

use infold_core::transcript::{Item, Kind, ModelCall, Transcript};
use serde_json::{Value, json};

/// The API that a session's client used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlayedApi {
    Messages,
    Responses,
}

impl PlayedApi {
    pub fn of(transcript: &Transcript) -> Self {
        if is_codex(transcript) { Self::Responses } else { Self::Messages }
    }

    /// Where requests go, below the daemon's address.
    pub fn path(self) -> &'static str {
        match self {
            Self::Messages => "/anthropic/v1/messages",
            Self::Responses => "/openai/v1/responses",
        }
    }

    /// The header that names the session.
    pub fn session_header(self) -> &'static str {
        match self {
            Self::Messages => "x-claude-code-session-id",
            Self::Responses => "session_id",
        }
    }
}

/// What a client would send of a session so far.
#[derive(Debug)]
pub struct Conversation {
    pub api: PlayedApi,
    pub session: String,
    /// All entries as JSON, with commas between them.
    entries: String,
    model: String,
    /// Requests so far. Reasoning is sealed with the number of the request that it answers.
    requests: usize,
}

impl Conversation {
    pub fn new(api: PlayedApi, session: &str, model: &str) -> Self {
        let (session, model) = (session.to_owned(), model.to_owned());
        Self { api, session, entries: String::new(), model, requests: 0 }
    }

    /// The next request, with all entries so far.
    pub fn body(&mut self) -> Vec<u8> {
        self.requests += 1;
        let entries = &self.entries;
        match self.api {
            PlayedApi::Messages => format!(
                "{{\"model\":{},\"max_tokens\":8192,\"system\":[{{\"type\":\"text\",\"text\":\"You are an agent.\"}}],\"tools\":{},\"messages\":[{entries}]}}",
                json!(self.model),
                tools(self.api)
            ),
            PlayedApi::Responses => format!(
                "{{\"model\":{},\"instructions\":\"You are an agent.\",\"tools\":{},\"store\":false,\"include\":[\"reasoning.encrypted_content\"],\"prompt_cache_key\":{},\"input\":[{entries}]}}",
                json!(self.model),
                tools(self.api),
                json!(self.session)
            ),
        }
        .into_bytes()
    }

    /// Adds what came between the last request and the next: an answer, if there was one yet, and what the
    /// client has to say after it.
    pub fn add(&mut self, items: &[&Item]) {
        let (answer, after): (Vec<&Item>, Vec<&Item>) = items.iter().partition(|item| is_of_the_model(&item.kind));
        match self.api {
            PlayedApi::Messages => self.add_messages(&answer, &after),
            PlayedApi::Responses => self.add_items(&answer, &after),
        }
    }

    fn add_messages(&mut self, answer: &[&Item], after: &[&Item]) {
        let blocks: Vec<Value> = answer.iter().filter_map(|item| self.model_block(item)).collect();
        if !blocks.is_empty() {
            self.push(json!({"role": "assistant", "content": blocks}));
        }
        let calls: Vec<&str> = answer.iter().filter_map(|item| call_id(item)).collect();
        let mut results = Vec::new();
        let mut texts = Vec::new();
        for item in after {
            match &item.kind {
                Kind::Result { id, text, .. } if calls.contains(&id.as_str()) => {
                    results.push((id.as_str(), text.as_str()));
                }
                _ => texts.extend((!item.text().is_empty()).then(|| item.text())),
            }
        }
        let missing = calls.iter().filter(|id| !results.iter().any(|(known, _)| known == *id));
        let missing: Vec<&str> = missing.copied().collect();
        results.extend(missing.into_iter().map(|id| (id, NO_RESULT)));
        let mut content: Vec<Value> = results
            .into_iter()
            .map(|(id, text)| json!({"type": "tool_result", "tool_use_id": id, "content": text}))
            .collect();
        content.extend(texts.into_iter().map(|text| json!({"type": "text", "text": text})));
        if !content.is_empty() {
            self.push(json!({"role": "user", "content": content}));
        }
    }

    fn model_block(&self, item: &Item) -> Option<Value> {
        match &item.kind {
            Kind::Reasoning { text, .. } => {
                Some(json!({"type": "thinking", "thinking": text, "signature": self.seal()}))
            }
            Kind::Call { id, tool, input } => {
                let input = serde_json::from_str(input).ok().filter(Value::is_object);
                let input = input.unwrap_or_else(|| json!({"input": item.text()}));
                Some(json!({"type": "tool_use", "id": id, "name": tool, "input": input}))
            }
            _ if item.text().is_empty() => None,
            _ => Some(json!({"type": "text", "text": item.text()})),
        }
    }

    fn add_items(&mut self, answer: &[&Item], after: &[&Item]) {
        for item in answer {
            let entry = match &item.kind {
                Kind::Reasoning { text, .. } => {
                    let summary = json!([{"type": "summary_text", "text": text}]);
                    json!({"type": "reasoning", "summary": summary, "encrypted_content": self.seal()})
                }
                Kind::Call { id, tool, input } => {
                    json!({"type": "function_call", "call_id": id, "name": tool, "arguments": input})
                }
                _ => {
                    let content = json!([{"type": "output_text", "text": item.text()}]);
                    json!({"type": "message", "role": "assistant", "content": content})
                }
            };
            self.push(entry);
        }
        let mut open: Vec<&str> = answer.iter().filter_map(|item| call_id(item)).collect();
        let mut texts = Vec::new();
        for item in after {
            match &item.kind {
                Kind::Result { id, text, .. } if open.contains(&id.as_str()) => {
                    open.retain(|known| known != id);
                    self.push(json!({"type": "function_call_output", "call_id": id, "output": text}));
                }
                _ => texts.extend((!item.text().is_empty()).then(|| item.text())),
            }
        }
        for id in open {
            self.push(json!({"type": "function_call_output", "call_id": id, "output": NO_RESULT}));
        }
        for text in texts {
            let content = json!([{"type": "input_text", "text": text}]);
            self.push(json!({"type": "message", "role": "user", "content": content}));
        }
    }

    /// The seal of reasoning in the answer to the last request. Some recordings have reasoning in front of the
    /// first request; nobody can say what that was made on.
    fn seal(&self) -> String {
        self.requests.checked_sub(1).map_or_else(|| "sealed".to_owned(), |request| format!("{SEAL}{request}"))
    }

    fn push(&mut self, entry: Value) {
        self.entries.push_str(if self.entries.is_empty() { "" } else { "," });
        self.entries.push_str(&entry.to_string());
    }
}

/// The result of a call that has none in the recording: providers refuse a call without one.
const NO_RESULT: &str = "[no result]";
/// The beginning of a seal; the number of the answered request follows it.
pub const SEAL: &str = "sealed-by-answer-";

fn call_id(item: &Item) -> Option<&str> {
    match &item.kind {
        Kind::Call { id, .. } => Some(id),
        _ => None,
    }
}

/// Whether the model wrote an item.
pub fn is_of_the_model(kind: &Kind) -> bool {
    matches!(kind, Kind::Assistant { .. } | Kind::Reasoning { .. } | Kind::Call { .. })
}

/// The requests that were recorded, without those that the provider never counted.
pub fn requests(transcript: &Transcript) -> Vec<&ModelCall> {
    transcript.calls.iter().filter(|call| call.usage.prompt_tokens() > 0).collect()
}

/// The tools that a client would list: one of its own, and infold's.
fn tools(api: PlayedApi) -> Value {
    let names = ["Read", "mcp__infold__read_result", "mcp__infold__branch_create", "mcp__infold__branch_return"];
    let schema = json!({"type": "object"});
    let tool = |name: &str| match api {
        PlayedApi::Messages => json!({"name": name, "description": "A tool.", "input_schema": schema}),
        PlayedApi::Responses => {
            json!({"type": "function", "name": name, "description": "A tool.", "parameters": schema, "strict": false})
        }
    };
    names.into_iter().map(tool).collect()
}

fn is_codex(transcript: &Transcript) -> bool {
    transcript.calls.first().is_some_and(|call| call.model.starts_with("gpt"))
}
