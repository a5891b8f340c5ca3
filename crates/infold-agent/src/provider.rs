//! Providers: turns a thread into a request of a provider's API, and the provider's answer into entries.
//!
//! A request is a function of its [`Prompt`] and of nothing else. What must hold: what is sent of an entry does not depend
//! on the entries behind it, so that a thread that grows keeps the bytes that its provider has cached; nothing is sent that
//! a provider refuses, whatever the entries are, as long as the last one is on the user's side.
//!
//! Left to others: when to ask and what to do with calls (the loop), what of a request is shown (the engine, which
//! prepares the body before it is sent), connections and keys (whoever gives a [`SendModel`]).

mod answer;
mod anthropic;
mod chat;
mod ollama;
mod responses;
mod retry;
mod rounds;
mod send;
mod takeover;

use bytes::Bytes;
use infold_wire::request::Api;
use serde_json::Value;

use crate::ThreadEntry;
use crate::image::KnownImages;

pub use answer::{AnswerDecoder, AnswerFault, Answered, Delta, StopReason};
pub use ollama::{AnswerTranslator, UnreadableBody, outgoing_body};
pub use retry::{Fault, NextAttempt, RetryLimits, next_attempt};
pub use rounds::close_open_calls;
pub use send::{IncomingAnswer, OutgoingRequest, SendFault, SendModel};
pub use takeover::entries_of;

/// Everything that a request is made of.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    /// The model that is asked.
    pub model: &'a str,
    /// The name under which the provider caches the thread's prompts.
    pub session: &'a str,
    /// The instructions.
    pub system: &'a str,
    /// Where in the instructions a part ends that is worth caching by itself, as byte offsets, from front to back.
    pub breakpoints: &'a [usize],
    /// The tools that the model may call.
    pub tools: &'a [ToolDefinition],
    /// What was said so far; the last entry is on the user's side.
    pub entries: &'a [ThreadEntry],
    /// The bytes of images in it.
    pub images: &'a KnownImages,
    /// How many tokens the answer may have, reasoning included.
    pub max_output_tokens: u64,
    /// How much the model is asked to think.
    pub reasoning: Effort,
}

/// A tool as it is described to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it does and when to call it.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

/// How much a model is asked to think before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Not at all, as far as the model lets one say so.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

impl Effort {
    /// The word that providers have for it; `None` if nothing is to be said.
    fn word(self) -> Option<&'static str> {
        match self {
            Self::Off => None,
            Self::Low => Some("low"),
            Self::Medium => Some("medium"),
            Self::High => Some("high"),
        }
    }
}

/// An API that the agent speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderApi {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions, and everything compatible with it.
    Chat,
    /// Ollama's own API, which is translated from and to Chat Completions.
    Ollama,
}

impl ProviderApi {
    /// The API in whose form the engine sees requests and answers.
    pub fn engine_api(self) -> Api {
        match self {
            Self::Anthropic => Api::Messages,
            Self::Responses => Api::Responses,
            Self::Chat | Self::Ollama => Api::Chat,
        }
    }

    /// The path at the provider's address to which requests are posted.
    pub fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "/v1/messages",
            Self::Responses => "/v1/responses",
            Self::Chat => "/v1/chat/completions",
            Self::Ollama => "/api/chat",
        }
    }
}

/// Writes a request for the engine to prepare, in the form of [`ProviderApi::engine_api`]. What the engine made of it is
/// sent as [`outgoing_body`] has it.
pub fn request_body(api: ProviderApi, prompt: &Prompt<'_>) -> Bytes {
    let body = match api {
        ProviderApi::Anthropic => anthropic::body(prompt),
        ProviderApi::Responses => responses::body(prompt),
        ProviderApi::Chat => chat::body(prompt, chat::Dialect::OpenAi),
        ProviderApi::Ollama => chat::body(prompt, chat::Dialect::Ollama),
    };
    Bytes::from(body.to_string())
}

#[cfg(test)]
mod tests;
