//! A refusal or failure, whichever surface it came from.

use anyhow::{Context, Result, bail, ensure};
use infold_testkit::CallAnswer;
use serde_json::Value;

/// What a surface answers when it does not do what it was asked to.
#[derive(Debug)]
pub struct Refused {
    /// The number of the JSON-RPC error; `None` if the answer is no such error.
    pub rpc: Option<i64>,
    /// The short name of the error, for programs.
    pub code: String,
    /// The HTTP status that belongs to the code.
    pub status: u64,
    /// The sentence for people.
    pub message: String,
    /// Further details, whose fields depend on the code.
    pub data: Value,
}

impl Refused {
    /// Reads the answer to a call that must have been refused, in the shape of its tool's document.
    pub fn of(answer: &CallAnswer) -> Result<Self> {
        if let Some(error) = &answer.jsonrpc_error {
            return Ok(Self {
                rpc: Some(error.code),
                code: error.data["code"].as_str().unwrap_or_default().to_owned(),
                status: error.data["status"].as_u64().unwrap_or_default(),
                message: error.message.clone(),
                data: error.data.clone(),
            });
        }
        if !answer.is_error {
            bail!("it was not refused: {}", answer.summary());
        }
        ensure!(answer.structured.is_none(), "a refusal has no structured content: {}", answer.text);
        let body: Value = serde_json::from_str(&answer.text).with_context(|| format!("not JSON: {}", answer.text))?;
        Self::read(None, &body)
    }

    /// Reads `{code, status, message, data}`.
    pub fn read(rpc: Option<i64>, body: &Value) -> Result<Self> {
        let text = |name: &str| body[name].as_str().map(str::to_owned).with_context(|| format!("{name} in {body}"));
        Ok(Self {
            rpc,
            code: text("code")?,
            status: body["status"].as_u64().with_context(|| format!("status in {body}"))?,
            message: text("message")?,
            data: body["data"].clone(),
        })
    }

    /// The code and the status, to compare at once.
    pub fn verdict(&self) -> (&str, u64) {
        (&self.code, self.status)
    }

    /// What is wrong with the message, if it is not a clear sentence that names `subject`. Subjects
    /// that are one of several names are separated by `|`.
    pub fn unclear(&self, subject: &str) -> Option<String> {
        const MESSAGE_CHARS_MAX: usize = 400;
        /// Parts of messages that only a programmer could understand.
        const NOT_FOR_PEOPLE: [&str; 11] = [
            "panicked",
            "unwrap",
            "serde",
            "rmcp",
            ".rs:",
            "invalid type",
            "expected struct",
            "missing field",
            "unknown field",
            "Error(",
            "Some(",
        ];
        let message = &self.message;
        if let Some(word) = NOT_FOR_PEOPLE.iter().find(|word| message.contains(**word)) {
            return Some(format!("“{word}” is not for people: {message}"));
        }
        if message.chars().count() > MESSAGE_CHARS_MAX {
            return Some(format!("too long: {}…", message.chars().take(80).collect::<String>()));
        }
        if message.split_whitespace().count() < 3 {
            return Some(format!("not a sentence: {message:?}"));
        }
        if message.chars().any(char::is_control) {
            return Some(format!("has control characters: {message:?}"));
        }
        if !subject.split('|').any(|name| message.contains(name)) {
            return Some(format!("does not name {subject}: {message}"));
        }
        None
    }
}
