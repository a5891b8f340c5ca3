//! Faults that a script can ask for: refusals that are not the client's mistake, and answers that are not whole.

use std::time::Duration;

use axum::body::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::received::Api;
use super::refusal::Refusal;
use super::spoken::Event;

/// A fault of one answer. Every request uses up a step, so the script decides how often a fault happens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// The request is refused with this status, in the provider's words: 401, 403, 404, 429, 500, 502, 503, 504 or 529.
    Status {
        /// The HTTP status of the refusal.
        status: u16,
        /// The value of `retry-after`, in seconds; `None` leaves the header out.
        #[serde(default)]
        retry_after_s: Option<u64>,
    },
    /// The status is 200, but after some events an error event comes and the stream ends.
    ErrorEvent,
    /// The connection is closed after this many bytes of the body.
    CutAfter {
        /// How many bytes are sent.
        bytes: usize,
    },
    /// The body ends regularly, but without the events that end the answer and its last part.
    EndsEarly,
    /// Nothing more is sent after this many bytes of the body, and the connection stays open.
    StallAfter {
        /// How many bytes are sent.
        bytes: usize,
    },
    /// The body is sent event by event, with a pause before each.
    Slow {
        /// The pause before each event.
        pause_ms: u64,
    },
    /// The answer has a wrong content type.
    ContentType {
        /// The value of `content-type`.
        value: String,
    },
    /// The body is compressed, though the client may not have asked for it.
    Gzip,
}

impl Fault {
    /// A refusal with this status and no `retry-after`.
    pub fn status(status: u16) -> Self {
        Self::Status { status, retry_after_s: None }
    }

    /// A refusal with this status that says when to try again.
    pub fn status_after(status: u16, retry_after_s: u64) -> Self {
        Self::Status { status, retry_after_s: Some(retry_after_s) }
    }

    /// How long to wait before each piece of the body; `None` for faults without a pause.
    pub(crate) fn pause(&self) -> Option<Duration> {
        match self {
            Self::Slow { pause_ms } => Some(Duration::from_millis(*pause_ms)),
            _ => None,
        }
    }
}

/// A refusal with this status, in the words of the provider of `api`.
pub(crate) fn refusal(api: Api, status: u16) -> Refusal {
    match api {
        Api::Messages | Api::CountTokens => {
            let (kind, message) = match status {
                401 => ("authentication_error", "invalid x-api-key"),
                403 => ("permission_error", "Your API key does not have permission to use the specified resource."),
                404 => ("not_found_error", "model: not found"),
                429 => {
                    ("rate_limit_error", "This request would exceed your account's rate limit. Please try again later.")
                }
                504 => ("timeout_error", "Request timed out"),
                529 => ("overloaded_error", "Overloaded"),
                _ => ("api_error", "Internal server error"),
            };
            Refusal::anthropic_with(status, kind, message.to_owned())
        }
        Api::Responses | Api::Chat => {
            let (kind, code, message) = match status {
                401 => ("invalid_request_error", Some("invalid_api_key"), "Incorrect API key provided."),
                403 => ("invalid_request_error", Some("unsupported_country_region_territory"), "Not supported here."),
                404 => ("invalid_request_error", Some("model_not_found"), "The model does not exist."),
                429 => ("requests", Some("rate_limit_exceeded"), "Rate limit reached. Please try again later."),
                _ => ("server_error", None, "The server had an error while processing your request. Sorry about that!"),
            };
            let error = json!({"message": message, "type": kind, "param": null, "code": code});
            Refusal { status, message: message.to_owned(), body: json!({"error": error}) }
        }
        Api::Ollama => {
            Refusal { status, ..Refusal::ollama(if status == 404 { "model 'm' not found" } else { "failed" }) }
        }
    }
}

/// The event with which a stream reports a failure after status 200.
pub(crate) fn error_event(api: Api) -> Event {
    match api {
        Api::Messages | Api::CountTokens => {
            let error = json!({"type": "overloaded_error", "message": "Overloaded"});
            Event::named(json!({"type": "error", "error": error}))
        }
        Api::Responses => {
            let error = json!({"code": "server_error", "message": "The server had an error. Please try again."});
            let response = json!({"object": "response", "status": "failed", "error": error, "output": []});
            Event::named(json!({"type": "response.failed", "response": response}))
        }
        Api::Chat => {
            let error = json!({"message": "The server had an error.", "type": "server_error", "code": null});
            Event::unnamed(json!({"error": error}).to_string())
        }
        Api::Ollama => Event::line(&json!({"error": "an error was encountered while running the model"})),
    }
}

/// The events of a stream that refuses the request after status 200.
pub(crate) fn refusal_events(api: Api, refusal: &Refusal) -> Vec<Event> {
    let error = &refusal.body["error"];
    match api {
        Api::Messages | Api::CountTokens => vec![Event::named(json!({"type": "error", "error": error}))],
        Api::Responses => {
            let response =
                |status: &str, error: &Value| json!({"object": "response", "status": status, "error": error});
            let going = response("in_progress", &Value::Null);
            let failed = response("failed", &json!({"code": error["code"], "message": error["message"]}));
            vec![
                Event::named(json!({"type": "response.created", "response": going})),
                Event::named(json!({"type": "response.in_progress", "response": going})),
                Event::named(json!({"type": "response.failed", "response": failed})),
            ]
        }
        Api::Chat => vec![Event::unnamed(json!({ "error": error }).to_string())],
        Api::Ollama => vec![Event::line(&refusal.body)],
    }
}

/// How many events end an answer and its last part; [`Fault::EndsEarly`] leaves them out.
const END_EVENTS: usize = 3;

/// The pieces of a body without the events that end it.
pub(crate) fn without_end(mut pieces: Vec<Bytes>) -> Vec<Bytes> {
    pieces.truncate(pieces.len().saturating_sub(END_EVENTS));
    pieces
}

/// The first `bytes_max` bytes of a body, in pieces.
pub(crate) fn first_bytes(pieces: Vec<Bytes>, bytes_max: usize) -> Vec<Bytes> {
    let mut left = bytes_max;
    let mut kept = Vec::new();
    for piece in pieces {
        if left == 0 {
            break;
        }
        let taken = piece.len().min(left);
        kept.push(piece.slice(..taken));
        left -= taken;
    }
    kept
}
