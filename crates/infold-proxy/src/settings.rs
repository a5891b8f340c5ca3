//! The proxy's settings. There are no defaults here: the program's settings file has them.

use http::Uri;
use http::uri::{Authority, Scheme};

use crate::{Provider, Tunnels};

/// Everything that the program sets for the proxy.
#[derive(Debug, Clone)]
pub struct ProxySettings {
    /// The address that requests below `/anthropic` go to.
    pub anthropic: Upstream,
    /// The address that requests below `/openai` go to.
    pub openai: Upstream,
    /// Whether turns are planned, or all requests passed on as they come.
    pub planning: Planning,
    /// The longest body that a request may have, decoded if it is compressed.
    pub body_bytes_max: usize,
    /// Paths, each with its provider's, whose bodies are not searched for secrets, if infold does not know them.
    pub unsearched_paths: Vec<String>,
    /// Which upstreams are reached through the network's own proxy.
    pub tunnels: Tunnels,
    /// How long connecting to an upstream may take, with name lookup and certificate check.
    pub connect_timeout_ms: u64,
    /// How long an upstream may say nothing, before its answer or within it.
    pub silence_timeout_ms: u64,
    /// How long a stream that says nothing yet is held back, in case it is about to report that the request is too
    /// long.
    pub hold_ms: u64,
    /// How often a request is sent again, after the first time.
    pub retries_max: u32,
    /// Statuses after which a request is sent again. After connection errors it always is.
    pub retry_statuses: Vec<RetryStatus>,
    /// The longest wait that an upstream may ask for; with a longer one its answer is passed on.
    pub retry_after_max_ms: u64,
}

/// Whether turns are planned before they are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planning {
    /// The engine plans every turn before it is sent.
    On,
    /// Every request is passed on as it comes.
    Off,
}

/// A status of an answer after which the request may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryStatus {
    /// 429, too many requests.
    TooMany,
    /// 500, internal error.
    Internal,
    /// 504, timeout.
    Timeout,
    /// 529, overloaded.
    Overloaded,
}

impl RetryStatus {
    /// The variant for a status code; `None` if requests are never sent again after it.
    pub fn of(status: u16) -> Option<Self> {
        match status {
            429 => Some(Self::TooMany),
            500 => Some(Self::Internal),
            504 => Some(Self::Timeout),
            529 => Some(Self::Overloaded),
            _ => None,
        }
    }
}

/// The address that a provider's requests go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    scheme: Scheme,
    authority: Authority,
    /// The path in front of every request's path, without a slash at its end.
    base: String,
}

/// Why an address cannot be an upstream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// The text is no address with http or https.
    #[error("is not an http or https address: write it as https://host or https://host:port/path")]
    NotAnAddress,
    /// The address holds a name or a password.
    #[error("holds a name or password: leave it out, keys come from the client")]
    Credentials,
    /// The address has a query or a fragment.
    #[error("has a query or fragment: give the scheme, the host and perhaps a path")]
    Query,
}

impl Upstream {
    /// Parses an address such as `https://host:port/path`.
    pub fn parse(text: &str) -> Result<Self, UpstreamError> {
        if text.contains(['?', '#']) {
            return Err(UpstreamError::Query);
        }
        let uri: Uri = text.parse().map_err(|_| UpstreamError::NotAnAddress)?;
        let parts = uri.into_parts();
        let scheme = parts.scheme.filter(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS);
        let (Some(scheme), Some(authority)) = (scheme, parts.authority) else {
            return Err(UpstreamError::NotAnAddress);
        };
        if authority.as_str().contains('@') {
            return Err(UpstreamError::Credentials);
        }
        if authority.host().is_empty() {
            return Err(UpstreamError::NotAnAddress);
        }
        let base = parts.path_and_query.as_ref().map_or("", |path| path.path()).trim_end_matches('/').to_owned();
        Ok(Self { scheme, authority, base })
    }

    /// Returns the address of a path at this upstream. If the base ends with `/v1` and the path begins with it, it is
    /// written once, because people write base URLs either way.
    pub(crate) fn at(&self, path: &str, query: Option<&str>) -> Result<Uri, http::Error> {
        let path = match self.base.strip_suffix("/v1") {
            Some(base) if path == "/v1" || path.starts_with("/v1/") => format!("{base}{path}"),
            Some(_) | None => format!("{}{path}", self.base),
        };
        let path = if path.is_empty() { "/".to_owned() } else { path };
        let target = match query {
            Some(query) => format!("{path}?{query}"),
            None => path,
        };
        Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone()).path_and_query(target).build()
    }

    /// The host and port, as a Host header has them.
    pub(crate) fn host(&self) -> &str {
        self.authority.as_str()
    }
}

impl std::fmt::Display for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.base)
    }
}

impl ProxySettings {
    pub(crate) fn upstream(&self, provider: Provider) -> &Upstream {
        match provider {
            Provider::Anthropic => &self.anthropic,
            Provider::OpenAi => &self.openai,
        }
    }
}

#[cfg(test)]
mod tests;
