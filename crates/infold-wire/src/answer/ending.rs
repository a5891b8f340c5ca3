//! Tells whether an answer is there to its end, by what it says: needed where its connection does not tell, because it
//! ends the answer by closing.
//!
//! Where nothing shows it (another kind of content, a stream that speaks of something else), the answer counts as
//! whole.

use super::sse::{SseEvent, SseEvents};
use crate::request::json::Document;

/// Events that end a stream.
const LAST_EVENTS: [&str; 5] =
    ["message_stop", "response.completed", "response.incomplete", "response.failed", "error"];

/// Reads an answer for its end.
#[derive(Debug)]
pub struct Ending {
    form: EndingForm,
}

#[derive(Debug)]
enum EndingForm {
    Stream { events: SseEvents, seen: SeenEvents },
    Json(JsonNesting),
}

/// What the events of a stream have said so far.
#[derive(Debug, Default)]
struct SeenEvents {
    /// Whether one of them belongs to an API whose last event is known.
    is_known: bool,
    /// Whether there was any at all.
    is_any: bool,
    /// Whether the last one has come.
    is_over: bool,
}

/// How deep inside of lists and objects a JSON value is.
#[derive(Debug, Default)]
struct JsonNesting {
    depth: u64,
    is_in_string: bool,
    is_escaped: bool,
    /// The first byte that is no white space.
    first: Option<u8>,
}

impl Ending {
    /// Starts to read an answer with this content type; `None` if what it says does not show its end.
    pub fn of(content_type: &str) -> Option<Self> {
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let form = match essence.as_str() {
            "text/event-stream" => EndingForm::Stream { events: SseEvents::default(), seen: SeenEvents::default() },
            json if json == "application/json" || json.ends_with("+json") => EndingForm::Json(JsonNesting::default()),
            _ => return None,
        };
        Some(Self { form })
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        match &mut self.form {
            EndingForm::Stream { events, seen } => events.push(bytes, &mut |event| seen.take(event)),
            EndingForm::Json(nesting) => bytes.iter().for_each(|byte| nesting.take(*byte)),
        }
    }

    /// Whether nothing is missing, as far as it shows.
    pub fn ends_whole(self) -> bool {
        match self.form {
            EndingForm::Stream { mut events, mut seen } => {
                let is_other = seen.is_any && !seen.is_known;
                // Some servers leave out the empty line behind their last event.
                events.push(b"\n\n", &mut |event| {
                    if !event.data.is_empty() {
                        seen.take(event);
                    }
                });
                seen.is_over || is_other
            }
            EndingForm::Json(nesting) => match nesting.first {
                Some(b'{' | b'[') => nesting.depth == 0,
                Some(_) => true,
                None => false,
            },
        }
    }
}

impl SeenEvents {
    fn take(&mut self, event: &SseEvent<'_>) {
        self.is_any = true;
        self.is_over |= event.data == b"[DONE]";
        let Ok(document) = Document::read(event.data) else {
            // The data was too long to be kept; the name says what it was.
            self.is_over |= event.data.is_empty() && LAST_EVENTS.contains(&event.name);
            return;
        };
        let kind = document.text_field(0, "type").unwrap_or_default();
        let is_chunk = document.text_field(0, "object").is_some_and(|object| object == "chat.completion.chunk");
        self.is_known |= is_chunk || kind.starts_with("message_") || kind.starts_with("response.");
        let choices = document.field(0, "choices").into_iter().flat_map(|choices| document.elements(choices));
        let reasons = choices.filter_map(|choice| document.text_field(choice, "finish_reason"));
        let is_error = document.field(0, "error").is_some_and(|error| document.raw(error) != "null");
        self.is_over |= LAST_EVENTS.contains(&&*kind) || reasons.count() > 0 || is_error;
    }
}

impl JsonNesting {
    fn take(&mut self, byte: u8) {
        if !byte.is_ascii_whitespace() {
            self.first.get_or_insert(byte);
        }
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.is_in_string => self.is_escaped = true,
            b'"' => self.is_in_string = !self.is_in_string,
            b'{' | b'[' if !self.is_in_string => self.depth += 1,
            b'}' | b']' if !self.is_in_string => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
