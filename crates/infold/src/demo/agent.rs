//! The agent: it holds the conversation, sends all of it with every request, and carries out calls.

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::scene::TASKS;
use super::tools::DemoTools;

/// The script needs fewer requests than this; after so many, something is wrong.
const REQUESTS_MAX: usize = 40;
const SYSTEM: &str = "You are a coding agent. You answer questions about a project by reading its files. Work of which \
                      only the outcome matters belongs into a branch: open one, work in it, return what you found.";

/// What the agent did in the demonstration.
pub struct PlayedDemo {
    /// The bodies of its requests, in order.
    pub sent: Vec<Value>,
}

/// Plays all tasks against the daemon at `base_url`. `on_answer` is called with the number of each request
/// that was answered.
pub async fn play(base_url: &str, session: &str, on_answer: impl Fn(usize)) -> anyhow::Result<PlayedDemo> {
    let http = reqwest::Client::builder().no_proxy().build()?;
    let tools = DemoTools::new(http.clone(), base_url);
    let mut agent = DemoAgent {
        url: format!("{base_url}/anthropic/v1/messages"),
        session: session.to_owned(),
        listed: tools.list().await?,
        http,
        tools,
        messages: Vec::new(),
        sent: Vec::new(),
    };
    for task in TASKS {
        agent.messages.push(json!({"role": "user", "content": [{"type": "text", "text": task.prompt}]}));
        while agent.turn().await? {
            on_answer(agent.sent.len());
        }
        on_answer(agent.sent.len());
    }
    Ok(PlayedDemo { sent: agent.sent })
}

struct DemoAgent {
    http: reqwest::Client,
    url: String,
    session: String,
    tools: DemoTools,
    listed: Value,
    messages: Vec<Value>,
    sent: Vec<Value>,
}

impl DemoAgent {
    /// Sends one request and carries out the calls in its answer. Returns whether there is more to do.
    async fn turn(&mut self) -> anyhow::Result<bool> {
        if self.sent.len() >= REQUESTS_MAX {
            bail!("the demonstration does not come to an end");
        }
        let body = self.body();
        self.sent.push(body.clone());
        let request = self.http.post(&self.url).header("x-claude-code-session-id", &self.session);
        let request = request.header("x-api-key", "none-is-needed").header("anthropic-version", "2023-06-01");
        let response = request.json(&body).send().await.context("the daemon could not be reached")?;
        let status = response.status();
        let mut answer: Value = response.json().await.context("the answer is no JSON")?;
        if !status.is_success() {
            bail!("the model refused request {}: {answer}", self.sent.len());
        }

        let content = answer["content"].take();
        let mut results = Vec::new();
        for block in content.as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use") {
            let (id, tool) = (block["id"].as_str().unwrap_or_default(), block["name"].as_str().unwrap_or_default());
            let text = self.tools.call(id, tool, &block["input"]).await?;
            let content = json!([{"type": "text", "text": text}]);
            results.push(json!({"type": "tool_result", "tool_use_id": id, "content": content}));
        }
        self.messages.push(json!({"role": "assistant", "content": content}));
        if results.is_empty() {
            return Ok(false);
        }
        self.messages.push(json!({"role": "user", "content": results}));
        Ok(true)
    }

    /// The next request: the whole conversation, with its last block marked for the provider's cache.
    fn body(&self) -> Value {
        let mut messages = self.messages.clone();
        let last = messages.last_mut().and_then(|message| message["content"].as_array_mut()?.last_mut());
        if let Some(block) = last {
            block["cache_control"] = json!({"type": "ephemeral"});
        }
        json!({
            "model": super::MODEL,
            "max_tokens": 4096,
            "system": [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
            "tools": self.listed,
            "messages": messages,
        })
    }
}
