//! Requests that arrive at the wrong place, because the base URL of their client lacks the provider's path or its
//! version, has one of them twice, or is another provider's. The answer says which base URL is right.

use axum::extract::Request;
use axum::response::Response;
use http::header::HOST;
use http::{HeaderMap, StatusCode};

use crate::refusal::ProxyRefusal;
use crate::relay::Answered;
use crate::send::Outgoing;
use crate::{Provider, Proxy};

impl Proxy {
    /// Passes an answer on, unless it is a 404 that a wrong base URL explains: then the client learns the right one.
    /// The upstream is always asked first, so that no path is refused which works.
    pub(crate) async fn explain_wrong_base_url(
        &self,
        outgoing: &Outgoing,
        mut answered: Answered,
    ) -> Result<Answered, ProxyRefusal> {
        let Some(suggested) = outgoing.suggested.filter(|_| answered.head.status == StatusCode::NOT_FOUND) else {
            return Ok(answered);
        };
        let said = answered.read_whole_refusal(self.silence()).await.unwrap_or_default();
        // Providers answer 404 for unknown models too.
        if String::from_utf8_lossy(&said).to_lowercase().contains("model") {
            return Ok(answered);
        }
        Err(wrong_base(suggested, &outgoing.headers))
    }
}

/// Answers a request without a provider's path with the base URL that its client should have.
pub(crate) async fn answer(request: Request) -> Response {
    let path = request.uri().path();
    let provider = if path.contains("/messages") || request.headers().contains_key("anthropic-version") {
        Provider::Anthropic
    } else {
        Provider::OpenAi
    };
    wrong_base(provider, request.headers()).into_response()
}

fn wrong_base(provider: Provider, headers: &HeaderMap) -> ProxyRefusal {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:9090");
    let base = match provider {
        Provider::Anthropic => format!("http://{host}{}", provider.prefix()),
        Provider::OpenAi => format!("http://{host}{}/v1", provider.prefix()),
    };
    let message = format!("infold does not serve this path: set the base URL of your client to {base}");
    ProxyRefusal::new(provider, StatusCode::NOT_FOUND, "wrong_base_url", message)
}
