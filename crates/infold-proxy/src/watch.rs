//! Reads a copy of an answer while it is relayed: which calls the model makes, what it cost, how it ended.
//!
//! Must hold: a call of one of our tools is known to the engine before the client can make it; nothing here
//! holds up or changes what is relayed; what is to be recorded is recorded however the answer ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use infold_core::record::{AnswerEnd, Timing, Usage, WarningKind};
use infold_core::view::{Edit, RequestKind, Verb};
use infold_core::{Principal, SessionId, Thread};
use infold_engine::{Engine, IssuedCall, MadeOf, RequestSeen, arguments_hash};
use infold_wire::answer::{Answer, AnswerCall, AnswerReader, Delivery};
use infold_wire::request::Api;
use serde::de::IgnoredAny;

use crate::Proxy;
use crate::decode::Decoder;
use crate::refusal::Refusal;
use crate::relay::Answered;
use crate::sessions::Slot;

/// What is known of a request before its answer.
pub(crate) struct Ticket {
    pub(crate) who: Principal,
    pub(crate) session: SessionId,
    pub(crate) agent: Option<String>,
    pub(crate) thread: Thread,
    pub(crate) api: &'static str,
    pub(crate) model: String,
    pub(crate) kind: RequestKind,
    pub(crate) client: Option<String>,
    pub(crate) made_of: MadeOf,
    pub(crate) edits: Vec<Edit>,
    pub(crate) warnings: Vec<(WarningKind, String)>,
    pub(crate) arrived: Instant,
    pub(crate) added: Duration,
    /// The session's place in memory, and what tells this request from others in it.
    pub(crate) slot: Arc<Slot>,
    pub(crate) digest: [u8; 32],
}

/// A request whose answer is over.
pub(crate) struct Finished {
    ticket: Ticket,
    usage: Option<Usage>,
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
    first_byte: Option<Duration>,
}

impl Watch {
    pub(crate) fn new(proxy: Arc<Proxy>, ticket: Ticket, api: Api, answered: &Answered) -> Self {
        let decoder = Decoder::of(&answered.head.headers);
        if decoder.is_lost() {
            proxy.metrics.unmetered();
        }
        let content_type = answered.head.headers.get(http::header::CONTENT_TYPE);
        let is_stream = content_type.and_then(|value| value.to_str().ok());
        let is_stream = is_stream.is_some_and(|value| value.trim_start().starts_with("text/event-stream"));
        let delivery = if is_stream { Delivery::Streamed } else { Delivery::Whole };
        let reader = AnswerReader::new(api, delivery);
        Self { proxy, ticket: Some(ticket), status: answered.head.status, decoder, reader, told: 0, first_byte: None }
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
        }
    }

    /// The answer is over.
    pub(crate) fn ended(&mut self, how: AnswerEnd) {
        let Some(ticket) = self.ticket.take() else { return };
        let reader = std::mem::replace(&mut self.reader, AnswerReader::new(Api::Chat, Delivery::Whole));
        let answer = reader.finish();
        let ours: Vec<&AnswerCall> = answer.calls.iter().filter(|call| is_ours(call)).collect();
        if ours.len() > self.told {
            tell(&self.proxy.engine, &ticket, ours);
        }
        let end = end_of(how, self.status, &answer, self.decoder.is_lost());
        let (status, first_byte, total) = (Some(self.status.as_u16()), self.first_byte, ticket.arrived.elapsed());
        let usage = answer.usage.map(usage);
        Finished { ticket, usage, status, end, first_byte, total }.record(&self.proxy);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Nobody said that it was over, so the client has gone.
        self.ended(AnswerEnd::Aborted);
    }
}

fn is_ours(call: &AnswerCall) -> bool {
    Verb::of(&call.tool).is_some()
}

/// Calls of our tools that have all their arguments.
fn complete(calls: &[AnswerCall]) -> Vec<&AnswerCall> {
    let whole = |call: &&AnswerCall| serde_json::from_str::<IgnoredAny>(&call.arguments).is_ok();
    calls.iter().filter(|call| is_ours(call)).take_while(whole).collect()
}

/// All of an answer's calls at once, because each telling stands for the whole answer.
fn tell(engine: &Engine, ticket: &Ticket, calls: Vec<&AnswerCall>) {
    let issued = calls.into_iter().map(|call| IssuedCall {
        id: call.id.clone(),
        tool: call.tool.clone(),
        arguments_hash: arguments_hash(&call.arguments),
    });
    engine.calls_issued(&ticket.who, &ticket.session, &ticket.thread, issued.collect());
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

fn usage(usage: infold_wire::answer::Usage) -> Usage {
    Usage {
        fresh_tokens: usage.fresh_tokens,
        cache_read_tokens: usage.cache_read_tokens,
        cache_write_tokens: usage.cache_write_tokens,
        output_tokens: usage.output_tokens,
    }
}

impl Ticket {
    /// A request that its provider never answered.
    pub(crate) fn refused(self, refusal: &Refusal) -> Finished {
        let total = self.arrived.elapsed();
        tracing::debug!(code = refusal.code, "a request was not answered");
        Finished { ticket: self, usage: None, status: None, end: AnswerEnd::Failed, first_byte: None, total }
    }
}

impl Finished {
    /// Has it metered and recorded, while the client goes on.
    pub(crate) fn record(self, proxy: &Arc<Proxy>) {
        let engine = proxy.engine.clone();
        // Whoever serves waits for these tasks at the end.
        drop(proxy.settings.tasks.spawn(async move { self.recorded(&engine).await }));
    }

    async fn recorded(self, engine: &Engine) {
        let Self { ticket, usage, status, end, first_byte, total } = self;
        // The session's next request is planned after this one is counted, because it may have used up a budget.
        let state = ticket.slot.state.lock().await;
        if let (Some(usage), RequestKind::Turn) = (&usage, ticket.kind)
            && ticket.slot.counts(ticket.digest)
            && let Err(error) = engine.meter(&ticket.who, &ticket.session, &ticket.thread, usage).await
        {
            tracing::warn!(%error, "an answer could not be counted");
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
            kind: ticket.kind,
            client: ticket.client,
            made_of: ticket.made_of,
            edits: ticket.edits,
            usage,
            timing,
            status,
            end,
            warnings: ticket.warnings,
        };
        engine.record_request(&ticket.who, seen).await;
    }
}
