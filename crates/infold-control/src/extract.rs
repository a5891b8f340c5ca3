//! Reads the parts of a request that handlers need. A request that is wrong gets an error in the shape
//! of every other error of the API, never in the framework's own.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use infold_core::Principal;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::control::Control;
use crate::error::ApiError;
use crate::problem;

/// The header that makes repeating a request safe.
pub(crate) const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// How long a fork waits until it may read its transcript.
const PLACE_WAIT: Duration = Duration::from_secs(30);

/// The principal that the door found out.
pub(crate) struct Caller(pub(crate) Principal);

impl FromRequestParts<Control> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Control) -> Result<Self, ApiError> {
        parts.extensions.get().cloned().map(Self).ok_or_else(ApiError::unauthenticated)
    }
}

/// The one placeholder in the route's path, decoded: the id of a session, branch, request or result.
pub(crate) struct Name(pub(crate) String);

impl FromRequestParts<Control> for Name {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, control: &Control) -> Result<Self, ApiError> {
        let name = Path::<String>::from_request_parts(parts, control).await;
        name.map(|Path(name)| Self(name)).map_err(|_| ApiError::invalid("The path", "must be UTF-8 once decoded"))
    }
}

/// The query parameters, read into `T`.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Control> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Control) -> Result<Self, ApiError> {
        match axum::extract::Query::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(rejection) => {
                let text = rejection.body_text();
                let said = text.split_once(": ").map_or(text.as_str(), |(_, said)| said);
                let is_name = |path: &&str| path.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
                let path = said.split_once(": ").map(|(path, _)| path).filter(is_name);
                Err(problem::refuse(path, said))
            }
        }
    }
}

/// The JSON body, one object, read into `T`.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Control> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, control: &Control) -> Result<Self, ApiError> {
        object(&body(request, control, control.settings.body_bytes_max).await?).map(Self)
    }
}

/// As [`Body`], on a route that takes transcripts and so allows more bytes.
pub(crate) struct LongBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Control> for LongBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, control: &Control) -> Result<Self, ApiError> {
        object(&body(request, control, control.settings.transcript_bytes_max).await?).map(Self)
    }
}

/// The bytes of a JSON body. The router's body limit has cut it off at `bytes_max`, which is only for the message.
async fn body(request: Request, control: &Control, bytes_max: usize) -> Result<Bytes, ApiError> {
    if !is_json(request.headers()) {
        let message = "Content-Type must be application/json";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message));
    }
    Bytes::from_request(request, control).await.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let message = format!("The body is larger than {bytes_max} bytes: send less at once");
            ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message).with("bytes_max", bytes_max)
        }
        _ => malformed("The body ended before it was complete"),
    })
}

/// Reads a JSON object. An array is refused, though the parser would take its entries as fields in order.
fn object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let is_object = bytes.trim_ascii_start().first().is_none_or(|first| *first == b'{');
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(&mut parser).map_err(|error| {
        let path = error.path().to_string();
        match error.inner().classify() {
            Category::Data if is_object => problem::refuse(Some(&path), &error.inner().to_string()),
            Category::Data => malformed("The body must be a JSON object"),
            Category::Syntax | Category::Eof | Category::Io => not_json(error.inner()),
        }
    });
    let read = read?;
    parser.end().map_err(|error| not_json(&error))?;
    if is_object { Ok(read) } else { Err(malformed("The body must be a JSON object")) }
}

fn not_json(error: &serde_json::Error) -> ApiError {
    malformed(&format!("The body is not JSON: {error}"))
}

fn malformed(message: &str) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "malformed_request", message)
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// Permission to read a transcript, of which there are few at once. It is taken before the body is read.
pub(crate) struct ForkPlace(#[expect(dead_code, reason = "given back when it goes")] OwnedSemaphorePermit);

impl FromRequestParts<Control> for ForkPlace {
    type Rejection = ApiError;

    async fn from_request_parts(_: &mut Parts, control: &Control) -> Result<Self, ApiError> {
        match timeout(PLACE_WAIT, Arc::clone(&control.forks).acquire_owned()).await {
            Ok(Ok(place)) => Ok(Self(place)),
            Ok(Err(_)) | Err(_) => {
                let message = "Too many transcripts are being read at once: try again in a moment";
                let refusal = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message);
                Err(refusal.with("retry_after_ms", 1_000))
            }
        }
    }
}

/// The key in the header `Idempotency-Key`, if it is there.
pub(crate) struct Key(Option<String>);

impl FromRequestParts<Control> for Key {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Control) -> Result<Self, ApiError> {
        one_header(&parts.headers, IDEMPOTENCY_KEY).map(Self)
    }
}

impl Key {
    /// The key from the header or from the body's `field`. If both are there, they must be the same.
    pub(crate) fn or(self, field: Option<String>) -> Result<Option<String>, ApiError> {
        match (self.0, field) {
            (Some(header), Some(field)) if header != field => {
                let problem = "differs from the header Idempotency-Key: send one of them";
                Err(ApiError::invalid("idempotency_key", problem))
            }
            (header, field) => Ok(header.or(field)),
        }
    }
}

/// A header's text. A header that is sent twice is refused, because it could be read in two ways.
pub(crate) fn one_header(headers: &HeaderMap, name: &str) -> Result<Option<String>, ApiError> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(ApiError::invalid(name, "is in the request more than once: send one"));
    }
    let text = first.map(|value| value.to_str().map(str::to_owned)).transpose();
    text.map_err(|_| ApiError::invalid(name, "must have visible ASCII characters only"))
}
