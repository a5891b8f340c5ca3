//! A connection over a pair of streams, one message a line: many requests at once, each with an id of our own.
//!
//! One task reads, one writes, and neither waits for the other. When the output of the server ends, every request that
//! still waits fails with the reason.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::error::LinkError;
use super::lines::{ChildLine, ChildLines};
use super::message::{self, Incoming, OwnRequest};
use super::options::one_more;
use super::pace::Pace;
use super::queue::{OutQueue, write_out};
use super::router::{Router, Source};

type Answers = HashMap<u64, oneshot::Sender<Result<Value, LinkError>>>;

/// The side of a stream connection that makes requests.
#[derive(Debug, Clone)]
pub(super) struct StreamLeg {
    queue: OutQueue,
    waiting: Arc<Waiting>,
    /// Ends the server's input.
    pub(super) closing: CancellationToken,
}

/// Requests that wait for their answers.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<WaitingState>);

#[derive(Debug, Default)]
struct WaitingState {
    answers: Answers,
    /// Why no request can be made any more.
    over: Option<LinkError>,
}

impl Waiting {
    fn state(&self) -> MutexGuard<'_, WaitingState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, id: u64) -> Result<oneshot::Receiver<Result<Value, LinkError>>, LinkError> {
        let mut state = self.state();
        if let Some(reason) = &state.over {
            return Err(reason.clone());
        }
        let (sender, receiver) = oneshot::channel();
        state.answers.insert(id, sender);
        Ok(receiver)
    }

    /// Answers a request. Returns whether somebody waited for it.
    fn answer(&self, id: u64, outcome: Result<Value, LinkError>) -> bool {
        let sender = self.state().answers.remove(&id);
        sender.is_some_and(|sender| sender.send(outcome).is_ok())
    }

    /// Fails every request, now and later. The first reason stays.
    pub(super) fn end(&self, reason: LinkError) {
        let (reason, answers) = {
            let mut state = self.state();
            let reason = state.over.get_or_insert(reason).clone();
            (reason, std::mem::take(&mut state.answers))
        };
        for sender in answers.into_values() {
            let _ = sender.send(Err(reason.clone()));
        }
    }
}

impl StreamLeg {
    /// Begins to write to `output`. The returned reader has to be run for answers to come.
    pub(super) fn open<R, W>((input, output): (R, W), parts: StreamParts) -> (Self, StreamReader<R>)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (queue, lines) = OutQueue::new(parts.message_bytes_max);
        let leg = Self { queue, waiting: Arc::default(), closing: CancellationToken::new() };
        parts.tasks.spawn(write_out(lines, output, leg.closing.clone()));
        let lines = ChildLines::new(input, parts.message_bytes_max);
        let reader = StreamReader { lines, pace: Pace::new(), leg: leg.clone(), parts };
        (leg, reader)
    }

    /// Sends a request and waits for its answer. If this is dropped before, the server gets to know.
    pub(super) async fn request(&self, request: &OwnRequest<'_>) -> Result<Value, LinkError> {
        let id = request.id();
        let answer = self.waiting.enter(id)?;
        let mut pending = Pending { leg: self, id, is_sent: false };
        self.queue.push(request).await?;
        pending.is_sent = true;
        let outcome = answer.await.unwrap_or(Err(LinkError::Closed));
        pending.is_sent = false;
        outcome
    }

    /// Sends a notification.
    pub(super) async fn tell(&self, message: &Value) -> Result<(), LinkError> {
        self.queue.push(message).await
    }

    /// Ends the server's input, and every request.
    pub(super) fn close(&self) {
        self.waiting.end(LinkError::Closed);
        self.closing.cancel();
    }

    pub(super) fn waiting(&self) -> Arc<Waiting> {
        self.waiting.clone()
    }
}

/// A request that has not been answered.
struct Pending<'a> {
    leg: &'a StreamLeg,
    id: u64,
    is_sent: bool,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.leg.waiting.state().answers.remove(&self.id);
        if self.is_sent {
            self.leg.queue.try_push(&message::cancelled(self.id));
        }
    }
}

/// What the two sides of a stream connection share.
#[derive(Debug, Clone)]
pub(super) struct StreamParts {
    pub(super) router: Arc<Router>,
    pub(super) tasks: TaskTracker,
    pub(super) message_bytes_max: usize,
}

/// The side that reads.
pub(super) struct StreamReader<R> {
    lines: ChildLines<R>,
    pace: Pace,
    leg: StreamLeg,
    parts: StreamParts,
}

impl<R: AsyncRead + Unpin> StreamReader<R> {
    /// Reads until the server's output ends or breaks.
    pub(super) async fn run(mut self) {
        while let Ok(Some(line)) = self.lines.next(&mut self.pace).await {
            match line {
                ChildLine::Whole(line) => self.take(line).await,
                ChildLine::TooLong { head, tail } => self.lose(&head, &tail),
            }
        }
    }

    async fn take(&mut self, line: Vec<u8>) {
        let bytes = line.len();
        let ends = message::ENDS_BYTES.min(bytes);
        let (head, tail) = (line[..ends].to_vec(), line[bytes - ends..].to_vec());
        let router = self.parts.router.clone();
        match message::read(line).await {
            Some(Incoming::Answer { id, outcome }) => {
                let known = id.is_some_and(|id| self.leg.waiting.answer(id, outcome.map_err(LinkError::Rpc)));
                if known {
                    return;
                }
                one_more(&router.counters.unknown_ids);
            }
            Some(Incoming::Notice { method, params }) => router.notice(&method, params, Source::Connection),
            Some(Incoming::Request { id, method, params }) => {
                let queue = self.leg.queue.clone();
                self.parts.tasks.spawn(async move {
                    let outcome = router.asked(&method, params, Source::Connection).await;
                    queue.try_push(&message::answer(&id, outcome));
                });
            }
            None => {
                one_more(&router.counters.unreadable);
                if let Some(id) = message::id_of_lost(&head, &tail) {
                    let reason = "its answer is not JSON, is nested too deeply, or has too many parts".to_owned();
                    self.leg.waiting.answer(id, Err(LinkError::NotMcp(reason)));
                }
            }
        }
        self.pace.message(bytes).await;
    }

    /// Fails the request whose answer was too long, if it can be found out which one that was.
    fn lose(&self, head: &[u8], tail: &[u8]) {
        one_more(&self.parts.router.counters.too_long);
        let error = || LinkError::TooLong { bytes_max: self.parts.message_bytes_max };
        let found = message::id_of_lost(head, tail).is_some_and(|id| self.leg.waiting.answer(id, Err(error())));
        if !found && let Some(id) = self.parts.router.only() {
            self.leg.waiting.answer(id, Err(error()));
        }
    }
}
