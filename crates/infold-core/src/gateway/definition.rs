//! Tools as their servers describe them: read from whatever a server sends, cleaned, bounded and hashed.
//!
//! A tool that cannot be read is withheld and the others stay: one odd definition never costs a list. What is hashed is
//! what a model may be shown or what decides about a call, so a hash changes exactly if one of those does.

mod read;

#[cfg(test)]
mod tests;

pub use read::{DefinitionFate, DefinitionProblem, DefinitionsRead};

use serde_json::{Value, json};

use super::canonical::write_canonical;
use super::entry::ServerKey;
use crate::Counter;

/// What a server says that a tool does. Nobody vouches for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolHints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may take something away.
    pub destructive: Option<bool>,
    /// Calling it twice is the same as calling it once.
    pub idempotent: Option<bool>,
    /// It deals with the world outside.
    pub open_world: Option<bool>,
}

/// A tool as its server describes it, cleaned.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Its server.
    pub server: ServerKey,
    /// What its server calls it.
    pub tool: String,
    /// What people call it.
    pub title: Option<String>,
    /// What it is for; may be empty.
    pub description: String,
    /// The schema of its arguments, always an object.
    pub input: Value,
    /// The schema of its structured results.
    pub output: Option<Value>,
    /// What it does, by its server's word.
    pub hints: ToolHints,
}

/// The hash of a definition, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionHash(String);

impl DefinitionHash {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads a hash back from the store, where only hashes are written.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }
}

impl Definition {
    /// What is pinned: the hash of the name, the texts, the schemas and the hints.
    pub fn hash(&self) -> DefinitionHash {
        DefinitionHash(blake3::hash(write_canonical(&self.as_json()).as_bytes()).to_hex().to_string())
    }

    /// How many tokens the tool takes in a request that lists it.
    pub fn tokens(&self, counter: &Counter) -> u64 {
        let name = format!("{}__{}", self.server, self.tool);
        let listed = json!({"name": name, "description": self.description, "input_schema": self.input});
        counter.count(&listed.to_string())
    }

    /// The definition in the protocol's form, for the store; [`DefinitionsRead::of`] reads it back.
    pub fn as_json(&self) -> Value {
        let mut json = json!({
            "name": self.tool,
            "description": self.description,
            "inputSchema": self.input,
            "annotations": {
                "readOnlyHint": self.hints.read_only,
                "destructiveHint": self.hints.destructive,
                "idempotentHint": self.hints.idempotent,
                "openWorldHint": self.hints.open_world,
            },
        });
        if let Some(title) = &self.title {
            json["title"] = Value::from(title.as_str());
        }
        if let Some(output) = &self.output {
            json["outputSchema"] = output.clone();
        }
        json
    }
}
