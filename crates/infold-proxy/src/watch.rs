//! Reads a copy of an answer while it is relayed: which calls the model makes, what it cost, how it ended.
//!
//! Must hold: a call of one of our tools is known to the engine before the client can make it, and so are the
//! model's last words before the client can go on from them; an answer is counted before the session's next request
//! is planned; nothing here holds up or changes what is relayed; what is to be recorded is recorded however the
//! answer ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use infold_core::record::{AnswerEnd, Timing, Usage, WarningKind};
use infold_core::view::{Edit, LastAnswer, RequestKind, Verb, runs_scripts};
use infold_core::{Principal, SessionId, Thread};
use infold_engine::{Engine, Heard, IssuedCall, MadeOf, RequestSeen, arguments_hash};
use infold_wire::answer::{Answer, AnswerCall, AnswerReader, Delivery};
use infold_wire::request::Api;
use infold_wire::unwrapped;
use serde::de::IgnoredAny;

use crate::Proxy;
use crate::decode::Decoder;
use crate::refusal::Refusal;
use crate::relay::Answered;
use crate::sessions::{Place, Slot};

/// What is known of a request before its answer.
pub(crate) struct Ticket {
    pub(crate) who: Principal,
    pub(crate) session: SessionId,
    pub(crate) agent: Option<String>,
    pub(crate) thread: Thread,
    pub(crate) api: &'static str,
    pub(crate) model: String,
    /// The window that its client asked for, if it asked.
    pub(crate) window_tokens: Option<u64>,
    pub(crate) kind: RequestKind,
    pub(crate) client: Option<String>,
    pub(crate) made_of: MadeOf,
    pub(crate) edits: Vec<Edit>,
    pub(crate) warnings: Vec<(WarningKind, String)>,
    pub(crate) arrived: Instant,
    pub(crate) added: Duration,
    /// The session's place in memory, and what tells this request from others in it.
    pub(crate) slot: Arc<Slot>,
    pub(crate) digest: Option<[u8; 32]>,
}

/// A request whose answer is over.
pub(crate) struct Finished {
    ticket: Ticket,
    usage: Option<Usage>,
    /// What the model was heard to say, if the provider has not reported all of it.
    heard: Option<Heard>,
    status: Option<u16>,
    end: AnswerEnd,
    first_byte: Option<Duration>,
    total: Duration,
}

/// Reads the copy.
pub(crate) struct Watch {
    proxy: Arc<Proxy>,
    /// Gone once the answer is over.
    ticket: Option<Ticket>,
    status: StatusCode,
    decoder: Decoder,
    reader: AnswerReader,
    /// Calls of ours that the engine has been told of.
    told: usize,
    /// Whether the engine has been told the model's last words.
    has_spoken: bool,
    first_byte: Option<Duration>,
}

impl Watch {
    pub(crate) fn new(proxy: Arc<Proxy>, ticket: Ticket, api: Api, answered: &Answered) -> Self {
        let decoder = Decoder::of(&answered.head.headers);
        if decoder.is_lost() {
            proxy.metrics.unmetered();
        }
        let delivery = if answered.is_stream() { Delivery::Streamed } else { Delivery::Whole };
        let reader = AnswerReader::new(api, delivery);
        Self {
            proxy,
            ticket: Some(ticket),
            status: answered.head.status,
            decoder,
            reader,
            told: 0,
            has_spoken: false,
            first_byte: None,
        }
    }

    /// Takes bytes that are about to be relayed.
    pub(crate) fn saw(&mut self, bytes: &[u8]) {
        let Some(ticket) = &self.ticket else { return };
        self.first_byte.get_or_insert_with(|| ticket.arrived.elapsed());
        let reader = &mut self.reader;
        self.decoder.push(bytes, |decoded| reader.push(decoded));
        let ready = complete(self.reader.calls());
        if ready.len() > self.told {
            self.told = ready.len();
            tell(&self.proxy.engine, ticket, ready);
            tell_words(&self.proxy.engine, ticket, self.reader.words());
        }
        // Clients go on as soon as an answer says that it is over, whatever comes behind that.
        if self.reader.is_over() && !self.has_spoken {
            self.has_spoken = true;
            tell_words(&self.proxy.engine, ticket, self.reader.words());
        }
        // The next request may come before the end of this answer's body does.
        if self.reader.is_settled() {
            self.ended(AnswerEnd::Completed);
        }
    }

    /// The answer is over.
    pub(crate) fn ended(&mut self, how: AnswerEnd) {
        let Some(ticket) = self.ticket.take() else { return };
        let reader = std::mem::replace(&mut self.reader, AnswerReader::new(Api::Chat, Delivery::Whole));
        let mut answer = reader.finish();
        // Some servers fill in nothing where they do not count.
        answer.usage = answer.usage.filter(|usage| usage.prompt_tokens() > 0 || usage.output_tokens > 0);
        let ours: Vec<&AnswerCall> = answer.calls.iter().filter(|call| is_ours(call)).collect();
        if ours.len() > self.told {
            tell(&self.proxy.engine, &ticket, ours);
        }
        if !self.has_spoken {
            tell_words(&self.proxy.engine, &ticket, &answer.words);
        }
        let end = end_of(how, self.status, &answer, self.decoder.is_lost());
        if ticket.kind == RequestKind::Turn {
            ticket.slot.answered(last_answer(end, &answer));
        }
        let (status, first_byte, total) = (Some(self.status.as_u16()), self.first_byte, ticket.arrived.elapsed());
        let heard = unreported(self.status, &answer).filter(|_| !self.decoder.is_lost());
        let usage = answer.usage.map(usage);
        Finished { ticket, usage, heard, status, end, first_byte, total }.record(&self.proxy);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Nobody said that it was over, so the client has gone.
        self.ended(AnswerEnd::Aborted);
    }
}

/// Whether it is a call of one of our tools, or of a script that may make one.
fn is_ours(call: &AnswerCall) -> bool {
    Verb::of(&call.tool).is_some() || runs_scripts(&call.tool) || unwrapped(&call.tool, &call.arguments).is_some()
}

/// Calls of our tools that have all their arguments.
fn complete(calls: &[AnswerCall]) -> Vec<&AnswerCall> {
    // Of a script only the id counts.
    let whole =
        |call: &&AnswerCall| runs_scripts(&call.tool) || serde_json::from_str::<IgnoredAny>(&call.arguments).is_ok();
    calls.iter().filter(|call| is_ours(call)).take_while(whole).collect()
}

/// All of an answer's calls at once, because each telling stands for the whole answer.
fn tell(engine: &Engine, ticket: &Ticket, calls: Vec<&AnswerCall>) {
    let issued = calls.into_iter().map(|call| {
        let inside = unwrapped(&call.tool, &call.arguments);
        let (tool, arguments) = inside.unwrap_or_else(|| (call.tool.clone(), call.arguments.clone()));
        IssuedCall { id: call.id.clone(), tool, arguments_hash: arguments_hash(&arguments) }
    });
    engine.calls_issued(&ticket.who, &ticket.session, &ticket.thread, issued.collect());
}

/// What the model has said. Asides are answered in the main thread, whatever is at work meanwhile.
fn tell_words(engine: &Engine, ticket: &Ticket, words: &str) {
    if ticket.kind == RequestKind::Turn {
        engine.words_said(&ticket.who, &ticket.session, &ticket.thread, words);
    }
}

fn end_of(how: AnswerEnd, status: StatusCode, answer: &Answer, is_unread: bool) -> AnswerEnd {
    match how {
        AnswerEnd::Completed if !status.is_success() || answer.error.is_some() => AnswerEnd::Failed,
        // The connection ended in order, and the answer says that it did not.
        AnswerEnd::Completed if !answer.is_complete && !is_unread => AnswerEnd::Cut,
        // Some clients hang up once the answer says that it is over.
        AnswerEnd::Aborted if answer.is_complete => AnswerEnd::Completed,
        other => other,
    }
}

/// How an answer ended, as far as it matters to whoever speaks next: where it broke off, that may be the client, which
/// wants the model to go on. A client that hung up did so because a person wanted it.
fn last_answer(end: AnswerEnd, answer: &Answer) -> LastAnswer {
    let is_cut = answer.stop.as_deref().is_some_and(|stop| STOPPED.contains(&stop));
    match end {
        AnswerEnd::Completed if is_cut => LastAnswer::BrokeOff,
        AnswerEnd::Completed | AnswerEnd::Aborted | AnswerEnd::Refused => LastAnswer::Ended,
        AnswerEnd::Cut | AnswerEnd::Failed => LastAnswer::BrokeOff,
    }
}

/// What providers say of an answer that was stopped before the model was done.
const STOPPED: [&str; 6] =
    ["max_tokens", "pause_turn", "model_context_window_exceeded", "length", "max_output_tokens", "incomplete"];

/// What the model was heard to say in an answer that nobody, or nobody to its end, has counted. One that failed was
/// none.
fn unreported(status: StatusCode, answer: &Answer) -> Option<Heard> {
    let has_come = answer.is_complete || answer.said_bytes > 0 || !answer.calls.is_empty();
    let is_reported = answer.usage.is_some() && answer.is_complete;
    let is_heard = status.is_success() && answer.error.is_none() && has_come && !is_reported;
    let calls = answer.calls.iter().map(|call| (call.tool.clone(), call.arguments.clone()));
    is_heard.then(|| Heard { said: answer.said.clone(), said_bytes: answer.said_bytes, calls: calls.collect() })
}

fn usage(usage: infold_wire::answer::Usage) -> Usage {
    Usage {
        fresh_tokens: usage.fresh_tokens,
        cache_read_tokens: usage.cache_read_tokens,
        cache_write_tokens: usage.cache_write_tokens,
        output_tokens: usage.output_tokens,
    }
}

impl Ticket {
    /// A request whose client has gone before it was answered.
    pub(crate) fn given_up(self) -> Finished {
        self.without_answer(AnswerEnd::Aborted)
    }

    /// A request that its provider never answered.
    pub(crate) fn refused(self, refusal: &Refusal) -> Finished {
        tracing::debug!(code = refusal.code, "a request was not answered");
        self.without_answer(AnswerEnd::Failed)
    }

    /// Counts an answer in its thread.
    async fn meter(&self, engine: &Engine, usage: Option<Usage>, estimated: Option<Usage>) {
        if self.kind != RequestKind::Turn || (usage.is_none() && estimated.is_none()) {
            return;
        }
        let used = usage.unwrap_or_default().plus(&estimated.unwrap_or_default());
        let uncounted = match self.digest {
            Some(digest) => self.slot.uncounted(digest, used.output_tokens),
            None => Some(used.output_tokens),
        };
        if let Some(output_tokens) = uncounted
            && let Err(error) =
                engine.meter(&self.who, &self.session, &self.thread, &Usage { output_tokens, ..used }).await
        {
            tracing::warn!(%error, "an answer could not be counted");
        }
    }

    fn without_answer(self, end: AnswerEnd) -> Finished {
        let total = self.arrived.elapsed();
        Finished { ticket: self, usage: None, heard: None, status: None, end, first_byte: None, total }
    }
}

impl Finished {
    /// Has it metered and recorded, while the client goes on.
    pub(crate) fn record(self, proxy: &Arc<Proxy>) {
        let engine = proxy.engine.clone();
        // The session's next request is planned after this one is counted, because it may have used up a budget. So
        // the place in line is taken now, before the client has all of the answer.
        let place = self.ticket.slot.line_up();
        // Whoever serves waits for these tasks at the end.
        drop(proxy.settings.tasks.spawn(async move { self.recorded(&engine, place).await }));
    }

    async fn recorded(self, engine: &Engine, place: Place) {
        let Self { ticket, usage, heard, status, end, first_byte, total } = self;
        let state = place.reached().await;
        let estimated = heard.and_then(|heard| engine.estimate(&ticket.model, &ticket.made_of, &heard, usage.as_ref()));
        ticket.meter(engine, usage, estimated).await;
        // Counting has stored them, where it was counted.
        if let Err(error) = engine.keep_words(&ticket.who, &ticket.session).await {
            tracing::warn!(%error, "an agent's last words could not be stored");
        }
        drop(state);
        let timing = Timing {
            added_us: u64::try_from(ticket.added.as_micros()).unwrap_or(u64::MAX),
            first_byte_ms: first_byte.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
            total_ms: u64::try_from(total.as_millis()).unwrap_or(u64::MAX),
        };
        let seen = RequestSeen {
            session: ticket.session,
            agent: ticket.agent,
            thread: ticket.thread,
            api: ticket.api,
            model: ticket.model,
            window_tokens: ticket.window_tokens,
            kind: ticket.kind,
            client: ticket.client,
            made_of: ticket.made_of,
            edits: ticket.edits,
            usage,
            estimated,
            timing,
            status,
            end,
            warnings: ticket.warnings,
        };
        engine.record_request(&ticket.who, seen).await;
    }
}
