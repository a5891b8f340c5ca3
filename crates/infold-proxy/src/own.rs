//! Requests of infold's own, to models that the user has named for memories or for infold's agent. No client is behind
//! them: they have a key of their own, one attempt and one timeout, and whoever asked decides what a fault means.
//!
//! What must hold: a key goes to its upstream and nowhere else, into no error and no log; no answer is read beyond its bound.

mod embeddings;
mod model;
mod stream;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;

use crate::connect::UpstreamClient;
use crate::decode::Decoder;
use crate::{Provider, Tunnels, Upstream};
use infold_engine::AskFault;
use infold_wire::answer::{AnswerReader, Delivery};
use infold_wire::request::Api;

pub use embeddings::embed_texts;
pub use model::ask_model;
pub use stream::{OwnStream, StreamedAnswer};

/// A model that infold asks on its own account.
#[derive(Debug, Clone)]
pub struct OwnModel {
    /// Its name.
    pub model: String,
    /// The way to it.
    pub way: OwnWay,
}

/// Where requests of infold's own go.
#[derive(Debug, Clone)]
pub struct OwnWay {
    /// Which API is spoken there.
    pub api: Provider,
    /// The address.
    pub upstream: Upstream,
    /// What they prove themselves with.
    pub key: OwnKey,
    /// The settings that say all this: the address, and the variable with the key.
    pub settings: OwnSettings,
    /// Which upstreams are reached through the network's own proxy.
    pub tunnels: Tunnels,
    /// How long connecting may take.
    pub connect_timeout_ms: u64,
    /// How long all of a request may take, with its answer.
    pub timeout_ms: u64,
    /// How long an answer may be.
    pub answer_bytes_max: usize,
}

/// The names of the settings that say where requests go, for messages.
#[derive(Debug, Clone, Copy)]
pub struct OwnSettings {
    /// The model.
    pub model: &'static str,
    /// The address.
    pub upstream: &'static str,
    /// The name of the variable with the key.
    pub key: &'static str,
}

/// What requests of infold's own prove themselves with.
#[derive(Clone)]
pub enum OwnKey {
    /// With nothing.
    Nothing,
    /// With the key in a variable of the environment, which is not set.
    Unset {
        /// The name of the variable.
        variable: String,
    },
    /// With this key.
    Key(String),
}

impl fmt::Debug for OwnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("Nothing"),
            Self::Unset { variable } => write!(f, "Unset({variable})"),
            Self::Key(_) => f.write_str("Key(..)"),
        }
    }
}

/// Sends requests of infold's own.
pub(crate) struct OwnRequests {
    way: OwnWay,
    client: UpstreamClient,
}

/// An answer to a request of infold's own, whatever its status.
pub(crate) struct OwnAnswer {
    status: StatusCode,
    retry_after_ms: Option<u64>,
    body: Vec<u8>,
}

impl OwnRequests {
    pub(crate) fn new(way: OwnWay) -> Self {
        let client = UpstreamClient::new(way.connect_timeout_ms, way.tunnels.clone());
        Self { way, client }
    }

    /// Sends JSON to a path, and reads the whole answer.
    async fn post(&self, path: &str, body: &serde_json::Value) -> Result<OwnAnswer, AskFault> {
        let request = self.request(path, Bytes::from(body.to_string()))?;
        let timeout_ms = self.way.timeout_ms;
        let answered = tokio::time::timeout(Duration::from_millis(timeout_ms), self.answered(request)).await;
        answered.unwrap_or_else(|_| {
            Err(AskFault::Lost(format!("{} gave no answer within {timeout_ms} ms", self.way.upstream)))
        })
    }

    fn request(&self, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>, AskFault> {
        let upstream = &self.way.upstream;
        let unusable = |_| AskFault::Unusable(format!("{} in settings is no address", self.way.settings.upstream));
        let length_bytes = body.len();
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = upstream.at(path, None).map_err(unusable)?;
        let headers = request.headers_mut();
        if let Ok(host) = HeaderValue::from_str(upstream.host()) {
            headers.insert(HOST, host);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length_bytes));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        self.prove(headers)?;
        Ok(request)
    }

    /// Puts the key into the headers, in the way of its API.
    fn prove(&self, headers: &mut HeaderMap) -> Result<(), AskFault> {
        let setting = self.way.settings.key;
        if self.way.api == Provider::Anthropic {
            headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
        }
        let key = match &self.way.key {
            OwnKey::Nothing => return Ok(()),
            OwnKey::Unset { variable } => {
                return Err(AskFault::Unusable(format!(
                    "the variable {variable}, which {setting} names, is not set: set it in infold's environment and \
                     start infold again"
                )));
            }
            OwnKey::Key(key) => key,
        };
        let (name, value) = match self.way.api {
            Provider::Anthropic => (HeaderName::from_static("x-api-key"), key.clone()),
            Provider::OpenAi => (AUTHORIZATION, format!("Bearer {key}")),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            AskFault::Unusable(format!("the variable that {setting} names holds something that is no key"))
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    }

    async fn answered(&self, request: Request<Full<Bytes>>) -> Result<OwnAnswer, AskFault> {
        let (upstream, bytes_max) = (&self.way.upstream, self.way.answer_bytes_max);
        let (head, body) = self.sent(request).await?.into_parts();
        let lost =
            |_| AskFault::Lost(format!("the answer of {upstream} broke off, or is longer than {bytes_max} bytes"));
        let packed = Limited::new(body, bytes_max).collect().await.map_err(lost)?.to_bytes();
        let (mut decoder, mut body) = (Decoder::of(&head.headers), Vec::new());
        decoder.push(&packed, |bytes| body.extend_from_slice(bytes));
        if body.len() > bytes_max {
            return Err(AskFault::Lost(format!("the answer of {upstream} is longer than {bytes_max} bytes")));
        }
        Ok(OwnAnswer { status: head.status, retry_after_ms: retry_after_ms(&head.headers), body })
    }

    /// Sends a request and waits for the head of the answer.
    async fn sent(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, AskFault> {
        let sent = self.client.send(request).await;
        sent.map_err(|unreached| AskFault::Busy {
            after_ms: None,
            problem: format!("{} gave no answer ({})", self.way.upstream, unreached.reason),
        })
    }

    /// What an answer that is no answer of a model means, and what to do about it.
    fn fault(&self, answer: &OwnAnswer) -> AskFault {
        let (upstream, settings, status) = (&self.way.upstream, self.way.settings, answer.status.as_u16());
        let mut reader = AnswerReader::new(Api::Chat, Delivery::Whole);
        reader.push(&answer.body);
        let said = reader.finish().error.map(|error| [error.kind.unwrap_or_default(), error.message].join(" "));
        match status {
            // What it says of the key may be part of the key.
            401 | 403 => AskFault::Unusable(format!(
                "{upstream} refuses the key (status {status}): put a valid one into the variable that {} names, and start \
                 infold again",
                settings.key
            )),
            404 => AskFault::Unusable(format!(
                "{upstream} knows no such model or path (status 404): see {} and {}",
                settings.model, settings.upstream
            )),
            300..=399 | 402 => {
                AskFault::Unusable(format!("{upstream} answered with status {status}: see {}", settings.upstream))
            }
            429 | 503 | 529 => AskFault::Busy {
                after_ms: answer.retry_after_ms,
                problem: format!("{upstream} takes no more requests for now (status {status})"),
            },
            200..=299 if said.is_none() => AskFault::Lost(format!(
                "{upstream} answered with something that is no answer of a model: see {}",
                settings.upstream
            )),
            _ => {
                let said = self.without_key(said.unwrap_or_default().trim());
                AskFault::Failed(format!("{upstream} answered with status {status} {said}").trim_end().to_owned())
            }
        }
    }

    /// Words of a provider without the key, should it have repeated that.
    fn without_key(&self, words: &str) -> String {
        match &self.way.key {
            OwnKey::Key(key) => words.replace(key.as_str(), "…"),
            OwnKey::Nothing | OwnKey::Unset { .. } => words.to_owned(),
        }
    }
}

/// How long an answer asks to wait before the next request.
fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    let seconds: u64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(seconds.saturating_mul(1_000))
}
