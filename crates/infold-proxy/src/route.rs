//! Decides where a request goes. The host comes from the settings alone; of what the client sent,
//! only a plain path and its query are used.

use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, Uri};

use crate::refusal::ProxyRefusal;
use crate::{Provider, ProxySettings};

/// Where a request goes.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) provider: Provider,
    /// The path below the provider's prefix.
    pub(crate) path: String,
    pub(crate) target: Uri,
    /// The provider whose base URL the client should use, if the path suggests that it uses a wrong one.
    pub(crate) suggested: Option<Provider>,
}

impl Route {
    /// Finds the route by the head of a request.
    pub(crate) fn of(parts: &Parts, settings: &ProxySettings) -> Result<Self, ProxyRefusal> {
        let path = parts.uri.path();
        let found = Provider::ALL.into_iter().find_map(|provider| Some((provider, below(provider, path)?)));
        let (provider, path) = found.unwrap_or((Provider::Anthropic, ""));
        if parts.uri.authority().is_some() || parts.method == Method::CONNECT || parts.method == Method::TRACE {
            let message = "infold forwards to the provider in its settings only: send a plain path, such as \
                           /anthropic/v1/messages";
            return Err(ProxyRefusal::new(provider, StatusCode::BAD_REQUEST, "target_refused", message));
        }
        if is_odd(path) {
            let message = "the path has empty or dotted segments, or characters that none should have: send it plainly";
            return Err(ProxyRefusal::new(provider, StatusCode::BAD_REQUEST, "target_refused", message));
        }
        if wants_websocket(&parts.headers) {
            let message = "infold speaks plain HTTP with model providers: use POST instead of a WebSocket";
            return Err(ProxyRefusal::new(provider, StatusCode::UPGRADE_REQUIRED, "websocket_refused", message));
        }
        let target = settings.upstream(provider).at(path, parts.uri.query()).map_err(|error| {
            let message = format!("the path cannot be sent on: {error}");
            ProxyRefusal::new(provider, StatusCode::BAD_REQUEST, "target_refused", message)
        })?;
        Ok(Self { provider, path: path.to_owned(), target, suggested: suggested(provider, path) })
    }
}

/// Returns the part of a path that follows a provider's prefix.
fn below(provider: Provider, path: &str) -> Option<&str> {
    path.strip_prefix(provider.prefix()).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Guesses the provider that a path was for: it ends like one of that provider's paths, but begins wrongly.
fn suggested(provider: Provider, path: &str) -> Option<Provider> {
    const ENDS: [(&str, Provider); 4] = [
        ("/messages", Provider::Anthropic),
        ("/messages/count_tokens", Provider::Anthropic),
        ("/responses", Provider::OpenAi),
        ("/chat/completions", Provider::OpenAi),
    ];
    ENDS.into_iter().find_map(|(end, suggested)| {
        let front = path.strip_suffix(end)?;
        let is_wrong = match front {
            "/v1" => suggested != provider,
            "" | "/v1/v1" => true,
            _ => false,
        };
        is_wrong.then_some(suggested)
    })
}

/// Whether two programs could read a path in two different ways.
fn is_odd(path: &str) -> bool {
    let decoded = path.to_ascii_lowercase().replace("%2e", ".").replace("%5c", "\\").replace("%2f", "/");
    let mut segments = decoded.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        if matches!(segment, "." | "..") || (segment.is_empty() && !is_last) {
            return true;
        }
    }
    decoded.contains('\\') || decoded.contains("%00")
}

fn wants_websocket(headers: &HeaderMap) -> bool {
    let upgrades = headers.get_all(http::header::UPGRADE).iter().filter_map(|value| value.to_str().ok());
    upgrades.flat_map(|value| value.split(',')).any(|name| name.trim().eq_ignore_ascii_case("websocket"))
}

#[cfg(test)]
mod tests;
