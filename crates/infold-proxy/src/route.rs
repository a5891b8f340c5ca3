//! What a request is for, and where it goes. The host comes from the settings alone; of what the client
//! sent only a plain path and its query are taken.

use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, Uri};
use infold_wire::request::Api;

use crate::refusal::ProxyRefusal;
use crate::{Provider, ProxySettings};

/// What is done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handling {
    /// A turn of a conversation: planned.
    Turn(Api),
    /// A count of one: planned the same, and nothing of it is stored.
    Count(Api),
    /// Anything else: passed on.
    Pass,
}

/// Where a request goes, and what for.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) provider: Provider,
    pub(crate) handling: Handling,
    pub(crate) target: Uri,
    /// Whose base URL its client should have, if the path makes one think that it has a wrong one.
    pub(crate) suggested: Option<Provider>,
}

impl Route {
    /// Reads the head of a request.
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
        Ok(Self {
            provider,
            handling: handling(provider, &parts.method, path),
            target,
            suggested: suggested(provider, path),
        })
    }
}

/// What stands behind a provider's prefix.
fn below(provider: Provider, path: &str) -> Option<&str> {
    path.strip_prefix(provider.prefix()).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// By the path, never by the query: clients add parameters of their own.
fn handling(provider: Provider, method: &Method, path: &str) -> Handling {
    if method != Method::POST {
        return Handling::Pass;
    }
    let path = path.strip_prefix("/v1").unwrap_or(path);
    match (provider, path) {
        (Provider::Anthropic, "/messages") => Handling::Turn(Api::Messages),
        (Provider::Anthropic, "/messages/count_tokens") => Handling::Count(Api::Messages),
        (Provider::OpenAi, "/responses") => Handling::Turn(Api::Responses),
        (Provider::OpenAi, "/chat/completions") => Handling::Turn(Api::Chat),
        (Provider::Anthropic | Provider::OpenAi, _) => Handling::Pass,
    }
}

/// Whom a path was meant for that ends like one of a provider's, if it does not stand where that provider has it.
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

/// Whether two programs could read a path in two ways.
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
