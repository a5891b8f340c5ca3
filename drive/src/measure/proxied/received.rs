//! Reads what the provider was sent: its items, and whether each reasoning still follows what it was made on.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use anyhow::{Context, Result};
use infold_replay::SentItem;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::client::{PlayedApi, SEAL};

/// An entry of a request, read.
#[derive(Debug, Default)]
pub struct ReceivedEntry {
    /// The text of each item, and the tool if it is a call.
    items: Vec<(Option<String>, String)>,
    /// The answers, by the numbers of their requests, whose reasoning the entry holds.
    sealed_by: Vec<usize>,
    pub references: Vec<Reference>,
}

/// The text that is shown for an offloaded result.
#[derive(Debug, PartialEq, Eq)]
pub struct Reference {
    /// The id of the call that gave the result.
    pub call: String,
    pub handle: String,
    pub text: String,
}

impl ReceivedEntry {
    pub fn items(&self) -> impl Iterator<Item = SentItem<'_>> {
        self.items.iter().map(|(tool, text)| match tool {
            Some(tool) => SentItem::Call { tool, arguments: text },
            None => SentItem::Words(text),
        })
    }
}

/// Reads requests of one session. An entry is read once, however often it is sent.
#[derive(Debug)]
pub struct Reader {
    api: PlayedApi,
    known: HashMap<u64, Arc<ReceivedEntry>>,
    /// A hash of all entries of each request so far.
    sent: Vec<u64>,
}

/// A request that the provider was sent, read.
#[derive(Debug)]
pub struct Received {
    pub entries: Vec<Arc<ReceivedEntry>>,
    /// A hash of each entry, in order.
    pub keys: Vec<u64>,
    /// How many reasoning blocks follow something else than they were made on.
    pub invalid_reasoning: usize,
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, alias = "input")]
    messages: Vec<&'a RawValue>,
}

impl Reader {
    pub fn new(api: PlayedApi) -> Self {
        Self { api, known: HashMap::new(), sent: Vec::new() }
    }

    /// Reads the next request of the session.
    pub fn read(&mut self, body: &[u8]) -> Result<Received> {
        let body: Body<'_> = serde_json::from_slice(body).context("what was sent is no request")?;
        let mut received = Received { entries: Vec::new(), keys: Vec::new(), invalid_reasoning: 0 };
        let mut prefix = 0;
        let mut prefixes = vec![prefix];
        for raw in body.messages {
            let key = hash(0, raw.get());
            let entry = match self.known.get(&key) {
                Some(entry) => Arc::clone(entry),
                None => {
                    let entry = Arc::new(read_entry(self.api, &serde_json::from_str(raw.get())?));
                    self.known.insert(key, Arc::clone(&entry));
                    entry
                }
            };
            // Reasoning is valid if the entries in front of it are those that it was made on.
            let is_good = |answer: &usize| self.sent.get(*answer).is_some_and(|made_on| prefixes.contains(made_on));
            received.invalid_reasoning += entry.sealed_by.iter().filter(|answer| !is_good(answer)).count();
            prefix = hash(prefix, raw.get());
            prefixes.push(prefix);
            received.entries.push(entry);
            received.keys.push(key);
        }
        self.sent.push(prefix);
        Ok(received)
    }
}

fn hash(seed: u64, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(seed);
    hasher.write(text.as_bytes());
    hasher.finish()
}

fn read_entry(api: PlayedApi, entry: &Value) -> ReceivedEntry {
    let mut read = ReceivedEntry::default();
    match api {
        PlayedApi::Messages => match &entry["content"] {
            Value::Array(blocks) => blocks.iter().for_each(|block| read_block(block, &mut read)),
            content => read.items.push((None, text_of(content))),
        },
        PlayedApi::Responses => read_block(entry, &mut read),
    }
    read
}

fn read_block(block: &Value, read: &mut ReceivedEntry) {
    let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
    match block["type"].as_str().unwrap_or_default() {
        "tool_use" => read.items.push((Some(text("name")), block["input"].to_string())),
        "function_call" => read.items.push((Some(text("name")), text("arguments"))),
        "tool_result" => read_result(text("tool_use_id"), text_of(&block["content"]), read),
        "function_call_output" => read_result(text("call_id"), text_of(&block["output"]), read),
        "thinking" => {
            read.sealed_by.extend(answer_of(&text("signature")));
            read.items.push((None, text("thinking")));
        }
        "reasoning" => {
            read.sealed_by.extend(answer_of(&text("encrypted_content")));
            read.items.push((None, text_of(&block["summary"])));
        }
        "message" => read.items.push((None, text_of(&block["content"]))),
        _ => read.items.push((None, text_of(block))),
    }
}

fn read_result(call: String, text: String, read: &mut ReceivedEntry) {
    if text.starts_with("[Tool result stored") {
        let handle = text.split_once("ref_id=\"").and_then(|(_, rest)| rest.split_once('"'));
        let handle = handle.map(|(handle, _)| handle.to_owned());
        read.references.extend(handle.map(|handle| Reference { call, handle, text: text.clone() }));
    }
    read.items.push((None, text));
}

fn answer_of(seal: &str) -> Option<usize> {
    seal.strip_prefix(SEAL)?.parse().ok()
}

/// The text of a message's content, which is a string or a list of parts that each have one.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => fields.get("text").map_or_else(String::new, text_of),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}
