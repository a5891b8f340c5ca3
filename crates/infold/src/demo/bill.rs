//! What requests cost: their tokens, and how much of each a provider had in its cache already.
//!
//! A request is a row of parts: tools, system, and each block of each message. What it has in common with
//! the beginning of any earlier request is read from the cache; the rest is written to it. The same
//! arithmetic serves for what the agent sent and for what the model got.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use infold_core::Counter;
use infold_core::record::Usage;
use serde_json::Value;

/// A provider's prompt cache: the requests that it has seen, and the tokens of each of their parts.
pub struct Bill {
    counter: Counter,
    tokens: HashMap<u64, u64>,
    earlier: Vec<Vec<u64>>,
}

impl Bill {
    pub fn new(counter: Counter) -> Self {
        Self { counter, tokens: HashMap::new(), earlier: Vec::new() }
    }

    /// The usage of a request, given what earlier requests have put into the cache. It is cached as well.
    pub fn ask(&mut self, body: &Value) -> Usage {
        let parts: Vec<u64> = parts(body).into_iter().map(|part| self.part(part)).collect();
        let shared = self.earlier.iter().map(|earlier| common(earlier, &parts)).max().unwrap_or(0);
        let sum = |parts: &[u64]| parts.iter().map(|part| self.tokens[part]).sum();
        let usage = Usage {
            fresh_tokens: 0,
            cache_read_tokens: sum(&parts[..shared]),
            cache_write_tokens: sum(&parts[shared..]),
            output_tokens: 0,
        };
        self.earlier.push(parts);
        usage
    }

    pub fn count(&self, text: &str) -> u64 {
        self.counter.count(text)
    }

    fn part(&mut self, part: String) -> u64 {
        let mut hasher = DefaultHasher::new();
        part.hash(&mut hasher);
        let key = hasher.finish();
        let counter = self.counter;
        self.tokens.entry(key).or_insert_with(|| counter.count(&part));
        key
    }
}

/// The parts of a request, in the order in which a provider reads them, without the marks for its cache.
fn parts(body: &Value) -> Vec<String> {
    let mut parts = vec![body["tools"].to_string(), body["system"].to_string()];
    for message in body["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or_default();
        match &message["content"] {
            Value::Array(blocks) => parts.extend(blocks.iter().map(|block| format!("{role} {}", unmarked(block)))),
            other => parts.push(format!("{role} {other}")),
        }
    }
    parts
}

fn unmarked(block: &Value) -> Value {
    let mut block = block.clone();
    if let Some(block) = block.as_object_mut() {
        block.remove("cache_control");
    }
    block
}

fn common(one: &[u64], other: &[u64]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}
