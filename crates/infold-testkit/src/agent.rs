//! A small agent whose requests look like those of Claude Code, Codex or OpenCode, and which makes the calls that a
//! scripted model asks for.
//!
//! It has its transcript in its client's own form and sends all of it in every request, with that client's
//! headers and habits: marks on the last block, system entries that are sometimes text and sometimes a list,
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

pub use answer::{ModelReply, ReplyCall};

#[cfg(test)]
mod tests;

/// Most requests that one piece of work may take.
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
    /// Every client, for tests that run once for each.
    pub const ALL: [Self; 3] = [Self::ClaudeCode, Self::Codex, Self::OpenCode];

    /// The path below which the proxy serves this client's API.
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
    /// The tools are listed from the start.
    Inline,
    /// Each tool is loaded when the model searches for it.
    Deferred,
}

/// Whether the client adds words of its own after each round of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reminders {
    None,
    BehindResults,
}

/// Whether the client's requests name their session.
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
    /// The names of the tools that were loaded by a search.
    loaded: Vec<String>,
    session: String,
    subagent: Option<String>,
    /// The entries of the conversation, in the client's own form, without cache marks.
    pub transcript: Vec<Value>,
    files: BTreeMap<String, String>,
    /// Names of tools that are listed with infold's and that the agent answers itself, from its files.
    served: Vec<String>,
    reminders: Reminders,
    ids: Ids,
}

/// The response to a request, unread.
#[derive(Debug)]
pub struct RawReply {
    /// The HTTP status of the response.
    pub status: u16,
    /// The response's headers, as they came through the proxy.
    pub headers: HeaderMap,
    /// The body, as far as it came.
    pub bytes: Vec<u8>,
    /// The error that ended the body, if it did not end by itself.
    pub cut: Option<String>,
}

impl RawReply {
    /// The body as text, with invalid UTF-8 replaced.
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
            served: Vec::new(),
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

    /// The same agent, whose client adds words of its own after results.
    pub fn with_reminders(mut self) -> Self {
        self.reminders = Reminders::BehindResults;
        self
    }

    /// Gives the agent a file. A call of one of the agent's own tools that mentions `path` is answered with `content`.
    pub fn file(&mut self, path: &str, content: &str) {
        self.files.insert(path.to_owned(), content.to_owned());
    }

    /// The same agent with tools of another server, which are spelled as if infold listed them. It answers their calls from its
    /// files.
    pub fn serving(mut self, tools: &[Value]) -> Self {
        self.served.extend(tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned));
        self.server_tools.extend_from_slice(tools);
        self
    }

    /// The client that the agent behaves like.
    pub fn client(&self) -> Client {
        self.client
    }

    /// The session id that the client sends.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Sends later requests through another daemon, or the same one on another port.
    pub async fn reconnect(&mut self, daemon_url: &str) -> Result<()> {
        self.model_url = format!("{daemon_url}{}", self.client.root());
        self.mcp = McpHttp::connect_with(self.http.clone(), daemon_url, Era::Modern).await?;
        Ok(())
    }

    /// Adds a person's words to the transcript.
    pub fn say(&mut self, words: &str) {
        match self.client {
            // The first words come after the client's own words, in one message.
            Client::ClaudeCode if self.transcript.is_empty() => {
                self.transcript.push(claude::first_words(words));
                self.transcript.push(claude::system_entry(&self.server_tools));
            }
            Client::ClaudeCode => self.transcript.push(claude::words(words)),
            Client::Codex => self.transcript.push(codex::message("user", words)),
            Client::OpenCode => self.transcript.push(opencode::message("user", words)),
        }
    }

    /// Adds a person's words, then sends requests and makes calls until the model calls nothing. Returns the model's
    /// last words.
    pub async fn work(&mut self, words: &str) -> Result<String> {
        self.say(words);
        self.go_on().await
    }

    /// Sends requests and makes calls until the model calls nothing. Returns the model's last words.
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

    /// Sends requests and makes calls until `enough` is true of the model's reply. The calls in that reply are not
    /// made yet.
    pub async fn until(&mut self, enough: impl Fn(&ModelReply) -> bool) -> Result<ModelReply> {
        for _ in 0..TURNS_MAX {
            let said = self.turn().await?;
            if enough(&said) {
                return Ok(said);
            }
            self.answer(&said).await?;
        }
        bail!("the model did not say what was waited for within {TURNS_MAX} requests")
    }

    /// Sends one request, and adds the model's reply to the transcript.
    pub async fn turn(&mut self) -> Result<ModelReply> {
        let raw = self.send(self.request()).await?;
        let said = answer::read(self.client, &raw)?;
        self.transcript.extend(said.entries.iter().cloned());
        Ok(said)
    }

    /// Sends a request with these bytes, and reads the response to its end.
    pub async fn send(&self, body: Vec<u8>) -> Result<RawReply> {
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
        Ok(RawReply { status, headers, bytes, cut })
    }

    /// A request with these bytes and the client's headers, to be sent.
    pub fn post(&self, body: Vec<u8>) -> reqwest::RequestBuilder {
        self.post_to(self.client.path(), body)
    }

    /// Like [`Self::post`], to another path of the API.
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

    /// The body of the next request, with the whole transcript.
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

    /// The entries of the transcript before anybody has spoken.
    fn front(&self) -> Vec<Value> {
        match self.client {
            Client::ClaudeCode => Vec::new(),
            Client::Codex => codex::front(),
            Client::OpenCode => opencode::front(),
        }
    }

    /// Makes the reply's calls, and adds their results to the transcript.
    pub async fn answer(&mut self, said: &ModelReply) -> Result<()> {
        let mut results = Vec::new();
        for call in &said.calls {
            results.push((call.clone(), self.call(call).await?));
        }
        self.add_results(&results);
        Ok(())
    }

    /// Makes all of the reply's calls at once, each of them twice as a client does whose connection broke, and adds the second
    /// results to the transcript. Only for calls of infold's tools.
    pub async fn answer_at_once_and_again(&mut self, said: &ModelReply) -> Result<()> {
        for round in 0..2 {
            let calls = said.calls.iter().map(|call| async {
                let name = self.server_tool(&call.tool).context("it is no tool of infold's")?;
                anyhow::Ok((call.clone(), self.call_server(&name, call).await?))
            });
            let results = futures::future::try_join_all(calls).await?;
            if round == 1 {
                self.add_results(&results);
            }
        }
        Ok(())
    }

    /// Adds the results of calls to the transcript, in the client's form.
    pub fn add_results(&mut self, results: &[(ReplyCall, ToolOutput)]) {
        let entries = match self.client {
            Client::ClaudeCode => claude::results(results, self.reminders),
            Client::Codex => codex::results(results, &self.server_tools),
            Client::OpenCode => opencode::results(results),
        };
        self.transcript.extend(entries);
    }

    async fn call(&mut self, call: &ReplyCall) -> Result<ToolOutput> {
        if let Some(name) = self.server_tool(&call.tool).filter(|name| !self.served.contains(name)) {
            return self.call_server(&name, call).await;
        }
        if call.tool == "ToolSearch" || call.tool == "tool_search" {
            return Ok(self.search(&call.arguments));
        }
        let text = call.arguments.to_string();
        let found = self.files.iter().find(|(path, _)| text.contains(path.as_str()));
        Ok(ToolOutput::Text(found.map_or_else(|| "(no output)".to_owned(), |(_, content)| content.clone())))
    }

    /// The name of infold's tool without the client's prefix; `None` if it is not infold's.
    fn server_tool(&self, spelled: &str) -> Option<String> {
        let prefix = match self.client {
            Client::ClaudeCode | Client::Codex => format!("mcp__{SERVER}__"),
            Client::OpenCode => format!("{SERVER}_"),
        };
        spelled.strip_prefix(&prefix).map(str::to_owned)
    }

    async fn call_server(&self, name: &str, call: &ReplyCall) -> Result<ToolOutput> {
        let meta = match self.client {
            Client::ClaudeCode => Map::from_iter([("claudecode/toolUseId".to_owned(), json!(call.id))]),
            Client::Codex => Map::from_iter([("callId".to_owned(), json!(call.id))]),
            Client::OpenCode => Map::new(),
        };
        let answer = self.mcp.call_with_meta(name, call.arguments.clone(), meta).await?;
        Ok(match answer.jsonrpc_error {
            Some(error) => ToolOutput::Text(format!("MCP error {}: {}", error.code, error.message)),
            None => ToolOutput::Text(answer.text),
        })
    }

    /// Loads every tool of infold's whose name the query mentions.
    fn search(&mut self, arguments: &Value) -> ToolOutput {
        let query = arguments["query"].as_str().unwrap_or_default();
        let names = self.server_tools.iter().filter_map(|tool| tool["name"].as_str());
        let found: Vec<String> = names.filter(|name| query.contains(name)).map(str::to_owned).collect();
        for name in &found {
            if !self.loaded.contains(name) {
                self.loaded.push(name.clone());
            }
        }
        ToolOutput::Loaded(found)
    }
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolOutput {
    /// Text that the tool printed.
    Text(String),
    /// Tools of infold's that a search loaded, by their names on its server.
    Loaded(Vec<String>),
}
