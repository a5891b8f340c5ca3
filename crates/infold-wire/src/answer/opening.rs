//! Finds out from the first events of a stream whether the provider takes the request or refuses it.
//!
//! Some providers answer with HTTP status 200 and refuse in the stream, in the first event that is more than a receipt.
//! What happens then (send again, relay) is up to the caller.

use super::sse::SseEvents;
use super::state::AnswerState;
use super::{AnswerError, take_event};
use crate::request::Api;
use crate::request::json::Document;

/// Events of the Responses API which only say that the request has arrived.
const SILENT: [&str; 3] = ["response.created", "response.queued", "response.in_progress"];

/// Reads a stream until its first telling event.
#[derive(Debug)]
pub struct Opening {
    api: Api,
    events: SseEvents,
    said: StreamStart,
}

/// What the first events of a stream say about the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StreamStart {
    /// No telling event has come yet.
    #[default]
    Nothing,
    /// The model has begun to answer, so the provider takes the request.
    Begun,
    /// The provider reports an error instead of an answer.
    Failed(AnswerError),
}

impl Opening {
    /// Starts to read a stream of one API.
    pub fn new(api: Api) -> Self {
        Self { api, events: SseEvents::default(), said: StreamStart::Nothing }
    }

    /// Takes the next bytes, which may begin and end anywhere, and returns what is known of the stream. The first event
    /// that is more than a receipt decides; later ones change nothing.
    pub fn push(&mut self, bytes: &[u8]) -> &StreamStart {
        let (api, said) = (self.api, &mut self.said);
        self.events.push(bytes, &mut |event| {
            if *said != StreamStart::Nothing || (api == Api::Responses && is_silent(event.data)) {
                return;
            }
            let mut state = AnswerState::default();
            take_event(api, &mut state, event);
            *said = state.into_answer().error.map_or(StreamStart::Begun, StreamStart::Failed);
        });
        &self.said
    }
}

/// Whether an event only says that the request has arrived. The data says so, because not every server names its
/// events.
fn is_silent(data: &[u8]) -> bool {
    let Ok(document) = Document::read(data) else { return false };
    document.text_field(0, "type").is_some_and(|kind| SILENT.contains(&&*kind))
}
