//! Why a request was turned away at the door, in the one shape that every refusal here has.
//!
//! The shape is `{"error":{"code":…,"status":…,"message":…,"data":{}}}`, the same that the JSON API uses.
//! A refusal is the caller's to put right, so its message says how.

use axum::body::Body;
use axum::response::Response;
use http::header::{CONNECTION, CONTENT_TYPE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, StatusCode};

/// Most characters of a caller's text that a message repeats.
const QUOTE_CHARS_MAX: usize = 80;

/// Why a request is refused before it reaches a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DoorRefusal {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl DoorRefusal {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    /// The refusal for a head or body that breaks the rules of HTTP, which are applied strictly here.
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed_request", message)
    }

    /// The refusal for a request with a host, origin or site that is not allowed.
    pub(crate) fn forbidden(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, message)
    }

    /// The refusal for a request whose caller is not known, or whose token is wrong.
    pub(crate) fn unauthenticated(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, code, message)
    }

    /// The refusal for a body that is larger than its bound.
    pub(crate) fn body_too_large(bytes_max: u64) -> Self {
        let message = format!("the body is larger than {bytes_max} bytes: send less at once");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
    }

    /// The refusal for a connection beyond the largest number.
    pub(crate) fn connections_exhausted(connections_max: usize) -> Self {
        let message = format!("all {connections_max} connections are in use: close one, or try again later");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "connections_exhausted", message)
    }

    fn body(&self) -> String {
        serde_json::json!({
            "error": { "code": self.code, "status": self.status.as_u16(), "message": self.message, "data": {} }
        })
        .to_string()
    }

    /// The refusal as a response; the connection stays open.
    pub(crate) fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body()));
        *response.status_mut() = self.status;

        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"infold\""));
        }
        response
    }

    /// The refusal as a response after which the connection is closed.
    pub(crate) fn into_last_response(self) -> Response {
        let mut response = self.into_response();
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        response
    }

    /// The refusal as bytes, for a connection that is refused before anything is read from it.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let body = self.body();
        format!(
            "HTTP/1.1 {}\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            self.status,
            body.len()
        )
        .into_bytes()
    }
}

/// A caller's bytes in quotation marks, for a message: bounded, and without control characters.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut shown: String = text.chars().take(QUOTE_CHARS_MAX).filter(|each| !each.is_control()).collect();
    if text.chars().count() > QUOTE_CHARS_MAX {
        shown.push('…');
    }
    format!("“{shown}”")
}
