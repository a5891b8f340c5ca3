//! Reads what a server answers: one JSON message, or a stream of events in which the answer is one. A stream of the older
//! era that ends early is resumed where it ended.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::time::sleep;

use super::sse::{EventData, SseReader, StreamEvent};
use super::{HttpLeg, ServerResponse};
use crate::gateway::era::LinkEra;
use crate::gateway::error::LinkError;
use crate::gateway::message::{self, Incoming, OwnRequest};
use crate::gateway::options::one_more;
use crate::gateway::pace::Pace;
use crate::gateway::router::Source;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// How often in a row a stream is resumed that brings nothing.
const RESUMES_MAX: u32 = 5;
/// The wait before a stream is resumed, if the server names none.
pub(super) const RETRY_MS: u64 = 1_000;
/// The shortest and the longest wait that it may name.
const RETRY_MS_MIN: u64 = 10;
const RETRY_MS_MAX: u64 = 30_000;
/// How much is read of an answer that only explains a status.
const REFUSAL_BYTES_MAX: usize = 64 << 10;
/// How much of it an error shows.
const REFUSAL_SHOWN_CHARS: usize = 300;

/// Where a stream is, so that it can be resumed.
#[derive(Debug, Default)]
pub(super) struct StreamPlace {
    pub(super) last_id: Option<String>,
    pub(super) retry_ms: Option<u64>,
}

impl StreamPlace {
    pub(super) fn pass(&mut self, event: &StreamEvent) {
        self.retry_ms = event.retry_ms.or(self.retry_ms);
        if event.id.is_some() {
            self.last_id.clone_from(&event.id);
        }
    }

    pub(super) fn pause(&self) -> Duration {
        Duration::from_millis(self.retry_ms.unwrap_or(RETRY_MS).clamp(RETRY_MS_MIN, RETRY_MS_MAX))
    }
}

impl HttpLeg {
    /// Reads the answer to a request from its response.
    pub(super) async fn read_answer(
        self: &Arc<Self>,
        request: &OwnRequest<'_>,
        response: ServerResponse,
    ) -> Result<Value, LinkError> {
        let status = response.status();
        if self.is_session_gone(status, request.era()) {
            return Err(LinkError::SessionGone);
        }
        if status.is_success() && is_stream(&response) {
            // Boxed, like all that few answers need, because each would otherwise be as large.
            return Box::pin(self.follow(request, response)).await;
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) || status.is_redirection() {
            return Err(Box::pin(self.refusal(response)).await);
        }
        let body = read_body(response, self.parts.message_bytes_max).await?;
        let head = body[..body.len().min(4 * REFUSAL_SHOWN_CHARS)].to_vec();
        match message::read(body).await {
            // An error may come without an id, where the server could not read one.
            Some(Incoming::Answer { id, outcome })
                if id == Some(request.id()) || (id.is_none() && outcome.is_err()) =>
            {
                Ok(outcome?)
            }
            _ if !status.is_success() => Err(LinkError::Http { status: status.as_u16(), body: shown(&head) }),
            _ => Err(LinkError::NotMcp(format!("its answer to {} is not one: {}", request.method(), shown(&head)))),
        }
    }

    /// Follows a stream, and those that resume it, until the answer comes.
    async fn follow(
        self: &Arc<Self>,
        request: &OwnRequest<'_>,
        mut response: ServerResponse,
    ) -> Result<Value, LinkError> {
        let mut place = StreamPlace::default();
        let mut resumes_left = RESUMES_MAX;
        loop {
            let before = place.last_id.clone();
            let outcome = self.follow_one(request, response, &mut place).await;
            let broken = match outcome {
                Ok(Some(result)) => return Ok(result),
                Ok(None) => LinkError::Unreachable("the stream ended before the answer".to_owned()),
                Err(error @ LinkError::Unreachable(_)) => error,
                Err(error) => return Err(error),
            };
            resumes_left = if place.last_id == before { resumes_left.saturating_sub(1) } else { RESUMES_MAX };
            let Some(id) = place.last_id.as_deref().and_then(|id| HeaderValue::from_str(id).ok()) else {
                return Err(broken);
            };
            if request.era() == LinkEra::Modern || resumes_left == 0 {
                return Err(broken);
            }
            sleep(place.pause()).await;
            let mut again = self.to(Method::GET, request.era());
            again.headers.insert(LAST_EVENT_ID, id);
            response = self.send(again).await?;
            if !response.status().is_success() || !is_stream(&response) {
                return Err(broken);
            }
        }
    }

    /// Follows one stream; `None` if it ends before the answer.
    async fn follow_one(
        self: &Arc<Self>,
        request: &OwnRequest<'_>,
        mut response: ServerResponse,
        place: &mut StreamPlace,
    ) -> Result<Option<Value>, LinkError> {
        let bytes_max = self.parts.message_bytes_max;
        let mut reader = SseReader::new(bytes_max);
        let mut pace = Pace::new();
        while let Some(bytes) = response.chunk().await? {
            // What says nothing, such as comments, counts too.
            pace.bytes(bytes.len()).await;
            for event in reader.push(&bytes) {
                place.pass(&event);
                let data = match event.data {
                    EventData::None => continue,
                    EventData::Whole(data) => data,
                    EventData::TooLong => {
                        one_more(&self.parts.router.counters.too_long);
                        return Err(LinkError::TooLong { bytes_max });
                    }
                };
                match message::read(data).await {
                    Some(Incoming::Answer { id, outcome }) if id == Some(request.id()) => return Ok(Some(outcome?)),
                    incoming => self.take(incoming, Source::Request(request.id())),
                }
                pace.message(0).await;
            }
        }
        Ok(None)
    }

    /// Passes on what is not the answer that somebody waits for.
    pub(super) fn take(self: &Arc<Self>, incoming: Option<Incoming>, source: Source) {
        let router = self.parts.router.clone();
        match incoming {
            None => one_more(&router.counters.unreadable),
            Some(Incoming::Answer { .. }) => one_more(&router.counters.unknown_ids),
            Some(Incoming::Notice { method, params }) => router.notice(&method, params, source),
            Some(Incoming::Request { id, method, params }) => {
                let leg = self.clone();
                self.parts.tasks.spawn(async move {
                    let outcome = router.asked(&method, params, source).await;
                    // If the answer does not arrive, the call that it was for fails.
                    let _ = leg.tell(&message::answer(&id, outcome)).await;
                });
            }
        }
    }

    /// Why a status is no answer.
    pub(super) async fn refusal(&self, response: ServerResponse) -> LinkError {
        let status = response.status();
        let header =
            |name| response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        if let Some(error) = self.not_let_in(status, header(WWW_AUTHENTICATE)) {
            return error;
        }
        if status.is_redirection() {
            let target = header(LOCATION).unwrap_or_default();
            let body = format!("its address is now {}: use that one if you trust it", shown(target.as_bytes()));
            return LinkError::Http { status: status.as_u16(), body };
        }
        if self.is_session_gone(status, LinkEra::Legacy) {
            return LinkError::SessionGone;
        }
        let body = read_body(response, REFUSAL_BYTES_MAX).await.unwrap_or_default();
        LinkError::Http { status: status.as_u16(), body: shown(&body) }
    }
}

/// Whether a response is a stream of events.
pub(super) fn is_stream(response: &ServerResponse) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    kind.to_ascii_lowercase().starts_with(b"text/event-stream")
}

/// Reads a body to its end, or to the bound.
async fn read_body(mut response: ServerResponse, bytes_max: usize) -> Result<Vec<u8>, LinkError> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await? {
        if body.len() + bytes.len() > bytes_max {
            return Err(LinkError::TooLong { bytes_max });
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

/// The beginning of a body, as an error shows it.
pub(super) fn shown(body: &[u8]) -> String {
    let most = &body[..body.len().min(4 * REFUSAL_SHOWN_CHARS)];
    let text = infold_core::strip_controls(&String::from_utf8_lossy(most));
    text.trim().chars().take(REFUSAL_SHOWN_CHARS).collect()
}
