//! Relays an answer to the client: each piece as it comes, at the pace at which the client takes them.
//!
//! Must hold: an answer that breaks off upstream breaks off here too, so that nobody takes it for whole. One that says
//! neither how long it is nor comes in chunks ends by closing; then what it says has to tell whether it is whole.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body as AxumBody;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use http::response::Parts;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use infold_core::record::AnswerEnd;
use infold_engine::{AnswerListener, Legibility};
use infold_wire::ProviderRefusal;
use tokio::time::{Instant, Sleep, sleep};
use tower::BoxError;

use crate::decode::Decoder;
use crate::ending::EndingWatch;
use crate::headers;

/// An upstream's answer, once its head has arrived.
pub(crate) struct Answered {
    pub(crate) head: Parts,
    pub(crate) body: Incoming,
    /// The part of the body that was read already, still encoded.
    pub(crate) read: Bytes,
    /// The error that ended the reading, if one did.
    pub(crate) broken: Option<BoxError>,
    /// What the provider refused the request for, if it was read and infold can do something about it.
    pub(crate) refused: Option<ProviderRefusal>,
    /// How often the request was sent again before this answer came.
    pub(crate) repeated: u32,
}

impl Answered {
    pub(crate) fn new(answer: http::Response<Incoming>, repeated: u32) -> Self {
        let (head, body) = answer.into_parts();
        Self { head, body, read: Bytes::new(), broken: None, refused: None, repeated }
    }

    /// Whether it comes as a stream of events.
    pub(crate) fn is_stream(&self) -> bool {
        let value = self.head.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        value.is_some_and(|value| value.trim_start().starts_with("text/event-stream"))
    }

    /// Turns it into the client's response, with a body that is relayed as it arrives.
    pub(crate) fn relayed(self, watch: Option<Watch>, silence: Duration) -> Response {
        let Self { head, body, read, broken, refused: _, repeated: _ } = self;
        let patience = Box::pin(sleep(silence));
        let is_ended = body.is_end_stream() && read.is_empty();
        let ending = EndingWatch::of(&head, &body);
        let mut relay = Relay { read, upstream: body, silence, patience, broken, rested: true, watch, ending };
        if is_ended {
            // An answer without a body is never polled.
            relay.end(AnswerEnd::Completed);
        }
        let mut response = Response::new(AxumBody::new(relay));
        *response.status_mut() = head.status;
        *response.headers_mut() = headers::for_client(&head.headers);
        *response.extensions_mut() = head.extensions;
        response
    }
}

pub(crate) fn silence_message(silence: Duration) -> String {
    format!("the upstream has said nothing for {} ms", silence.as_millis())
}

/// Hands the engine a decoded copy of an answer while the answer is relayed.
pub(crate) struct Watch {
    decoder: Decoder,
    listener: AnswerListener,
}

impl Watch {
    pub(crate) fn new(listener: AnswerListener, headers: &HeaderMap) -> Self {
        Self { decoder: Decoder::of(headers), listener }
    }

    /// Whether the answer has an encoding that cannot be read.
    pub(crate) fn is_lost(&self) -> bool {
        self.decoder.is_lost()
    }

    /// Hands on bytes that are about to be relayed.
    pub(crate) fn observe(&mut self, bytes: &[u8]) {
        let decoder = &mut self.decoder;
        self.listener.read_piece(|read| {
            decoder.push(bytes, read);
            if decoder.is_lost() { Legibility::Lost } else { Legibility::Plain }
        });
    }

    /// Reports to the engine that the answer is over.
    pub(crate) fn end(&mut self, how: AnswerEnd) {
        self.listener.end(how);
    }
}

/// The body of an answer on its way to the client.
struct Relay {
    read: Bytes,
    upstream: Incoming,
    silence: Duration,
    patience: Pin<Box<Sleep>>,
    /// An error that the client gets at the next poll, once what came before it has been written.
    broken: Option<BoxError>,
    rested: bool,
    watch: Option<Watch>,
    /// Reads the answer for its end, if only that tells whether it is whole.
    ending: Option<EndingWatch>,
}

impl Relay {
    fn end(&mut self, how: AnswerEnd) {
        if let Some(mut watch) = self.watch.take() {
            watch.end(how);
        }
    }

    /// Passes a frame on after the watch has seen it. If it is the last one, the watch learns that before it goes.
    fn passed(&mut self, frame: Frame<Bytes>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.rested = false;
        if let (Some(bytes), Some(watch)) = (frame.data_ref(), &mut self.watch) {
            watch.observe(bytes);
        }
        if let (Some(bytes), Some(ending)) = (frame.data_ref(), &mut self.ending) {
            ending.observe(bytes);
        }
        if self.upstream.is_end_stream() && self.broken.is_none() {
            self.end(AnswerEnd::Completed);
        }
        Poll::Ready(Some(Ok(frame)))
    }

    /// Waits for one more poll. An error closes the connection at once and loses what is still unwritten; the extra
    /// poll lets the server write what came before the error.
    fn rest(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.rested = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn break_off(&mut self, error: BoxError) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.end(AnswerEnd::Cut);
        Poll::Ready(Some(Err(error)))
    }
}

impl Body for Relay {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if !this.read.is_empty() {
            let read = std::mem::take(&mut this.read);
            return this.passed(Frame::data(read));
        }
        if this.broken.is_some() && !this.rested {
            return this.rest(cx);
        }
        if let Some(error) = this.broken.take() {
            return this.break_off(error);
        }
        let polled = match Pin::new(&mut this.upstream).poll_frame(cx) {
            Poll::Ready(polled) => polled,
            Poll::Pending => {
                this.rested = true;
                ready!(this.patience.as_mut().poll(cx));
                let words = silence_message(this.silence);
                return this.break_off(words.into());
            }
        };
        match polled {
            Some(Ok(frame)) => {
                this.patience.as_mut().reset(Instant::now() + this.silence);
                this.passed(frame)
            }
            Some(Err(error)) if this.rested => this.break_off(error.into()),
            Some(Err(error)) => {
                this.broken = Some(error.into());
                this.rest(cx)
            }
            None if this.ending.take().is_some_and(|ending| !ending.ends_whole()) => {
                this.broken = Some("the upstream closed the connection before its answer was whole".into());
                this.rest(cx)
            }
            None => {
                this.end(AnswerEnd::Completed);
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_empty() && self.broken.is_none() && self.upstream.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        // The upstream's figure does not include what was read already, so then the length is left open.
        if self.read.is_empty() { self.upstream.size_hint() } else { SizeHint::new() }
    }
}
