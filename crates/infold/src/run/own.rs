//! Addresses of models that the user configured, in the environment or in an agent's own settings.

use crate::settings::{Origin, Settings};

/// A family of model APIs. The proxy serves each family below a path of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentApi {
    Anthropic,
    /// OpenAI's API, and everything that is compatible with it.
    OpenAi,
}

impl AgentApi {
    /// The path below which the proxy serves it.
    pub fn route(self) -> &'static str {
        match self {
            Self::Anthropic => "/anthropic",
            Self::OpenAi => "/openai",
        }
    }

    /// The setting that names where its requests go.
    pub fn key(self) -> &'static str {
        match self {
            Self::Anthropic => "proxy.anthropic.upstream",
            Self::OpenAi => "proxy.openai.upstream",
        }
    }

    /// The address that its requests go to, by the settings in force.
    pub fn upstream(self, settings: &Settings) -> &str {
        match self {
            Self::Anthropic => &settings.proxy.anthropic.upstream,
            Self::OpenAi => &settings.proxy.openai.upstream,
        }
    }

    fn set_upstream(self, settings: &mut Settings, url: String) {
        match self {
            Self::Anthropic => settings.proxy.anthropic.upstream = url,
            Self::OpenAi => settings.proxy.openai.upstream = url,
        }
    }
}

/// An address that the user configured for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnAddress {
    pub api: AgentApi,
    /// The address, without a slash at the end.
    pub url: String,
    /// Where the user configured it, in words for a message.
    pub place: String,
}

impl OwnAddress {
    /// An address that the user configured; `None` if it is empty or that of an infold daemon. `infold connect` writes
    /// such addresses, and with one as the upstream, requests would go round in circles.
    pub fn new(api: AgentApi, url: &str, place: impl Into<String>) -> Option<Self> {
        let url = url.trim().trim_end_matches('/');
        let is_ours = is_loopback(url) && url.split('/').nth(3).is_some_and(is_route);
        (!url.is_empty() && !is_ours).then(|| Self { api, url: url.to_owned(), place: place.into() })
    }

    /// Makes it the upstream, unless the user has set one in infold's settings. Returns a note on what was done.
    pub fn take_over(&self, settings: &mut Settings, origin: &Origin) -> String {
        let Self { api, url, place } = self;
        let named = api.upstream(settings).trim_end_matches('/').to_owned();
        if *origin == Origin::Default {
            api.set_upstream(settings, url.clone());
            return format!("forwarding to {} (from {place})", without_secrets(url));
        }
        format!("forwarding to {} (from {} in {origin}); ignoring {place}", without_secrets(&named), api.key())
    }

    /// What a base address has after the proxy's route, so that the paths that an agent appends are right: `/v1` if the
    /// upstream ends in it or is a host alone, or else nothing.
    pub fn version(url: &str) -> &'static str {
        let path = url.split_once("://").map_or(url, |(_, rest)| rest).trim_end_matches('/');
        if path.ends_with("/v1") || !path.contains('/') { "/v1" } else { "" }
    }
}

fn is_route(segment: &str) -> bool {
    matches!(segment, "anthropic" | "openai")
}

fn is_loopback(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
        host.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':') || rest.starts_with('/'))
    })
}

/// An address without the password or key in it, for messages.
pub fn without_secrets(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}
