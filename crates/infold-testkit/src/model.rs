//! A model on loopback that plays a script, keeps all that it was sent, and refuses what a provider
//! would refuse.
//!
//! It speaks Anthropic Messages, OpenAI Responses and OpenAI Chat Completions, streamed and whole. Each
//! session plays the script from its start, whatever others do. Every request is checked against the
//! providers' rules that a program can check, so that every test that runs through it is also a test of
//! those rules. Its answers depend on nothing but the script and the request: the same session gets the
//! same ids in every run, and reasoning that it has sealed is still good after it was started anew.

mod anthropic;
mod chat;
mod http;
mod received;
mod refusal;
mod responses;
mod script;
mod seal;
mod spoken;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use received::{Api, Received};
pub use script::{Aside, Call, Script, Step};

use refusal::Refusal;
use seal::Prefix;
use spoken::{Spoken, Turn};

#[cfg(test)]
mod tests;

/// Characters of a request's body that are taken for one token. Only its growth matters here.
const CHARS_PER_TOKEN: u64 = 4;

/// A running model. It stops when it is dropped.
#[derive(Debug)]
pub struct Model {
    base_url: String,
    shared: Arc<Shared>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Model {
    /// Starts a model on a free port of the loopback address.
    pub async fn start(script: Script) -> Result<Self> {
        Self::start_on(SocketAddr::from(([127, 0, 0, 1], 0)), script).await
    }

    /// Starts a model on this address.
    pub async fn start_on(address: SocketAddr, script: Script) -> Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared { script, kept: Mutex::default() });
        let router = http::router(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { base_url, shared, server })
    }

    /// Where the model listens, without a trailing slash. Clients of OpenAI want `/v1` after it.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Everything that it was sent, in order.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.kept().requests.clone()
    }

    /// The turns of the work that it was sent: requests with tools, not counting token counts.
    pub fn turns(&self) -> Vec<Received> {
        let requests = self.requests().into_iter();
        requests.filter(|request| request.api != Api::CountTokens && request.tool_count() > 0).collect()
    }

    /// The rules that were broken, one line for each request that broke one.
    pub fn broken(&self) -> Vec<String> {
        self.requests().into_iter().filter_map(|request| request.broken).collect()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// What all connections share.
#[derive(Debug)]
struct Shared {
    script: Script,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    requests: Vec<Received>,
    /// How many steps each session has been given.
    steps: HashMap<String, usize>,
}

impl Shared {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a request, and says what it is answered with.
    fn answer(&self, mut received: Received) -> Result<Spoken, Refusal> {
        let checked = self.check(&received);
        let (prefix, reasoning_dropped) = match checked {
            Ok(found) => found,
            Err(refusal) => {
                received.broken = Some(refusal.message.clone());
                self.kept().requests.push(received);
                return Err(refusal);
            }
        };
        received.reasoning_dropped = reasoning_dropped;

        let input_tokens = tokens(&received);
        let step = self.next_step(&received);
        let turn = Turn {
            body: &received.body,
            step: &step,
            prefix: &prefix,
            input_tokens: step.input_tokens.unwrap_or(input_tokens),
        };
        let spoken = match received.api {
            Api::Messages => anthropic::speak(&turn),
            Api::Responses => responses::speak(&turn),
            Api::Chat => chat::speak(&turn),
            Api::CountTokens => Spoken { plain: json!({"input_tokens": input_tokens}), events: Vec::new() },
        };
        self.kept().requests.push(received);
        Ok(spoken)
    }

    /// Checks a request against its provider's rules and the script's window.
    fn check(&self, received: &Received) -> Result<(Prefix, usize), Refusal> {
        let found = match received.api {
            // What is counted need not be a request that could be sent.
            Api::CountTokens => return Ok((Prefix::default(), 0)),
            Api::Messages => (anthropic::rules::check(&received.body)?, 0),
            Api::Responses => {
                let checked = responses::rules::check(&received.body)?;
                (checked.prefix, checked.reasoning_dropped)
            }
            Api::Chat => (chat::rules::check(&received.body)?, 0),
        };
        let (tokens, window_tokens) = (tokens(received), self.script.window_tokens.unwrap_or(u64::MAX));
        if tokens > window_tokens {
            return Err(too_long(received.api, tokens, window_tokens));
        }
        Ok(found)
    }

    fn next_step(&self, received: &Received) -> Step {
        if received.api == Api::CountTokens {
            return Step::default();
        }
        let last_text = last_text(&received.body);
        if let Some(aside) = self.script.aside_for(&last_text, received.tool_count()) {
            return aside;
        }
        let mut kept = self.kept();
        let number = kept.steps.entry(received.session.clone()).or_default();
        *number += 1;
        self.script.step(*number - 1)
    }
}

fn tokens(received: &Received) -> u64 {
    u64::try_from(received.bytes.len()).unwrap_or(u64::MAX) / CHARS_PER_TOKEN
}

/// The refusal of a request that is longer than the window, as clients know it.
fn too_long(api: Api, tokens: u64, window_tokens: u64) -> Refusal {
    match api {
        Api::Messages | Api::CountTokens => {
            Refusal::anthropic(format!("prompt is too long: {tokens} tokens > {window_tokens} maximum"))
        }
        Api::Responses | Api::Chat => {
            let message =
                "Your input exceeds the context window of this model. Please adjust your input and try again.";
            Refusal::openai(message.to_owned(), "input", Some("context_length_exceeded"))
        }
    }
}

/// The text of the last messages, back to what the model itself said last.
fn last_text(body: &Value) -> String {
    let entries = body["messages"].as_array().or_else(|| body["input"].as_array());
    let entries = entries.map(Vec::as_slice).unwrap_or_default();
    let said_by_model = |entry: &Value| {
        entry["role"] == "assistant" || entry["type"].as_str().is_some_and(|kind| kind.ends_with("_call"))
    };
    let start = entries.iter().rposition(said_by_model).map_or(0, |at| at + 1);
    let mut texts = Vec::new();
    for entry in &entries[start..] {
        match &entry["content"] {
            Value::String(text) => texts.push(text.as_str()),
            Value::Array(blocks) => texts.extend(blocks.iter().filter_map(|block| block["text"].as_str())),
            _ => {}
        }
    }
    texts.join("\n")
}
