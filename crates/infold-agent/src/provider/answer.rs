//! Answers: reads what a provider sends, piece by piece, into entries of the thread.
//!
//! What must hold: the same bytes give the same answer, however they are cut; an answer counts only if the provider said
//! that it is over, so that one which broke off leaves nothing behind; sealed reasoning is kept as it came; memory is
//! bounded. Events that are not known are passed over.

mod chat;
mod messages;
mod progress;
mod responses;

use infold_core::record::Usage;
use infold_wire::answer::{SseEvent, SseEvents};
use serde_json::Value;

use super::ProviderApi;
use crate::ThreadEntry;
use chat::ChatAnswer;
use messages::MessagesAnswer;
use progress::AnswerProgress;
use responses::ResponsesAnswer;

/// The longest answer that is read, in bytes as they come.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// How much of a body that is no stream is kept. It can only say what went wrong.
const WHOLE_BYTES_MAX: usize = 1 << 20;

/// What comes in while an answer is read, for whoever watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// The next words of the model.
    Text(String),
    /// The next of its thoughts that its provider shows.
    Reasoning(String),
    /// It has begun to write a call.
    CallBegun {
        /// The tool that it calls.
        tool: String,
    },
    /// The tokens so far, as its provider counts them; a later count replaces an earlier one.
    Usage(Usage),
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// What the model said, in order, to be appended to the thread.
    pub entries: Vec<ThreadEntry>,
    /// The tokens that its provider reports; `None` if it reports none.
    pub usage: Option<Usage>,
    /// Why it stopped.
    pub stop: StopReason,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// It has said everything.
    EndTurn,
    /// It waits for the results of its calls.
    ToolUse,
    /// It came to the bound of the answer or of its window; the last entry may be cut short.
    MaxTokens,
    /// It, or its provider, refused to answer.
    Refusal,
    /// For another reason, in the provider's word.
    Other(String),
}

/// Why there is no answer, although the provider had begun one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerFault {
    /// The answer has no end.
    #[error("the answer broke off")]
    BrokeOff,
    /// The provider reports an error in place of an answer, or in the middle of it.
    #[error("the provider reports an error: {message}")]
    Reported {
        /// The provider's code for it, if it gives one.
        kind: Option<String>,
        /// The provider's sentence about it.
        message: String,
    },
    /// What came is no answer of the API.
    #[error("the answer cannot be read: {0}")]
    Unreadable(&'static str),
}

/// Reads one answer: [`Self::push`] for every piece, then [`Self::finish`].
#[derive(Debug)]
pub struct AnswerDecoder {
    source: AnswerBody,
    reader: ApiAnswer,
    progress: AnswerProgress,
    bytes: usize,
}

/// The form of a body, which its first byte shows.
#[derive(Debug)]
enum AnswerBody {
    Unknown,
    Streamed(SseEvents),
    /// One JSON value, which a provider sends in place of a stream if something is wrong.
    Whole(Vec<u8>),
}

/// What has come of an answer, in the form of its API.
#[derive(Debug)]
enum ApiAnswer {
    Messages(MessagesAnswer),
    Responses(ResponsesAnswer),
    Chat(ChatAnswer),
}

impl AnswerDecoder {
    /// Begins an answer of `model`. Ollama's is read as [`super::AnswerTranslator`] writes it.
    pub fn new(api: ProviderApi, model: &str) -> Self {
        let reader = match api {
            ProviderApi::Anthropic => ApiAnswer::Messages(MessagesAnswer::default()),
            ProviderApi::Responses => ApiAnswer::Responses(ResponsesAnswer::default()),
            ProviderApi::Chat => ApiAnswer::Chat(ChatAnswer::new(super::chat::Dialect::OpenAi)),
            ProviderApi::Ollama => ApiAnswer::Chat(ChatAnswer::new(super::chat::Dialect::Ollama)),
        };
        Self { source: AnswerBody::Unknown, reader, progress: AnswerProgress::new(model), bytes: 0 }
    }

    /// Takes the next bytes, which may begin and end anywhere, and tells what has become known by them.
    pub fn push(&mut self, bytes: &[u8], tell: &mut dyn FnMut(Delta)) {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > ANSWER_BYTES_MAX {
            return self.progress.fail(AnswerFault::Unreadable("it is too long"));
        }
        if matches!(self.source, AnswerBody::Unknown) {
            match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => return,
                Some(b'{' | b'[') => self.source = AnswerBody::Whole(Vec::new()),
                Some(_) => self.source = AnswerBody::Streamed(SseEvents::default()),
            }
        }
        let (reader, progress) = (&mut self.reader, &mut self.progress);
        match &mut self.source {
            AnswerBody::Unknown => {}
            AnswerBody::Streamed(events) => {
                events.push(bytes, &mut |event| take_event(reader, progress, event, tell));
            }
            AnswerBody::Whole(kept) => {
                let room = WHOLE_BYTES_MAX.saturating_sub(kept.len());
                kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        }
    }

    /// The answer, when no more bytes come.
    pub fn finish(self) -> Result<Answered, AnswerFault> {
        let Self { source, reader, progress, .. } = self;
        if let AnswerBody::Whole(bytes) = source {
            return Err(whole_fault(&bytes));
        }
        let has_ended = progress.has_ended();
        let (usage, entries) = match reader {
            ApiAnswer::Messages(answer) => (progress.usage(), answer.into_entries(progress.model())),
            ApiAnswer::Responses(answer) => (progress.usage(), answer.into_entries(progress.model())),
            ApiAnswer::Chat(answer) => (progress.usage(), answer.into_entries(progress.model())),
        };
        let stop = progress.into_stop()?;
        if !has_ended {
            return Err(AnswerFault::BrokeOff);
        }
        let calls = entries.iter().any(|entry| matches!(entry, ThreadEntry::Call { .. }));
        let stop = match stop {
            // Some servers say of every answer that it is finished.
            StopReason::EndTurn | StopReason::ToolUse if calls => StopReason::ToolUse,
            StopReason::EndTurn | StopReason::ToolUse => StopReason::EndTurn,
            StopReason::MaxTokens | StopReason::Refusal | StopReason::Other(_) => stop,
        };
        Ok(Answered { entries, usage, stop })
    }
}

fn take_event(
    reader: &mut ApiAnswer,
    progress: &mut AnswerProgress,
    event: &SseEvent<'_>,
    tell: &mut dyn FnMut(Delta),
) {
    let data = event.data;
    if event.is_cut {
        return progress.fail(AnswerFault::Unreadable("an event is too long"));
    }
    let event: Value = match serde_json::from_slice(data) {
        Ok(event) => event,
        // What is no object is no part of an answer: `[DONE]`, or a sign of life.
        Err(_) if data.first() != Some(&b'{') => return,
        Err(_) => return progress.fail(AnswerFault::Unreadable("an event is no JSON")),
    };
    match reader {
        ApiAnswer::Messages(answer) => answer.take(&event, progress, tell),
        ApiAnswer::Responses(answer) => answer.take(&event, progress, tell),
        ApiAnswer::Chat(answer) => answer.take(&event, progress, tell),
    }
}

/// What a body says that is one JSON value.
fn whole_fault(bytes: &[u8]) -> AnswerFault {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(body) => progress::reported(&body).unwrap_or(AnswerFault::Unreadable("it is no stream")),
        Err(_) if bytes.len() == WHOLE_BYTES_MAX => AnswerFault::Unreadable("it is no stream"),
        Err(_) => AnswerFault::BrokeOff,
    }
}

/// The arguments of a call: an object, or the text if the model wrote no object.
fn arguments(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(arguments @ Value::Object(_)) => arguments,
        Err(_) if text.trim().is_empty() => Value::Object(serde_json::Map::new()),
        Ok(_) | Err(_) => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests;
