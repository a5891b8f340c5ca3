//! What a client is answered when its provider cannot answer: an error in the provider's own shape, because that is the
//! one that the client reads.

use axum::body::Body;
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use infold_engine::Withheld;
use serde_json::json;

use crate::Provider;

/// An error that infold answers in the provider's place.
#[derive(Debug)]
pub(crate) struct ProxyRefusal {
    pub(crate) provider: Provider,
    pub(crate) status: StatusCode,
    /// A short name for programs; the header `x-infold-error` carries it.
    pub(crate) code: &'static str,
    /// What happened, and what to do about it.
    pub(crate) message: String,
}

impl ProxyRefusal {
    pub(crate) fn new(provider: Provider, status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { provider, status, code, message: message.into() }
    }

    /// Says that nothing was sent, because it could not be searched for secrets, and how to go on.
    pub(crate) fn withheld(provider: Provider, why: &Withheld) -> Self {
        let (status, code, hint) = match why {
            Withheld::Unscrubbed(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, "scrubbing_failed", "Try again; if it stays so, see `infold doctor`")
            }
            Withheld::Unplanned(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, "planning_failed", "Try again; if it stays so, see `infold doctor`")
            }
            Withheld::Unsearched(_) => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "search_unfinished",
                "Send less at once, or raise scrub.max_bytes and scrub.timeout_ms in infold's settings",
            ),
            Withheld::Unreadable(_) => (
                StatusCode::BAD_REQUEST,
                "body_unreadable",
                "Send the body as JSON in UTF-8; if it cannot be text and no tool's output is in it, name its path in \
                 proxy.unsearched_paths in infold's settings",
            ),
        };
        let message = format!("infold could not search this request for secrets, so it sent nothing: {why}. {hint}");
        Self::new(provider, status, code, message)
    }

    fn body(&self) -> String {
        let kind = kind(self.status);
        match self.provider {
            Provider::Anthropic => {
                json!({"type": "error", "error": {"type": kind, "message": self.message}}).to_string()
            }
            Provider::OpenAi => {
                let error = json!({"message": self.message, "type": kind, "param": null, "code": self.code});
                json!({ "error": error }).to_string()
            }
        }
    }

    pub(crate) fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // The error has the provider's shape, so this header says that it is infold's.
        headers.insert("x-infold-error", HeaderValue::from_static(self.code));
        response
    }
}

/// The name that both providers give to an error of this status.
fn kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        404 => "not_found_error",
        413 => "request_too_large",
        400..500 => "invalid_request_error",
        _ => "api_error",
    }
}
