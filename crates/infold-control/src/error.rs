//! How a request goes wrong, in the one shape that every refusal and every failure has:
//! `{"error":{"code","status","message","data"}}`.
//!
//! The engine's messages are passed on word for word; the framework's are replaced by our own. A failure
//! is our fault and is logged here, once. A refusal is the caller's to put right and is not logged.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use infold_core::{Refusal, ScrubError, strip_controls};
use infold_engine::{Error, Failure};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// Most characters of a caller's text that an error message repeats.
const SHOWN_CHARS_MAX: usize = 80;
/// When a caller may try again after a failure that passes by itself.
const RETRY_AFTER_MS: u64 = 1_000;

/// The body of every answer to a request that was refused or failed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub(crate) struct ErrorBody {
    error: ErrorDetail,
}

/// What went wrong, for programs and for people.
#[derive(Debug, Serialize, JsonSchema)]
struct ErrorDetail {
    /// A word that programs can match on.
    code: &'static str,
    /// The HTTP status of the answer, repeated in its body.
    status: u16,
    /// What went wrong and what to do about it, in a sentence.
    message: String,
    /// Details for programs, by name: limits, ids, when to try again.
    data: Map<String, Value>,
}

/// Why a request was refused or failed, before it is rendered as an answer.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) data: Map<String, Value>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), data: Map::new() }
    }

    /// Adds a detail for programs to the error's `data`.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }

    /// The refusal for a field, parameter or header that breaks its rule.
    pub(crate) fn invalid(field: &str, problem: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_input", format!("{field} {problem}")).with("field", field)
    }

    /// The refusal for a request that comes without a principal.
    pub(crate) fn unauthenticated() -> Self {
        let message = "No principal came with this request: reach infold through its own listener";
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", message)
    }

    /// The value of `Retry-After` in whole seconds, if the error says when to try again.
    fn retry_after(&self) -> Option<HeaderValue> {
        let ms = self.data.get("retry_after_ms")?.as_u64()?;
        Some(HeaderValue::from(ms.div_ceil(1_000)))
    }
}

/// A caller's text, shortened and without control characters, so that a message can repeat it.
pub(crate) fn shown(text: &str) -> String {
    strip_controls(text).replace(['\n', '\t'], " ").chars().take(SHOWN_CHARS_MAX).collect()
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        Error::from(refusal).into()
    }
}

impl From<ScrubError> for ApiError {
    fn from(error: ScrubError) -> Self {
        Error::from(error).into()
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let said = Self {
            status: StatusCode::from_u16(error.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code: error.code(),
            message: error.to_string(),
            data: match error.data() {
                Value::Object(data) => data,
                other => Map::from_iter([("value".to_owned(), other)]),
            },
        };
        match error {
            Error::Refused(_) => said,
            // Too long a text is the caller's to shorten, and nothing is broken.
            Error::Failed(Failure::Scrubbing(ScrubError::TooLarge { bytes, bytes_max })) => {
                let said = Self { status: StatusCode::PAYLOAD_TOO_LARGE, ..said };
                said.with("bytes", bytes).with("bytes_max", bytes_max)
            }
            Error::Failed(failure) => {
                tracing::error!(code = failure.code(), %failure, "a request failed");
                match said.status {
                    StatusCode::SERVICE_UNAVAILABLE => said.with("retry_after_ms", RETRY_AFTER_MS),
                    _ => said,
                }
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let retry_after = self.retry_after();
        let status = self.status;
        let detail = ErrorDetail { code: self.code, status: status.as_u16(), message: self.message, data: self.data };
        let mut response = (status, Json(ErrorBody { error: detail })).into_response();

        let headers = response.headers_mut();
        if let Some(retry_after) = retry_after {
            headers.insert(RETRY_AFTER, retry_after);
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"infold\""));
        }
        response
    }
}
