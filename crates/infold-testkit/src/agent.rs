//! A small agent that behaves on the wire like Claude Code, Codex or OpenCode, and does what a scripted
//! model tells it to.
//!
//! It holds its transcript in its client's own form and sends all of it in every request, with that
//! client's headers and habits: marks on the last block, system entries that are now text and now a list,
//! tools that are deferred until they were searched for. It calls infold's tools over MCP, with the id of
//! the call where its client sends one, and answers its own tools from files that a test has given it.

mod answer;
mod claude;
mod codex;
mod opencode;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use crate::{Era, McpHttp};

pub use answer::{Said, SaidCall};

#[cfg(test)]
mod tests;

/// Requests that one piece of work may take.
const TURNS_MAX: usize = 80;

/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The name under which clients know infold's MCP server.
const SERVER: &str = "infold";

/// Which client the agent behaves like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Claude Code, over Anthropic Messages.
    ClaudeCode,
    /// Codex, over OpenAI Responses.
    Codex,
    /// OpenCode, over OpenAI Chat Completions.
    OpenCode,
}

impl Client {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ClaudeCode, Self::Codex, Self::OpenCode];

    /// Where the proxy serves this client's API.
    pub fn root(self) -> &'static str {
        match self {
            Self::ClaudeCode => "/anthropic",
            Self::Codex | Self::OpenCode => "/openai",
        }
    }

    /// The path of a turn, below the root.
    pub fn path(self) -> &'static str {
        match self {
            Self::ClaudeCode => "/v1/messages?beta=true",
            Self::Codex => "/v1/responses",
            Self::OpenCode => "/v1/chat/completions",
        }
    }

    /// The client's own tool that reads a file, and its argument that names the file.
    pub fn reads_with(self) -> (&'static str, &'static str) {
        match self {
            Self::ClaudeCode => ("Read", "file_path"),
            Self::Codex => ("exec_command", "cmd"),
            Self::OpenCode => ("read", "filePath"),
        }
    }
}

/// Whether the client lists infold's tools in every request, or has the model search for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// They are there from the start.
    Inline,
    /// They are loaded when they are searched for.
    Deferred,
}

/// Whether the client says something of its own behind each round of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reminders {
    None,
    BehindResults,
}

/// Whether the client says which session a request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ids {
    Sent,
    None,
}

/// An agent in the middle of a session.
#[derive(Debug)]
pub struct Agent {
    client: Client,
    http: reqwest::Client,
    /// Where the model's API is, without a trailing slash.
    model_url: String,
    mcp: McpHttp,
    listing: Listing,
    /// Infold's tools, as its server lists them.
    server_tools: Vec<Value>,
    /// Names of those that were searched for.
    loaded: Vec<String>,
    session: String,
    subagent: Option<String>,
    /// The entries of the conversation, in the client's own form, without cache marks.
    pub transcript: Vec<Value>,
    files: BTreeMap<String, String>,
    reminders: Reminders,
    ids: Ids,
}

/// What came back for a request, as it came.
#[derive(Debug)]
pub struct Raw {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub bytes: Vec<u8>,
    /// Why the body ended, where it did not end by itself.
    pub cut: Option<String>,
}

impl Raw {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Agent {
    /// An agent whose requests go through the daemon at `daemon_url`.
    pub async fn through(client: Client, daemon_url: &str, session: &str) -> Result<Self> {
        Self::start(client, &format!("{daemon_url}{}", client.root()), daemon_url, session).await
    }

    /// An agent whose requests go straight to the model, and its MCP calls to the daemon.
    pub async fn direct(client: Client, model_url: &str, daemon_url: &str, session: &str) -> Result<Self> {
        Self::start(client, model_url, daemon_url, session).await
    }

    async fn start(client: Client, model_url: &str, daemon_url: &str, session: &str) -> Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(REQUEST_TIMEOUT).build()?;
        let mcp = McpHttp::connect_with(http.clone(), daemon_url, Era::Modern).await?;
        let server_tools = mcp.list_tools().await?;
        let listing = match client {
            Client::ClaudeCode | Client::Codex => Listing::Deferred,
            Client::OpenCode => Listing::Inline,
        };
        let mut agent = Self {
            client,
            http,
            model_url: model_url.to_owned(),
            mcp,
            listing,
            server_tools,
            loaded: Vec::new(),
            session: session.to_owned(),
            subagent: None,
            transcript: Vec::new(),
            files: BTreeMap::new(),
            reminders: Reminders::None,
            ids: Ids::Sent,
        };
        agent.transcript = agent.front();
        Ok(agent)
    }

    /// The same agent with infold's tools listed in another way.
    pub fn listing(mut self, listing: Listing) -> Self {
        self.listing = listing;
        self
    }

    /// The same agent as a subagent of its session.
    pub fn subagent(mut self, id: &str) -> Self {
        self.subagent = Some(id.to_owned());
        self
    }

    /// The same agent, whose client names neither itself nor its session.
    pub fn without_ids(mut self) -> Self {
        self.ids = Ids::None;
        self
    }

    /// The same agent, whose client adds words of its own behind results.
    pub fn with_reminders(mut self) -> Self {
        self.reminders = Reminders::BehindResults;
        self
    }

    /// Puts a file where the agent's own tools find it.
    pub fn file(&mut self, path: &str, content: &str) {
        self.files.insert(path.to_owned(), content.to_owned());
    }

    /// The client that the agent behaves like.
    pub fn client(&self) -> Client {
        self.client
    }

    /// The session's id.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Goes on through another daemon, or the same one on another port.
    pub async fn reconnect(&mut self, daemon_url: &str) -> Result<()> {
        self.model_url = format!("{daemon_url}{}", self.client.root());
        self.mcp = McpHttp::connect_with(self.http.clone(), daemon_url, Era::Modern).await?;
        Ok(())
    }

    /// A person says something.
    pub fn say(&mut self, words: &str) {
        match self.client {
            // The first words stand behind what the client itself puts in front, in one message.
            Client::ClaudeCode if self.transcript.is_empty() => {
                self.transcript.push(claude::first_words(words));
                self.transcript.push(claude::system_entry(&self.server_tools));
            }
            Client::ClaudeCode => self.transcript.push(claude::words(words)),
            Client::Codex => self.transcript.push(codex::message("user", words)),
            Client::OpenCode => self.transcript.push(opencode::message("user", words)),
        }
    }

    /// Does what a person asks for: sends, calls, sends again, until the model calls nothing. Gives its last
    /// words.
    pub async fn work(&mut self, words: &str) -> Result<String> {
        self.say(words);
        self.go_on().await
    }

    /// Goes on until the model calls nothing.
    pub async fn go_on(&mut self) -> Result<String> {
        for _ in 0..TURNS_MAX {
            let said = self.turn().await?;
            if said.calls.is_empty() {
                return Ok(said.text);
            }
            self.answer(&said).await?;
        }
        bail!("the model did not come to an end within {TURNS_MAX} requests")
    }

    /// Goes on until `enough` of what the model has just said, whose calls are then not answered yet.
    pub async fn until(&mut self, enough: impl Fn(&Said) -> bool) -> Result<Said> {
        for _ in 0..TURNS_MAX {
            let said = self.turn().await?;
            if enough(&said) {
                return Ok(said);
            }
            self.answer(&said).await?;
        }
        bail!("the model did not say what was waited for within {TURNS_MAX} requests")
    }

    /// Sends one request, and keeps what the model says.
    pub async fn turn(&mut self) -> Result<Said> {
        let raw = self.send(self.request()).await?;
        let said = answer::read(self.client, &raw)?;
        self.transcript.extend(said.entries.iter().cloned());
        Ok(said)
    }

    /// Sends a request with these bytes, and gives what comes back.
    pub async fn send(&self, body: Vec<u8>) -> Result<Raw> {
        let mut response = self.post(body).send().await.context("the request could not be sent")?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut bytes = Vec::new();
        let cut = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) => break None,
                Err(error) => break Some(format!("{error:?}")),
            }
        };
        Ok(Raw { status, headers, bytes, cut })
    }

    /// A request with these bytes and the client's headers, to be sent.
    pub fn post(&self, body: Vec<u8>) -> reqwest::RequestBuilder {
        self.post_to(self.client.path(), body)
    }

    /// The same, to another path of the API.
    pub fn post_to(&self, path: &str, body: Vec<u8>) -> reqwest::RequestBuilder {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in self.headers() {
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(&value)) {
                headers.insert(name, value);
            }
        }
        self.http.post(format!("{}{path}", self.model_url)).headers(headers).body(body)
    }

    /// The body of the next request.
    pub fn request(&self) -> Vec<u8> {
        let mut body = match self.client {
            Client::ClaudeCode => claude::request(self),
            Client::Codex => codex::request(self),
            Client::OpenCode => opencode::request(self),
        };
        if let (Ids::None, Value::Object(fields)) = (self.ids, &mut body) {
            fields.retain(|name, _| name != "metadata" && name != "prompt_cache_key");
        }
        body.to_string().into_bytes()
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let needed = ["anthropic-version", "x-api-key", "authorization"];
        let mut headers = match self.client {
            Client::ClaudeCode => claude::headers(self),
            Client::Codex => codex::headers(self),
            Client::OpenCode => opencode::headers(self),
        };
        headers.retain(|(name, _)| self.ids == Ids::Sent || needed.contains(name));
        headers
    }

    /// What stands in the transcript before anybody has spoken.
    fn front(&self) -> Vec<Value> {
        match self.client {
            Client::ClaudeCode => Vec::new(),
            Client::Codex => codex::front(),
            Client::OpenCode => opencode::front(),
        }
    }

    /// Makes the calls, and keeps what they give.
    pub async fn answer(&mut self, said: &Said) -> Result<()> {
        let mut results = Vec::new();
        for call in &said.calls {
            results.push((call.clone(), self.call(call).await?));
        }
        self.keep_results(&results);
        Ok(())
    }

    /// Keeps what calls gave, in the client's form.
    pub fn keep_results(&mut self, results: &[(SaidCall, Given)]) {
        let entries = match self.client {
            Client::ClaudeCode => claude::results(results, self.reminders),
            Client::Codex => codex::results(results, &self.server_tools),
            Client::OpenCode => opencode::results(results),
        };
        self.transcript.extend(entries);
    }

    async fn call(&mut self, call: &SaidCall) -> Result<Given> {
        if let Some(name) = self.server_tool(&call.tool) {
            return self.call_server(&name, call).await;
        }
        if call.tool == "ToolSearch" || call.tool == "tool_search" {
            return Ok(self.search(&call.arguments));
        }
        let text = call.arguments.to_string();
        let found = self.files.iter().find(|(path, _)| text.contains(path.as_str()));
        Ok(Given::Text(found.map_or_else(|| "(no output)".to_owned(), |(_, content)| content.clone())))
    }

    /// The name of infold's tool, without what the client puts in front of it.
    fn server_tool(&self, spelled: &str) -> Option<String> {
        let prefix = match self.client {
            Client::ClaudeCode | Client::Codex => format!("mcp__{SERVER}__"),
            Client::OpenCode => format!("{SERVER}_"),
        };
        spelled.strip_prefix(&prefix).map(str::to_owned)
    }

    async fn call_server(&self, name: &str, call: &SaidCall) -> Result<Given> {
        let meta = match self.client {
            Client::ClaudeCode => Map::from_iter([("claudecode/toolUseId".to_owned(), json!(call.id))]),
            Client::Codex => Map::from_iter([("callId".to_owned(), json!(call.id))]),
            Client::OpenCode => Map::new(),
        };
        let answer = self.mcp.call_with_meta(name, call.arguments.clone(), meta).await?;
        Ok(match answer.jsonrpc_error {
            Some(error) => Given::Text(format!("MCP error {}: {}", error.code, error.message)),
            None => Given::Text(answer.text),
        })
    }

    /// Loads every tool of infold's whose name the query mentions.
    fn search(&mut self, arguments: &Value) -> Given {
        let query = arguments["query"].as_str().unwrap_or_default();
        let names = self.server_tools.iter().filter_map(|tool| tool["name"].as_str());
        let found: Vec<String> = names.filter(|name| query.contains(name)).map(str::to_owned).collect();
        for name in &found {
            if !self.loaded.contains(name) {
                self.loaded.push(name.clone());
            }
        }
        Given::Loaded(found)
    }
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// A text.
    Text(String),
    /// Tools of infold's, by their names on its server.
    Loaded(Vec<String>),
}
