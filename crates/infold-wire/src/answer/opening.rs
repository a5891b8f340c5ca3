//! How a stream opens: whether its provider takes the request, or says at once why not.
//!
//! Some providers answer 200 and say only then, in the first event that means anything, that they cannot do it.

use super::sse::Events;
use super::state::AnswerState;
use super::{AnswerError, take_event};
use crate::request::Api;
use crate::request::json::Document;

/// Events that say no more than that the request has arrived.
const SILENT: [&str; 3] = ["response.created", "response.queued", "response.in_progress"];

/// Reads the beginning of a stream.
#[derive(Debug)]
pub struct Opening {
    api: Api,
    events: Events,
    said: Said,
}

/// What a stream has said so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Said {
    /// Nothing yet.
    #[default]
    Nothing,
    /// It has begun to answer.
    Begun,
    /// It answers that something is wrong.
    Failed(AnswerError),
}

impl Opening {
    /// Reads a stream of this API.
    pub fn new(api: Api) -> Self {
        Self { api, events: Events::default(), said: Said::Nothing }
    }

    /// Takes the next bytes, cut anywhere, and says what the stream has said so far. The first event that means
    /// anything decides.
    pub fn push(&mut self, bytes: &[u8]) -> &Said {
        let (api, said) = (self.api, &mut self.said);
        self.events.push(bytes, &mut |event| {
            if *said != Said::Nothing || (api == Api::Responses && is_silent(event.data)) {
                return;
            }
            let mut state = AnswerState::default();
            take_event(api, &mut state, event);
            *said = state.into_answer().error.map_or(Said::Begun, Said::Failed);
        });
        &self.said
    }
}

/// By its data, because not every server names its events.
fn is_silent(data: &[u8]) -> bool {
    let Ok(document) = Document::read(data) else { return false };
    document.text_field(0, "type").is_some_and(|kind| SILENT.contains(&&*kind))
}
