//! What the program tells the proxy. There are no defaults here: the program's settings file has them.

use http::uri::{Authority, Scheme};
use http::{HeaderMap, Uri};
use infold_core::{ShapeRules, Windows};
use tokio_util::task::TaskTracker;

use crate::{Provider, Tunnels};

/// The header in which clients of Anthropic's ask for what is not usual.
const BETAS: &str = "anthropic-beta";
/// What a client asks for that wants the largest window.
const LONG_WINDOW: &str = "context-1m";

/// Everything that the proxy has to be told.
#[derive(Debug, Clone)]
pub struct ProxySettings {
    /// Where Anthropic's requests go.
    pub anthropic: Upstream,
    /// Where OpenAI's requests go.
    pub openai: Upstream,
    /// Whether requests are planned, or all of them passed on as they come.
    pub planning: Planning,
    /// Whether long results are kept elsewhere when they are first seen. They are scrubbed in any case.
    pub shaping: Shaping,
    /// Which results are long. The engine goes by the same rules.
    pub shape_rules: ShapeRules,
    /// Longest body of a request.
    pub body_bytes_max: usize,
    /// Which upstreams are reached through the network's own proxy.
    pub tunnels: Tunnels,
    /// Time for reaching an upstream, with its name looked up and its certificate checked.
    pub connect_timeout_ms: u64,
    /// Time for which an upstream may say nothing, in front of its answer or within it.
    pub silence_timeout_ms: u64,
    /// Time for which a stream that says nothing yet is held back, in case it is about to say that the request is
    /// too long.
    pub hold_ms: u64,
    /// How often a request is sent again after the first time.
    pub retries_max: u32,
    /// Answers after which it is sent again; connection errors always are.
    pub retry_statuses: Vec<RetryStatus>,
    /// The longest wait that an upstream may ask for; with a longer one its answer is passed on.
    pub retry_after_max_ms: u64,
    /// How many tokens models take.
    pub windows: Windows,
    /// Tokens of a window that a rescue leaves free.
    pub reserve_tokens: u64,
    /// Sessions that are held in memory.
    pub sessions_max: usize,
    /// Bytes that are held in memory of all of them.
    pub sessions_bytes_max: usize,
    /// Where what is left to do after an answer runs.
    pub tasks: TaskTracker,
}

/// Whether requests are planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planning {
    /// They are.
    On,
    /// They are passed on as they come.
    Off,
}

/// Whether long results are kept elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shaping {
    /// They are, where the model can read them back.
    On,
    /// They go as they are.
    Off,
}

/// An answer after which a request may be sent again.
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
    /// The status with this number, if requests may be sent again after it.
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

/// Where a provider's requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    scheme: Scheme,
    authority: Authority,
    /// What stands in front of every path; without a slash at its end.
    base: String,
}

/// Why an address cannot be an upstream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// It is no address.
    #[error("is not an http or https address: write it as https://host or https://host:port/path")]
    NotAnAddress,
    /// It holds a name and a password.
    #[error("holds a name or password: leave it out, keys come from the client")]
    Credentials,
    /// It has a query.
    #[error("has a query or fragment: give the scheme, the host and perhaps a path")]
    Query,
}

impl Upstream {
    /// Reads an address.
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

    /// The address of a path at this upstream. A `/v1` at the end of the base and one at the beginning of
    /// the path are one: people write base URLs either way.
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

    /// The host and port, as it stands in a Host header.
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
    /// Where a provider's requests go.
    pub(crate) fn upstream(&self, provider: Provider) -> &Upstream {
        match provider {
            Provider::Anthropic => &self.anthropic,
            Provider::OpenAi => &self.openai,
        }
    }

    /// Tokens of a model's window, as its clients fill it unless they ask for more.
    pub fn window_of(&self, model: &str) -> u64 {
        self.windows.of(model)
    }

    /// The most tokens that a model takes from anybody.
    pub fn largest_window_of(&self, model: &str) -> u64 {
        self.windows.largest_of(model)
    }

    /// Tokens of the window that a client asks for in its headers, if it asks for one.
    pub(crate) fn window_asked_for(&self, model: &str, headers: &HeaderMap) -> Option<u64> {
        let betas = headers.get_all(BETAS).iter().filter_map(|value| value.to_str().ok());
        let asks = betas.flat_map(|list| list.split(',')).any(|beta| beta.trim().starts_with(LONG_WINDOW));
        asks.then(|| self.largest_window_of(model))
    }
}

#[cfg(test)]
mod tests;
