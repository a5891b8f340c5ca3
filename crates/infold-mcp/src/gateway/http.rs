//! A server over streamable HTTP, in both eras. Every request is an exchange of its own; what the server says meanwhile
//! comes on the stream of its answer, and in the older era also on one that stays open.
//!
//! Only the headers that the way names or its command makes and the token of its login travel to the server, and only to its own origin: a
//! redirect elsewhere is not followed. Closing an answer's stream cancels a request; the older era wants a notification as well.

mod admission;
mod headers;
mod helper;
mod listening;
mod nearby;
mod reading;
mod sse;

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, StatusCode, Url};
use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::era::{LinkEra, ServerAbout};
use super::error::LinkError;
use super::login::{HttpLogin, ServerTokens};
use super::message::{self, OwnRequest};
use super::stream::StreamParts;
pub(crate) use headers::marks_arguments;
pub use helper::HeadersHelper;
use helper::MadeHeaders;
use nearby::{NearResponse, Nearby};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const BOTH_FORMS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Compressed answers could grow beyond every bound.
const UNCOMPRESSED: HeaderValue = HeaderValue::from_static("identity");
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a message that has no answer may take.
const TELL_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the server has to take note of a session's end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Headers of a request besides the user's own.
const HEADERS_USUAL: usize = 8;
/// Redirects within the server's own origin.
const REDIRECTS_MAX: usize = 3;

/// How a server over HTTP is reached.
#[derive(Clone)]
pub struct HttpWay {
    /// Its address.
    pub url: String,
    /// Headers of every request, such as a token.
    pub headers: Vec<(String, String)>,
    /// What makes further headers.
    pub helper: Option<HeadersHelper>,
    /// Its login, if one can be made.
    pub login: Option<HttpLogin>,
}

/// Headers may hold secrets, so only their names are shown.
impl fmt::Debug for HttpWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("HttpWay").field("url", &self.url).field("headers", &names).finish()
    }
}

/// The connection to a server over HTTP.
#[derive(Debug)]
pub(super) struct HttpLeg {
    client: Client,
    /// What is used in place of the client, if the server is on this machine.
    nearby: Option<Nearby>,
    url: Url,
    headers: HeaderMap,
    made: Option<MadeHeaders>,
    /// The tokens of its login; `None` if the user's own headers say who asks.
    tokens: Option<Arc<ServerTokens>>,
    session: RwLock<HttpSession>,
    parts: StreamParts,
    closing: CancellationToken,
}

/// What the older era's handshake gave.
#[derive(Debug, Clone, Default)]
struct HttpSession {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// Ends the stream that stays open, when the session begins anew.
    over: CancellationToken,
}

/// A request before it is sent, with the headers that every one has.
#[derive(Debug, Clone)]
struct Outgoing {
    method: Method,
    headers: HeaderMap,
    body: Bytes,
}

/// The head of an answer, and the rest as it comes.
#[derive(Debug)]
enum ServerResponse {
    Near(Box<NearResponse>),
    Far(reqwest::Response),
}

impl ServerResponse {
    fn status(&self) -> StatusCode {
        match self {
            Self::Near(response) => response.status(),
            Self::Far(response) => response.status(),
        }
    }

    fn headers(&self) -> &HeaderMap {
        match self {
            Self::Near(response) => response.headers(),
            Self::Far(response) => response.headers(),
        }
    }

    /// The next part of the body; `None` at its end.
    async fn chunk(&mut self) -> Result<Option<Bytes>, LinkError> {
        match self {
            Self::Near(response) => response.chunk().await,
            Self::Far(response) => response.chunk().await.map_err(|error| unreachable(&error.without_url())),
        }
    }
}

impl HttpLeg {
    pub(super) fn new(way: &HttpWay, parts: StreamParts) -> Result<Self, LinkError> {
        let odd = |what: String| LinkError::CannotStart { program: way.url.clone(), why: what };
        let url = Url::parse(&way.url).map_err(|error| odd(format!("the address cannot be read: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(odd("the address must begin with http:// or https://".to_owned()));
        }
        let headers = headers::own(&way.headers).map_err(|name| odd(format!("the header {name:?} is not valid")))?;
        let client = client(&url).map_err(|error| odd(error.to_string()))?;
        let login = way.login.as_ref().filter(|_| way.helper.is_none() && !headers.contains_key(AUTHORIZATION));
        let tokens = login.map(|login| ServerTokens::new(&url, login)).transpose();
        let tokens = tokens.map_err(|error| odd(error.to_string()))?.map(Arc::new);
        let made = way.helper.clone().map(|helper| MadeHeaders::new(helper, way.url.clone()));
        let closing = CancellationToken::new();
        let nearby = Nearby::new(&url);
        Ok(Self { client, nearby, url, headers, made, tokens, session: RwLock::default(), parts, closing })
    }

    /// Notes what the handshake gave.
    pub(super) fn speaks(&self, about: &ServerAbout) {
        let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
        session.version = HeaderValue::from_str(&about.protocol).ok();
    }

    /// Sends a request and waits for its answer. If the input schema of the tool that is called is given, the arguments
    /// that it marks go into headers too.
    pub(super) async fn request(
        self: &Arc<Self>,
        request: &OwnRequest<'_>,
        schema: Option<&Value>,
    ) -> Result<Value, LinkError> {
        if self.closing.is_cancelled() {
            return Err(LinkError::Closed);
        }
        let mut unanswered = Unanswered { leg: self, id: request.id(), era: request.era(), is_sent: false };
        let outcome = {
            // It is large, so it is made where it stays.
            let exchange = pin!(async {
                let begins = request.method() == "initialize";
                if begins {
                    self.forget_session();
                }
                unanswered.is_sent = !begins;
                let mut message = self.post(self.body(request)?, request.era());
                headers::add_standard(&mut message.headers, request, schema);
                let response = self.send(message).await?;
                if begins {
                    self.note_session(&response);
                }
                self.read_answer(request, response).await
            });
            self.closing.run_until_cancelled(exchange).await.unwrap_or(Err(LinkError::Closed))
        };
        unanswered.is_sent = false;
        outcome.map_err(|error| self.without_secrets(error))
    }

    /// Sends a message that has no answer.
    pub(super) async fn tell(&self, message: &Value) -> Result<(), LinkError> {
        let body = self.body(message)?;
        let sending = async {
            let response = self.send(self.post(body, LinkEra::Legacy)).await?;
            if response.status().is_success() { Ok(()) } else { Err(self.refusal(response).await) }
        };
        let timed_out = || {
            let method = message.get("method").and_then(Value::as_str).unwrap_or("an answer").to_owned();
            LinkError::TimedOut { method, timeout_ms: u64::try_from(TELL_TIMEOUT.as_millis()).unwrap_or(u64::MAX) }
        };
        timeout(TELL_TIMEOUT, sending).await.unwrap_or_else(|_| Err(timed_out()))
    }

    /// Ends the connection; a session of the older era is given back.
    pub(super) async fn close(&self) {
        self.closing.cancel();
        if self.has_session() {
            let _ = timeout(CLOSE_TIMEOUT, self.send(self.to(Method::DELETE, LinkEra::Legacy))).await;
        }
    }

    fn body(&self, message: &impl Serialize) -> Result<Vec<u8>, LinkError> {
        let body = message::written(message);
        let (bytes, bytes_max) = (body.len(), self.parts.message_bytes_max);
        if bytes > bytes_max { Err(LinkError::RequestTooLong { bytes, bytes_max }) } else { Ok(body) }
    }

    fn post(&self, body: Vec<u8>, era: LinkEra) -> Outgoing {
        let mut message = self.to(Method::POST, era);
        message.headers.insert(CONTENT_TYPE, JSON);
        message.body = body.into();
        message
    }

    /// A request with the headers that every one has.
    fn to(&self, method: Method, era: LinkEra) -> Outgoing {
        let mut headers = self.headers.clone();
        headers.reserve(HEADERS_USUAL);
        headers.insert(ACCEPT, BOTH_FORMS);
        headers.insert(ACCEPT_ENCODING, UNCOMPRESSED);
        if era == LinkEra::Legacy {
            let session = self.session();
            session.id.map(|id| headers.insert(SESSION_ID, id));
            session.version.map(|version| headers.insert(PROTOCOL_VERSION, version));
        }
        Outgoing { method, headers, body: Bytes::new() }
    }

    fn session(&self) -> HttpSession {
        self.session.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the server has given this connection a session.
    pub(super) fn has_session(&self) -> bool {
        self.session.read().unwrap_or_else(PoisonError::into_inner).id.is_some()
    }

    fn forget_session(&self) {
        let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *session).over.cancel();
    }

    fn note_session(&self, response: &ServerResponse) {
        let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
        session.id = response.headers().get(SESSION_ID).cloned();
    }

    /// Whether a status says that the session is not known any more.
    fn is_session_gone(&self, status: StatusCode, era: LinkEra) -> bool {
        status == StatusCode::NOT_FOUND && era == LinkEra::Legacy && self.has_session()
    }
}

/// A request whose answer has not come. If it is dropped, its stream is closed with it.
struct Unanswered<'a> {
    leg: &'a Arc<HttpLeg>,
    id: u64,
    era: LinkEra,
    is_sent: bool,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if !self.is_sent || self.era == LinkEra::Modern {
            return;
        }
        let (leg, id) = (self.leg.clone(), self.id);
        let tasks = self.leg.parts.tasks.clone();
        // Whether it arrives makes no difference to anyone here.
        tasks.spawn(async move { leg.tell(&message::cancelled(id)).await });
    }
}

fn client(url: &Url) -> reqwest::Result<Client> {
    let origin = url.origin();
    let redirects = Policy::custom(move |attempt| {
        if attempt.previous().len() <= REDIRECTS_MAX && attempt.url().origin() == origin {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    let builder = Client::builder().redirect(redirects).connect_timeout(CONNECT_TIMEOUT);
    // A proxy cannot reach what this machine serves to itself.
    if is_local(url) { builder.no_proxy().build() } else { builder.build() }
}

/// Whether an address is on this machine.
pub(super) fn is_local(url: &Url) -> bool {
    url.host_str().is_some_and(|host| host == "localhost" || host == "[::1]" || host.starts_with("127."))
}

/// An error of the connection, with its innermost cause, which says the most.
fn unreachable(error: &dyn std::error::Error) -> LinkError {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    LinkError::Unreachable(cause.to_string())
}

#[cfg(test)]
mod tests;
