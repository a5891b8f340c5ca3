//! What can go wrong between a model and its client, on demand: refusals that are nobody's mistake, and
//! answers that do not come whole.

use std::time::Duration;

use axum::body::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::received::Api;
use super::refusal::Refusal;
use super::spoken::Event;

/// A fault of one answer. Every request uses up a step, so a script says how often a fault comes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// Refused with this status, in the provider's words: 401, 403, 404, 429, 500, 502, 503, 504 or 529.
    Status {
        /// The HTTP status.
        status: u16,
        /// What `retry-after` says, in seconds; without one the header is not there.
        #[serde(default)]
        retry_after_s: Option<u64>,
    },
    /// After 200 and some events comes an event that says that it failed, and the stream ends.
    ErrorEvent,
    /// The connection is closed after this many bytes of the body.
    CutAfter {
        /// The bytes that still come.
        bytes: usize,
    },
    /// The body ends, and well, when all has come but the events that end the answer and its last part.
    EndsEarly,
    /// After this many bytes of the body nothing more comes, and the connection stays open.
    StallAfter {
        /// The bytes that still come.
        bytes: usize,
    },
    /// The body comes in pieces of one event, with a pause before each.
    Slow {
        /// The pause.
        pause_ms: u64,
    },
    /// The answer names another content type than its own.
    ContentType {
        /// What it names.
        value: String,
    },
    /// The body is compressed.
    Gzip,
}

impl Fault {
    /// A refusal with this status and no `retry-after`.
    pub fn status(status: u16) -> Self {
        Self::Status { status, retry_after_s: None }
    }

    /// A refusal with this status that says when to come again.
    pub fn status_after(status: u16, retry_after_s: u64) -> Self {
        Self::Status { status, retry_after_s: Some(retry_after_s) }
    }

    /// How long to wait before each piece.
    pub(crate) fn pause(&self) -> Option<Duration> {
        match self {
            Self::Slow { pause_ms } => Some(Duration::from_millis(*pause_ms)),
            _ => None,
        }
    }
}

/// A refusal with this status, as the provider of `api` words it.
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
    }
}

/// The event that says, after 200, that it failed.
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
    }
}

/// A stream that says, after 200, that the request is refused, and what the stream begins with before that.
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
    }
}

/// How many events end an answer and its last part.
const END_EVENTS: usize = 3;

/// The pieces of a body without those that end it.
pub(crate) fn without_end(mut pieces: Vec<Bytes>) -> Vec<Bytes> {
    pieces.truncate(pieces.len().saturating_sub(END_EVENTS));
    pieces
}

/// The pieces of a body that still come before a fault takes the rest.
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
