//! Reads a model's answer from a copy of the bytes that are relayed: what it cost, what it calls, how it ended.
//!
//! Reading never holds up or fails an answer: what is not understood is skipped, and memory is bounded. An answer that
//! broke off has [`Answer::is_complete`] unset. What is done with the answer is up to the caller.

mod chat;
mod ending;
mod messages;
mod opening;
mod responses;
mod sse;
mod state;
mod words;

use crate::request::Api;
use crate::request::json::Document;

pub use ending::Ending;
use infold_core::record::Usage;
pub use opening::{Opening, StreamStart};
pub use sse::{SseEvent, SseEvents};
use state::AnswerState;

/// The longest answer in one JSON value that is read, in bytes; of a longer one nothing is read.
const WHOLE_BYTES_MAX: usize = 16 << 20;

/// How a provider sends an answer, which the request asks for and the response's content type says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As server-sent events, piece by piece.
    Streamed,
    /// As one JSON value, which can be read only once it is whole.
    Whole,
}

/// All that is known of an answer when no more bytes come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The tokens that the provider reports; `None` if it reported none before the answer ended or broke off.
    pub usage: Option<Usage>,
    /// The calls that the model makes, in order; the last one is cut short if the answer broke off.
    pub calls: Vec<AnswerCall>,
    /// Why the model stopped, in the provider's own word (`end_turn`, `tool_calls`, `incomplete`).
    pub stop: Option<String>,
    /// The error that the provider reports in place of an answer or in the middle of it.
    pub error: Option<AnswerError>,
    /// Whether the answer reached its end without an error.
    pub is_complete: bool,
    /// The length of the words that the model says, in characters; thoughts do not count.
    pub text_chars: usize,
    /// The beginning of the words and of the visible thoughts, in the order in which they came. Whoever counts their
    /// tokens scales the count up by `said_bytes`.
    pub said: String,
    /// The length of all words and visible thoughts in bytes, including what `said` has no room for.
    pub said_bytes: usize,
    /// The end of the words, without thoughts. A word that may be cut in half, because the answer broke off in it, is
    /// left out.
    pub words: String,
    /// The name of the model that answered, which can be more exact than the name in the request.
    pub model: Option<String>,
}

/// One tool call in an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerCall {
    /// The id that the client repeats in the result of the call.
    pub id: String,
    /// The name of the tool as the client spells it. A namespace comes first, followed by two underscores.
    pub tool: String,
    /// The arguments as text: JSON, except for tools that take plain text.
    pub arguments: String,
    /// Whether the arguments are too long to be kept, so that `arguments` lacks their end.
    pub is_cut: bool,
}

/// An error that a provider reports in an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerError {
    /// The provider's code for it (`overloaded_error`, `context_length_exceeded`), if it gives one.
    pub kind: Option<String>,
    /// The provider's sentence about it, meant for people; empty if it gives none.
    pub message: String,
}

/// Reads an answer while it comes in: [`Self::push`] for every piece of it, then [`Self::finish`].
#[derive(Debug)]
pub struct AnswerReader {
    api: Api,
    source: AnswerSource,
    state: AnswerState,
}

/// The bytes that have come in and are not read yet.
#[derive(Debug)]
enum AnswerSource {
    Streamed(SseEvents),
    Whole { bytes: Vec<u8>, is_cut: bool },
}

impl AnswerReader {
    /// Starts to read an answer of one API; nothing has come in yet.
    pub fn new(api: Api, delivery: Delivery) -> Self {
        let source = match delivery {
            Delivery::Streamed => AnswerSource::Streamed(SseEvents::default()),
            Delivery::Whole => AnswerSource::Whole { bytes: Vec::new(), is_cut: false },
        };
        Self { api, source, state: AnswerState::default() }
    }

    /// Takes the next bytes. A piece may begin and end anywhere, even inside a character.
    pub fn push(&mut self, bytes: &[u8]) {
        let (api, state) = (self.api, &mut self.state);
        match &mut self.source {
            AnswerSource::Streamed(events) => events.push(bytes, &mut |event| take_event(api, state, event)),
            AnswerSource::Whole { bytes: kept, is_cut } => {
                *is_cut |= kept.len() + bytes.len() > WHOLE_BYTES_MAX;
                if !*is_cut {
                    kept.extend_from_slice(bytes);
                }
            }
        }
    }

    /// The calls that the model has begun to make so far, in order; arguments of the last one may still be missing.
    pub fn calls(&self) -> &[AnswerCall] {
        self.state.calls()
    }

    /// The end of what the model has said so far, as in [`Answer::words`].
    pub fn words(&self) -> &str {
        self.state.words()
    }

    /// Whether a stream has said that the answer is over. Only token counts can follow, and not all clients wait for
    /// them.
    pub fn is_over(&self) -> bool {
        self.state.has_ended()
    }

    /// Whether nothing that can still come would change the answer: the stream is over, and has reported its token
    /// counts if it reports any.
    pub fn is_final(&self) -> bool {
        self.state.is_final(self.api)
    }

    /// Ends the reading when no more bytes come. An event whose end is missing is ignored, as clients ignore it.
    pub fn finish(self) -> Answer {
        let Self { api, source, mut state } = self;
        if let AnswerSource::Whole { bytes, is_cut: false } = source
            && let Ok(document) = Document::read(&bytes)
        {
            take_whole(api, &mut state, &document);
        }
        state.into_answer()
    }
}

fn take_event(api: Api, state: &mut AnswerState, event: &SseEvent<'_>) {
    if api == Api::Chat && event.data == b"[DONE]" {
        state.close();
    }
    let Ok(document) = Document::read(event.data) else {
        // The data was too long to be kept, or cannot be read as JSON; the event's name still says what it was.
        return state.take_name(event.name);
    };
    match api {
        Api::Messages => messages::event(state, &document),
        Api::Responses => responses::event(state, &document),
        Api::Chat => chat::event(state, &document),
    }
}

fn take_whole(api: Api, state: &mut AnswerState, document: &Document<'_>) {
    if state.take_error(document, 0) {
        return;
    }
    match api {
        Api::Messages => messages::whole(state, document),
        Api::Responses => responses::response(state, document, 0),
        Api::Chat => chat::whole(state, document),
    }
}

#[cfg(test)]
mod tests;
