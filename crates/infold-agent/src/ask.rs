//! Asks a model: the engine prepares the request as it prepares those of the proxy's clients, the answer is read as it
//! comes, and what fails is tried again.

use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use infold_core::record::AnswerEnd;
use infold_core::view::RequestKind;
use infold_core::{Thread, grouped};
use infold_engine::{
    AnswerHead, AnswerListener, Legibility, ModelRequest, OwnThread, Prepared, Purpose, ReadyRequest, SearchedBody,
};
use infold_wire::answer::Delivery;

use crate::ThreadEntry;
use crate::agent::CodingAgent;
use crate::provider::{
    AnswerDecoder, AnswerTranslator, Answered, Delta, Fault, IncomingAnswer, NextAttempt, OutgoingRequest, RetryLimits,
    next_attempt, outgoing_body,
};
use crate::record::SessionRecord;
use crate::stop::Stop;
use crate::watch::AgentEvent;

/// How much is read of an answer that refuses a request.
const REFUSAL_BYTES_MAX: usize = 1 << 20;

/// The longest wait between two attempts, if the provider asks for none.
const WAIT_MS_MAX: u64 = 30_000;

/// A question for a model.
pub(crate) struct ModelAsked<'a> {
    thread: &'a Thread,
    kind: RequestKind,
    body: Bytes,
}

impl<'a> ModelAsked<'a> {
    /// A turn of a thread.
    pub(crate) fn turn(thread: &'a Thread, body: Bytes) -> Self {
        Self { thread, kind: RequestKind::Turn, body }
    }

    /// A question beside a thread, from whose answer it does not go on.
    pub(crate) fn aside(thread: &'a Thread, body: Bytes) -> Self {
        Self { thread, kind: RequestKind::Side, body }
    }
}

/// What came of a question.
pub(crate) enum Outcome {
    /// The model answered.
    Answered(Answered),
    /// The request does not fit the model's window.
    TooLong { why: String },
    /// The provider does not take the reasoning in the request.
    ReasoningRefused,
    /// The provider does not take the images in the request.
    ImagesRefused { why: String },
}

impl CodingAgent {
    /// Asks a model, as often as it takes and the limits allow.
    pub(crate) async fn ask_model(&self, asked: ModelAsked<'_>) -> Result<Outcome, Stop> {
        let limits = &self.setup.limits;
        let retry = RetryLimits {
            attempts_max: limits.attempts_max,
            first_wait_ms: limits.first_wait_ms,
            wait_ms_max: WAIT_MS_MAX,
            retry_after_ms_max: limits.retry_after_max_ms,
            key_variable: &self.setup.model.key_variable,
        };
        let mut attempt = 1;
        loop {
            let fault = match self.ask_once(&asked).await? {
                Ok(answered) => return Ok(Outcome::Answered(answered)),
                Err(fault) => fault,
            };
            match next_attempt(attempt, &fault, &retry, jitter_permille()) {
                NextAttempt::Retry { after_ms } => {
                    self.tell(AgentEvent::Retrying {
                        thread: asked.thread.clone(),
                        message: format!("{}; trying again in {} s", words(&fault), after_ms.div_ceil(1_000)),
                    });
                    self.pause(Duration::from_millis(after_ms)).await?;
                    attempt += 1;
                }
                NextAttempt::TooLong { window_tokens } => {
                    let window = window_tokens.map(|tokens| format!(" of {} tokens", grouped(tokens)));
                    let why = format!("the request does not fit the model's window{}", window.unwrap_or_default());
                    return Ok(Outcome::TooLong { why });
                }
                NextAttempt::WithoutReasoning => return Ok(Outcome::ReasoningRefused),
                NextAttempt::WithoutImages { why } if self.shows_images(&asked) => {
                    return Ok(Outcome::ImagesRefused { why });
                }
                NextAttempt::WithoutImages { why } => {
                    let advice = "see what the provider says; the request is refused as it is".to_owned();
                    return Err(Stop::Model { why, advice });
                }
                NextAttempt::GiveUp { why, advice } => return Err(Stop::Model { why, advice }),
            }
        }
    }

    /// Whether a question has images in it.
    fn shows_images(&self, asked: &ModelAsked<'_>) -> bool {
        let has_images = |entry: &ThreadEntry| !entry.images().is_empty();
        asked.kind == RequestKind::Turn
            && self.with_thread(asked.thread, |thread| thread.entries.iter().any(has_images))
    }

    /// Waits, unless the run is ended meanwhile.
    async fn pause(&self, wait: Duration) -> Result<(), Stop> {
        let cancelled = self.cancelled();
        tokio::select! {
            () = tokio::time::sleep(wait) => Ok(()),
            () = cancelled.cancelled() => Err(Stop::Cancelled),
        }
    }

    async fn ask_once(&self, asked: &ModelAsked<'_>) -> Result<Result<Answered, Fault>, Stop> {
        let request = ModelRequest {
            who: self.setup.who.clone(),
            api: self.setup.model.api.engine_api(),
            headers: Vec::new(),
            body: asked.body.clone(),
            arrived: Instant::now(),
            purpose: Purpose::Send,
            searched: SearchedBody::default(),
            thread: Some(OwnThread { kind: asked.kind, ..self.own(asked.thread) }),
        };
        let withheld = |why: infold_engine::Withheld| Stop::Fault(format!("the request was not sent: {why}"));
        let prepared = match self.setup.engine.prepare(&request).await.map_err(withheld)? {
            ReadyRequest::Turn(prepared) => *prepared,
            ReadyRequest::Over(ended) => return Err(Stop::of_ended(ended)),
            ReadyRequest::Searched(_) => return Err(Stop::Fault("the request could not be read".to_owned())),
        };
        let cancelled = self.cancelled();
        let so_far = Mutex::new(String::new());
        tokio::select! {
            outcome = self.send(prepared, asked.thread, &so_far) => outcome,
            () = cancelled.cancelled() => {
                let said = take(&mut *lock(&so_far));
                self.keep_interrupted(asked, said).await?;
                Err(Stop::Cancelled)
            }
            over = self.branch_ended(asked.thread) => Err(Stop::BranchOver(Box::new(over))),
        }
    }

    /// Keeps what a model had said before it was interrupted, so that it knows in its next request.
    async fn keep_interrupted(&self, asked: &ModelAsked<'_>, said: String) -> Result<(), Stop> {
        if asked.kind != RequestKind::Turn || said.trim().is_empty() {
            return Ok(());
        }
        self.record(vec![SessionRecord::Interrupted { thread: asked.thread.clone(), said }]).await
    }

    /// Sends a prepared request, and reads its answer. What the model says is in `so_far` as soon as it is said.
    async fn send(
        &self,
        mut prepared: Prepared<'_>,
        thread: &Thread,
        so_far: &Mutex<String>,
    ) -> Result<Result<Answered, Fault>, Stop> {
        let model = &self.setup.model;
        let window_tokens = self.setup.limits.context_budget_tokens;
        let body = outgoing_body(model.api, prepared.body.clone(), window_tokens);
        let body = body.map_err(|error| Stop::Fault(error.to_string()))?;
        let sending = (model.send)(OutgoingRequest { api: model.api, body });
        // While the provider is at work there is time to count what it was sent.
        let (sent, _) = tokio::join!(sending, self.setup.engine.look_at(&mut prepared));
        let incoming = match sent {
            Ok(incoming) => incoming,
            Err(fault) => {
                let head = AnswerHead { status: None, delivery: Delivery::Whole, repeated: 0 };
                self.setup.engine.listen(prepared, head).end(AnswerEnd::Failed);
                return Ok(Err(fault.into()));
            }
        };
        let status = incoming.status;
        let delivery = if status == 200 { Delivery::Streamed } else { Delivery::Whole };
        let listener = self.setup.engine.listen(prepared, AnswerHead { status: Some(status), delivery, repeated: 0 });
        match status {
            200 => Ok(self.read_answer(incoming, listener, (thread, so_far)).await),
            _ => Ok(Err(read_refusal(incoming, listener).await)),
        }
    }

    async fn read_answer(
        &self,
        mut incoming: IncomingAnswer,
        mut listener: AnswerListener,
        (thread, so_far): (&Thread, &Mutex<String>),
    ) -> Result<Answered, Fault> {
        let model = &self.setup.model;
        let answer_id = format!("{}", self.session().records);
        let mut translator = AnswerTranslator::new(model.api, &answer_id);
        let mut decoder = AnswerDecoder::new(model.api, &model.model);
        let mut tell = |delta: Delta| {
            if let Delta::Text(text) = delta {
                lock(so_far).push_str(&text);
                self.tell(AgentEvent::Text { thread: thread.clone(), text });
            }
        };
        let mut take = |bytes: Bytes, decoder: &mut AnswerDecoder| {
            listener.read_piece(|read| {
                read(&bytes);
                Legibility::Plain
            });
            decoder.push(&bytes, &mut tell);
        };
        let mut broken = None;
        while let Some(piece) = incoming.pieces.next().await {
            match piece {
                Ok(piece) => take(translator.push(piece), &mut decoder),
                Err(fault) => {
                    broken = Some(fault);
                    break;
                }
            }
        }
        take(translator.finish(), &mut decoder);
        let answered = decoder.finish();
        listener.end(if answered.is_ok() { AnswerEnd::Completed } else { AnswerEnd::Cut });
        match (answered, broken) {
            // An answer that is over is one, whatever becomes of its connection.
            (Ok(answered), _) => Ok(answered),
            (Err(_), Some(fault)) => Err(fault.into()),
            (Err(fault), None) => Err(fault.into()),
        }
    }
}

fn lock(so_far: &Mutex<String>) -> MutexGuard<'_, String> {
    so_far.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads why a provider refuses a request.
async fn read_refusal(mut incoming: IncomingAnswer, mut listener: AnswerListener) -> Fault {
    let mut body = BytesMut::new();
    while let Some(Ok(piece)) = incoming.pieces.next().await {
        listener.read_piece(|read| {
            read(&piece);
            Legibility::Plain
        });
        body.extend_from_slice(&piece);
        if body.len() > REFUSAL_BYTES_MAX {
            break;
        }
    }
    listener.end(AnswerEnd::Failed);
    Fault::of_status(incoming.status, incoming.retry_after_ms, &body)
}

/// A fault in words.
fn words(fault: &Fault) -> String {
    match fault {
        Fault::Sending(fault) => fault.to_string(),
        Fault::Answer(fault) => fault.to_string(),
        Fault::Status { status, .. } => format!("the provider answered with status {status}"),
    }
}

/// Spreads the waits of several agents. It is no secret, so the clock is chance enough.
fn jitter_permille() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(500, |since| u64::from(since.subsec_micros() % 1_000))
}
