//! Requests that come to the wrong place: the base URL of their client lacks the provider's path. They are told
//! which one is right.

use axum::extract::Request;
use axum::response::Response;
use http::StatusCode;
use http::header::HOST;

use crate::Provider;
use crate::refusal::Refusal;

/// Says where a request should have gone.
pub(crate) async fn answer(request: Request) -> Response {
    let path = request.uri().path();
    let provider = if path.contains("/messages") || request.headers().contains_key("anthropic-version") {
        Provider::Anthropic
    } else {
        Provider::OpenAi
    };
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:9090");
    let base = match provider {
        Provider::Anthropic => format!("http://{host}{}", provider.prefix()),
        Provider::OpenAi => format!("http://{host}{}/v1", provider.prefix()),
    };
    let message = format!("infold does not serve this path: set the base URL of your client to {base}");
    Refusal::new(provider, StatusCode::NOT_FOUND, "wrong_base_url", message).into_response()
}
