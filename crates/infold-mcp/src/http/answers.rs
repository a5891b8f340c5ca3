//! Answers of the surface itself, where the protocol library is not asked.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode};

pub(super) fn unauthenticated() -> Response {
    let body = serde_json::json!({
        "code": "unauthenticated",
        "status": 401,
        "message": "No principal came with this request: reach infold through its own listener",
    });
    json_response(StatusCode::UNAUTHORIZED, body.to_string())
}

pub(super) fn json_response(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(super) fn plain(status: StatusCode, text: impl Into<String>) -> Response {
    let mut response = Response::new(Body::from(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
