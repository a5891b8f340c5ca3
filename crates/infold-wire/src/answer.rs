//! What models answer, read beside the bytes that are relayed: what it cost, what it calls, how it ended.
//!
//! It never stands in the way: whatever is not understood is passed over, memory is bounded, and an answer that
//! broke off is known by [`Answer::is_complete`].

mod chat;
mod messages;
mod opening;
mod responses;
mod sse;
mod state;
mod words;

use crate::request::Api;
use crate::request::json::Document;

use infold_core::record::Usage;
pub use opening::{Opening, Said};
use sse::{Events, SseEvent};
use state::AnswerState;

/// How much of an answer that comes as one value is kept, in bytes.
const WHOLE_BYTES_MAX: usize = 16 << 20;

/// How an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As a stream of events.
    Streamed,
    /// As one JSON value.
    Whole,
}

/// What an answer was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The tokens that the provider says were used, as far as it said.
    pub usage: Option<Usage>,
    /// Calls that the model makes, in order.
    pub calls: Vec<AnswerCall>,
    /// Why the model stopped, in the provider's word.
    pub stop: Option<String>,
    /// What the provider says went wrong.
    pub error: Option<AnswerError>,
    /// Whether it came to its end.
    pub is_complete: bool,
    /// The model's words, in characters.
    pub text_chars: usize,
    /// The beginning of all that the model says and is seen to think, for whoever has to count it.
    pub said: String,
    /// How long all of that is, in bytes.
    pub said_bytes: usize,
    /// The end of those words. What may be half a word, because the answer broke off there, is left out.
    pub words: String,
    /// The model that answered.
    pub model: Option<String>,
}

/// A call that the model makes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerCall {
    /// Its id.
    pub id: String,
    /// The tool, as the client spells it. A namespace stands in front, with two underscores between.
    pub tool: String,
    /// What it is called with, as text; JSON but for tools that take plain text.
    pub arguments: String,
    /// Whether the arguments were too long to be kept.
    pub is_cut: bool,
}

/// What a provider says went wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerError {
    /// Its word for it (`overloaded_error`, `context_length_exceeded`).
    pub kind: Option<String>,
    /// What it says.
    pub message: String,
}

/// Reads an answer as it comes.
#[derive(Debug)]
pub struct AnswerReader {
    api: Api,
    source: AnswerSource,
    state: AnswerState,
}

/// What has come and is not read yet.
#[derive(Debug)]
enum AnswerSource {
    Streamed(Events),
    Whole { bytes: Vec<u8>, is_cut: bool },
}

impl AnswerReader {
    /// Reads an answer of this API.
    pub fn new(api: Api, delivery: Delivery) -> Self {
        let source = match delivery {
            Delivery::Streamed => AnswerSource::Streamed(Events::default()),
            Delivery::Whole => AnswerSource::Whole { bytes: Vec::new(), is_cut: false },
        };
        Self { api, source, state: AnswerState::default() }
    }

    /// Takes the next bytes, cut anywhere.
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

    /// Calls that the model has begun to make so far, in order; the last one may still be without some of its
    /// arguments.
    pub fn calls(&self) -> &[AnswerCall] {
        self.state.calls()
    }

    /// The end of what the model has said so far, as in [`Answer::words`].
    pub fn words(&self) -> &str {
        self.state.words()
    }

    /// Whether a stream has said that it is over. What comes then are figures at most, and clients do not all wait
    /// for them.
    pub fn is_over(&self) -> bool {
        self.state.has_ended()
    }

    /// Whether a stream is over and has counted, if it counts at all: what comes behind that changes nothing.
    pub fn is_settled(&self) -> bool {
        self.state.is_settled(self.api)
    }

    /// What it was, when no more bytes come. An event that was not ended counts for nothing, as it does to clients.
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
        // Its data was too long to be kept, or is nothing that can be read; its name still says what it was.
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
