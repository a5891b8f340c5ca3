//! A model on loopback that plays a script, stores all requests, and refuses what a provider would refuse.
//!
//! It speaks Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Ollama's `/api/chat`, streamed
//! and whole. Each session plays the script from its start, whatever others do. Every request is checked
//! against the providers' rules that a program can check, so that every test that runs through it is also a
//! test of those rules. It has a cache like the providers' and reports what each request read and wrote; it calls
//! no tool that the request does not offer; and it fails on demand ([`Fault`]). Its answers depend on
//! nothing but the script and the requests: the same session gets the same ids in every run, and reasoning
//! that it has sealed is still valid after a restart.

mod anthropic;
mod cache;
mod chat;
mod fault;
mod http;
mod images;
mod ollama;
mod prompt;
mod reach;
mod received;
mod refusal;
mod responses;
mod script;
mod seal;
mod shown;
mod spoken;
pub mod work;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use cache::Cached;
pub use fault::Fault;
pub use images::SentImage;
pub use reach::{Tool, ToolKind};
pub use received::{Api, Received};
pub use script::{Aside, Call, Counting, Decision, Refusing, Script, Step, Stopping};
pub use shown::{Shown, ShownKind};

use cache::{BYTES_PER_TOKEN, PrefixCache};
use refusal::Refusal;
use seal::Prefix;
use spoken::{Spoken, Turn};

#[cfg(test)]
mod tests;

/// The rule that a request breaks, in its provider's words; `None` if it breaks none.
pub fn broken_rule(api: Api, body: &Value) -> Option<String> {
    let broken = match api {
        Api::CountTokens => return None,
        Api::Messages => anthropic::rules::check(body).err(),
        Api::Responses => responses::rules::check(body, &HashMap::new()).err(),
        Api::Chat => chat::rules::check(body).err(),
        Api::Ollama => ollama::rules::check(body).err(),
    };
    let broken = broken.or_else(|| images::check(api, body).err());
    broken.map(|refusal| refusal.message)
}

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

    /// Starts a model that listens on `address`.
    pub async fn start_on(address: SocketAddr, script: Script) -> Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            script,
            memory: Mutex::default(),
            sent: watch::Sender::new(0),
            abandoned: watch::Sender::new(0),
        });
        let router = http::router(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { base_url, shared, server })
    }

    /// Where the model listens, without a trailing slash. Clients of OpenAI want `/v1` after it.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// All requests that the model has received, in order.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.memory().requests.clone()
    }

    /// The requests that are turns of an agent: those with tools, without token counts.
    pub fn turns(&self) -> Vec<Received> {
        let requests = self.requests().into_iter();
        requests.filter(|request| request.api != Api::CountTokens && request.tool_count() > 0).collect()
    }

    /// One line for each request that broke a provider's rule or that the script could not answer.
    pub fn broken(&self) -> Vec<String> {
        self.requests().into_iter().filter_map(|request| request.broken).collect()
    }

    /// The requests that wrote a prefix which was still in the cache: their numbers, and how many tokens were
    /// written twice.
    pub fn repeated_writes(&self) -> Vec<(usize, u64)> {
        let requests = self.requests().into_iter().enumerate();
        requests
            .filter(|(_, request)| request.cache.repeated_tokens > 0)
            .map(|(number, request)| (number, request.cache.repeated_tokens))
            .collect()
    }

    /// What all requests together read from the cache, wrote to it, and had fresh.
    pub fn totals(&self) -> Cached {
        self.requests().iter().fold(Cached::default(), |all, request| Cached {
            read_tokens: all.read_tokens + request.cache.read_tokens,
            write_5m_tokens: all.write_5m_tokens + request.cache.write_5m_tokens,
            write_1h_tokens: all.write_1h_tokens + request.cache.write_1h_tokens,
            fresh_tokens: all.fresh_tokens + request.cache.fresh_tokens,
            repeated_tokens: all.repeated_tokens + request.cache.repeated_tokens,
        })
    }

    /// Moves the cache's clock forward, so that entries lapse.
    pub fn let_time_pass(&self, time: Duration) {
        self.shared.memory().now_ms += u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    }

    /// Waits until the model has received a request of this kind, and returns the first one.
    pub async fn until_sent(&self, wanted: impl Fn(&Received) -> bool) -> Received {
        let mut sent = self.shared.sent.subscribe();
        loop {
            if let Some(found) = self.requests().into_iter().find(|request| wanted(request)) {
                return found;
            }
            // The sender lives as long as the model, so waiting cannot fail.
            let _ = sent.changed().await;
        }
    }

    /// Waits until this many answers were given up by their reader before their end.
    pub async fn until_abandoned(&self, count: usize) {
        // The sender lives as long as the model, so waiting cannot fail.
        let _ = self.shared.abandoned.subscribe().wait_for(|seen| *seen >= count).await;
    }

    /// How many answers were given up by their reader before their end.
    pub fn abandoned(&self) -> usize {
        *self.shared.abandoned.borrow()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// What all connections to the model share.
#[derive(Debug)]
struct Shared {
    script: Script,
    memory: Mutex<ModelMemory>,
    /// How many requests the model has received.
    sent: watch::Sender<usize>,
    /// How many answers' readers went away before the end.
    abandoned: watch::Sender<usize>,
}

/// What the model remembers of the requests so far.
#[derive(Debug, Default)]
struct ModelMemory {
    requests: Vec<Received>,
    /// How many steps of the script each session has used up.
    steps: HashMap<String, usize>,
    cache: PrefixCache,
    /// The cache's clock.
    now_ms: u64,
    /// The seal of the reasoning that came before each call, by the id of the call.
    seals: HashMap<String, String>,
}

/// The model's answer to a request, or its refusal.
enum ScriptedAnswer {
    Spoken { spoken: Spoken, fault: Option<Fault> },
    Refused { refusal: Refusal, retry_after_s: Option<u64> },
}

impl Shared {
    fn memory(&self) -> MutexGuard<'_, ModelMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks and stores a request, and decides what it is answered with.
    fn answer(&self, mut received: Received) -> ScriptedAnswer {
        let prefix = match self.check(&mut received) {
            Ok(prefix) => prefix,
            Err(refusal) => {
                received.broken = Some(refusal.message.clone());
                let is_streamed = received.body["stream"] == true && self.script.refusing == Refusing::InStream;
                if is_streamed && self.is_too_long(&received) {
                    let spoken = Spoken { plain: Value::Null, events: fault::refusal_events(received.api, &refusal) };
                    self.refuse(received, refusal, None);
                    return ScriptedAnswer::Spoken { spoken, fault: None };
                }
                return self.refuse(received, refusal, None);
            }
        };
        if received.api == Api::CountTokens {
            let parts = received.prompt();
            let bytes: usize = parts.iter().map(|part| part.text.len()).sum();
            let tokens = u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_PER_TOKEN;
            self.store(received);
            let spoken = Spoken { plain: json!({"input_tokens": tokens}), events: Vec::new() };
            return ScriptedAnswer::Spoken { spoken, fault: None };
        }

        let step = self.next_step(&mut received);
        if let Some(Fault::Status { status, retry_after_s }) = step.fault {
            let refusal = fault::refusal(received.api, status);
            return self.refuse(received, refusal, retry_after_s);
        }
        received.cache = self.take_in_cache(&received);
        let tools = received.tools();
        let turn =
            Turn { body: &received.body, step: &step, prefix: &prefix, cache: usage(&received, &step), tools: &tools };
        let spoken = match received.api {
            Api::Messages | Api::CountTokens => anthropic::speak(&turn),
            Api::Responses => responses::speak(&turn),
            Api::Chat => chat::speak(&turn),
            Api::Ollama => ollama::speak(&turn),
        };
        let spoken = match self.script.counting {
            Counting::Reported => spoken,
            Counting::Unreported => spoken.without_usage(),
        };
        if received.api == Api::Responses {
            self.memory().seals.extend(responses::seals_by_call(&spoken.plain));
        }
        self.store(received);
        ScriptedAnswer::Spoken { spoken, fault: step.fault }
    }

    /// Stores a request, and wakes those who wait for one.
    fn store(&self, received: Received) {
        self.memory().requests.push(received);
        self.sent.send_modify(|count| *count += 1);
    }

    fn refuse(&self, mut received: Received, refusal: Refusal, retry_after_s: Option<u64>) -> ScriptedAnswer {
        received.status = refusal.status;
        self.store(received);
        ScriptedAnswer::Refused { refusal, retry_after_s }
    }

    fn take_in_cache(&self, received: &Received) -> Cached {
        let mut memory = self.memory();
        let now_ms = memory.now_ms;
        match received.api {
            Api::Messages | Api::CountTokens => memory.cache.take_marked(&received.prompt(), now_ms),
            Api::Responses | Api::Chat | Api::Ollama => memory.cache.take_unmarked(&received.prompt()),
        }
    }

    /// Checks a request against its provider's rules and the script's window.
    fn check(&self, received: &mut Received) -> Result<Prefix, Refusal> {
        let prefix = match received.api {
            // A token count is allowed for a request that could not be sent.
            Api::CountTokens => return Ok(Prefix::default()),
            Api::Messages => anthropic::rules::check(&received.body)?,
            Api::Responses => {
                let checked = responses::rules::check(&received.body, &self.memory().seals)?;
                received.reasoning_dropped = checked.reasoning_dropped;
                received.reasoning_missing = checked.reasoning_missing;
                // The provider drops such reasoning silently and thinks again, but a test has to learn of it.
                received.broken = (checked.reasoning_dropped > 0)
                    .then(|| format!("{} pieces of reasoning are out of their place", checked.reasoning_dropped));
                checked.prefix
            }
            Api::Chat => chat::rules::check(&received.body)?,
            Api::Ollama => ollama::rules::check(&received.body)?,
        };
        images::check(received.api, &received.body)?;
        if self.is_too_long(received) {
            return Err(too_long(received.api, tokens(received), self.script.window_tokens.unwrap_or(u64::MAX)));
        }
        Ok(prefix)
    }

    fn is_too_long(&self, received: &Received) -> bool {
        self.script.window_tokens.is_some_and(|window_tokens| tokens(received) > window_tokens)
    }

    /// The step that answers a request. If the script cannot go on, it is a step that says why.
    fn next_step(&self, received: &mut Received) -> Step {
        let last_text = last_text(&received.body);
        let aside = self.script.aside_for(&last_text, received.tool_count());
        let step = match aside.map_or(Decision::Skip, |aside| aside.decision(received)) {
            Decision::Skip => self.own_step(received),
            other => other,
        };
        let stuck = match step {
            Decision::Say(step) => match out_of_reach(&step, received) {
                None => return step,
                Some(tool) => format!("the script calls {tool}, which is not within reach in this request"),
            },
            Decision::Skip => "every step of the script was skipped".to_owned(),
            Decision::Stuck(reason) => reason,
        };
        received.broken = Some(stuck.clone());
        Step::text(&format!("The script cannot go on: {stuck}."))
    }

    /// The session's next step that is not skipped. After the script's end, it is a step that says so.
    fn own_step(&self, received: &Received) -> Decision {
        loop {
            let number = {
                let mut memory = self.memory();
                let number = memory.steps.entry(received.session.clone()).or_default();
                *number += 1;
                *number - 1
            };
            match self.script.step(number).decision(received) {
                Decision::Skip => {}
                other => return other,
            }
        }
    }
}

/// A tool that a step calls although the request does not offer it.
fn out_of_reach(step: &Step, received: &Received) -> Option<String> {
    let tools: Vec<String> = received.tools().iter().map(Tool::spelled).collect();
    step.calls.iter().map(|call| &call.tool).find(|tool| !tools.contains(tool)).cloned()
}

/// The usage that is reported: the true one, or the one that the script sets.
fn usage(received: &Received, step: &Step) -> Cached {
    match step.input_tokens {
        None => received.cache,
        Some(fresh_tokens) => Cached { fresh_tokens, ..Cached::default() },
    }
}

fn tokens(received: &Received) -> u64 {
    let images = received.images();
    let base64: usize = images.iter().map(|image| image.base64.len()).sum();
    let weight: usize = images.iter().map(|image| image.weight().len()).sum();
    let bytes = received.bytes.len().saturating_sub(base64) + weight;
    u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_PER_TOKEN
}

/// The refusal of a request that is longer than the window, in the provider's words, which clients recognise.
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
        Api::Ollama => Refusal::ollama("the input length exceeds the context length"),
    }
}

/// The text of all messages after the model's own last words.
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
