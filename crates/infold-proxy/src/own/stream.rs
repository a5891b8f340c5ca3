//! Posts a request and gives the answer piece by piece, as it comes in.
//!
//! What must hold: connecting, silence, and the whole of an answer are bounded in time, and its length in bytes; an answer
//! that is given up closes its connection; what a provider says of the key does not reach whoever asked.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use infold_engine::AskFault;
use tokio::time::{Instant, timeout, timeout_at};

use super::{OwnKey, OwnRequests, OwnWay, retry_after_ms};
use crate::decode::Decoder;

/// Sends requests of infold's own whose answers are streams.
pub struct OwnStream {
    requests: OwnRequests,
    silence_timeout: Duration,
}

/// An answer while it comes in, whatever its status.
pub struct StreamedAnswer {
    /// The HTTP status.
    pub status: u16,
    /// How long the provider asks to wait before the next request.
    pub retry_after_ms: Option<u64>,
    body: Incoming,
    decoder: Decoder,
    limits: AnswerLimits,
    bytes: usize,
    has_ended: bool,
    /// The key to look for in what is said, if the answer is a refusal.
    key: Option<String>,
}

/// How long an answer may take and be, and what to say if it does not keep to that.
struct AnswerLimits {
    upstream: String,
    silence_timeout: Duration,
    deadline: Instant,
    bytes_max: usize,
}

impl OwnStream {
    /// A way to send requests. Nothing may be silent for longer than `silence_timeout_ms`; all of an answer may take as
    /// long as the way says, and be as long.
    pub fn new(way: OwnWay, silence_timeout_ms: u64) -> Self {
        Self { requests: OwnRequests::new(way), silence_timeout: Duration::from_millis(silence_timeout_ms) }
    }

    /// Posts JSON to a path, and waits for the head of the answer.
    pub async fn post(&self, path: &str, body: Bytes) -> Result<StreamedAnswer, AskFault> {
        let way = &self.requests.way;
        let request = self.requests.request(path, body)?;
        let limits = AnswerLimits {
            upstream: way.upstream.to_string(),
            silence_timeout: self.silence_timeout,
            deadline: Instant::now() + Duration::from_millis(way.timeout_ms),
            bytes_max: way.answer_bytes_max,
        };
        let sent = timeout(self.silence_timeout, self.requests.sent(request)).await;
        let response = sent.map_err(|_| limits.silent())??;
        let (head, body) = response.into_parts();
        let key = match &way.key {
            OwnKey::Key(key) if !key.is_empty() && !head.status.is_success() => Some(key.clone()),
            OwnKey::Key(_) | OwnKey::Nothing | OwnKey::Unset { .. } => None,
        };
        Ok(StreamedAnswer {
            status: head.status.as_u16(),
            retry_after_ms: retry_after_ms(&head.headers),
            decoder: Decoder::of(&head.headers),
            body,
            limits,
            bytes: 0,
            has_ended: false,
            key,
        })
    }
}

impl AnswerLimits {
    fn silent(&self) -> AskFault {
        AskFault::Lost(format!("{} said nothing for {} ms", self.upstream, self.silence_timeout.as_millis()))
    }

    fn lost(&self, problem: &str) -> AskFault {
        AskFault::Lost(format!("the answer of {} {problem}", self.upstream))
    }
}

impl StreamedAnswer {
    /// The next piece of the body, decoded; `None` at its end. Behind a fault nothing comes.
    pub async fn next(&mut self) -> Option<Result<Bytes, AskFault>> {
        if self.has_ended {
            return None;
        }
        let piece = self.piece().await;
        self.has_ended = !matches!(piece, Some(Ok(_)));
        piece
    }

    async fn piece(&mut self) -> Option<Result<Bytes, AskFault>> {
        // A refusal is short, and has to be whole for the key to be found in it.
        let mut refusal = Vec::new();
        loop {
            let decoded = match self.decoded().await {
                Some(Ok(decoded)) => decoded,
                Some(Err(fault)) => return Some(Err(fault)),
                None if refusal.is_empty() => return None,
                None => return Some(Ok(self.without_key(&refusal))),
            };
            match self.key {
                Some(_) => refusal.extend_from_slice(&decoded),
                None if decoded.is_empty() => {}
                None => return Some(Ok(decoded)),
            }
        }
    }

    /// The next bytes of the body, decoded, which may be none.
    async fn decoded(&mut self) -> Option<Result<Bytes, AskFault>> {
        let limits = &self.limits;
        let framed = timeout_at(limits.deadline, timeout(limits.silence_timeout, self.body.frame())).await;
        let frame = match framed {
            Err(_) => return Some(Err(limits.lost("took too long"))),
            Ok(Err(_)) => return Some(Err(limits.silent())),
            Ok(Ok(None)) => return None,
            Ok(Ok(Some(Err(_)))) => return Some(Err(limits.lost("broke off"))),
            Ok(Ok(Some(Ok(frame)))) => frame,
        };
        let Ok(packed) = frame.into_data() else { return Some(Ok(Bytes::new())) };
        let mut decoded = Vec::new();
        self.decoder.push(&packed, |bytes| decoded.extend_from_slice(bytes));
        self.bytes = self.bytes.saturating_add(decoded.len());
        if self.decoder.is_lost() {
            return Some(Err(limits.lost("cannot be unpacked")));
        }
        if self.bytes > limits.bytes_max {
            return Some(Err(limits.lost(&format!("is longer than {} bytes", limits.bytes_max))));
        }
        Some(Ok(Bytes::from(decoded)))
    }

    /// Words of a provider without the key, should it have repeated that.
    fn without_key(&self, words: &[u8]) -> Bytes {
        let words = String::from_utf8_lossy(words);
        Bytes::from(self.key.as_ref().map_or_else(|| words.to_string(), |key| words.replace(key.as_str(), "…")))
    }
}

#[cfg(test)]
mod tests;
