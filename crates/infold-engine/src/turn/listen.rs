//! Reads a copy of an answer while it passes: which calls the model makes, what it cost, how it ended.
//!
//! Must hold: the engine knows of a call of infold's tools before the client can make it, and of the model's last words
//! before the client can go on from them; an answer is counted before the session's next request is planned; nothing
//! here delays or changes what is passed on; the request is recorded however its answer ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use infold_core::Principal;
use infold_core::record::{AnswerEnd, Timing, Usage, WarningKind};
use infold_core::view::{LastAnswer, RequestKind, runs_scripts};
use infold_wire::answer::{Answer, AnswerCall, AnswerReader, Delivery};
use infold_wire::request::Api;
use infold_wire::unwrapped;
use serde::de::IgnoredAny;

use super::Prepared;
use super::cache::{QueuePosition, SessionSlot};
use super::issued::{IssuedCall, arguments_hash};
use crate::{Engine, RequestSeen, Spoken};

/// The header in which clients of Anthropic's API ask for unusual features.
const BETAS: &str = "anthropic-beta";
/// How the name of the feature begins that asks for the largest window.
const LONG_WINDOW: &str = "context-1m";

/// What is known when the head of an answer has arrived.
#[derive(Debug, Clone, Copy)]
pub struct AnswerHead {
    /// The HTTP status; `None` if no answer came.
    pub status: Option<u16>,
    /// Whether the body comes as a stream or whole.
    pub delivery: Delivery,
    /// How often the request was sent again before the answer came.
    pub repeated: u32,
}

/// Whether an answer can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Legibility {
    /// Everything of it could be read so far.
    Plain,
    /// Its encoding is not known, or its data is broken.
    Lost,
}

/// A request that is not recorded yet.
struct PendingRequest {
    who: Principal,
    /// What will be recorded, with what is known about the answer so far.
    seen: RequestSeen,
    arrived: Instant,
    /// The session's slot in memory, and the digest that distinguishes this request from others of the session.
    slot: Arc<SessionSlot>,
    digest: Option<[u8; 32]>,
}

/// Reads an answer as it passes. If it is dropped before its end, the client has given the request up.
pub struct AnswerListener {
    engine: Engine,
    /// `None` once the answer is over.
    pending: Option<PendingRequest>,
    legibility: Legibility,
    reader: AnswerReader,
    /// How many calls of infold's tools have been reported to the engine.
    reported_calls: usize,
    /// Whether the model's last words have been reported to the engine.
    has_spoken: bool,
}

impl Engine {
    /// Starts to read the answer to a request.
    pub fn listen(&self, mut prepared: Prepared<'_>, head: AnswerHead) -> AnswerListener {
        prepared.is_underway = false;
        let is_success = head.status.is_some_and(is_success);
        if is_success && prepared.refused.is_empty() {
            prepared.slot.fits();
        }
        let mut pending = prepared.pending();
        pending.seen.status = head.status;
        if head.repeated > 0 {
            let words = format!("it was sent {} times until an answer came", head.repeated + 1);
            pending.seen.warnings.push((WarningKind::Retried, words));
        }
        AnswerListener {
            engine: self.clone(),
            pending: Some(pending),
            legibility: Legibility::Plain,
            reader: AnswerReader::new(prepared.turn.request.api(), head.delivery),
            reported_calls: 0,
            has_spoken: false,
        }
    }
}

impl AnswerListener {
    /// Takes a piece of the answer that is about to be passed on. `read` hands over the decoded bytes.
    pub fn read_piece(&mut self, read: impl FnOnce(&mut dyn FnMut(&[u8])) -> Legibility) {
        let Some(pending) = &mut self.pending else { return };
        pending.seen.timing.first_byte_ms.get_or_insert_with(|| millis(pending.arrived.elapsed()));
        let reader = &mut self.reader;
        self.legibility = read(&mut |bytes| reader.push(bytes));
        let ready = complete(&self.engine, self.reader.calls());
        if ready.len() > self.reported_calls {
            self.reported_calls = ready.len();
            report_calls(&self.engine, pending, ready);
            report_words(&self.engine, pending, self.reader.words());
        }
        // Clients go on as soon as an answer says that it is over, whatever comes after that.
        if self.reader.is_over() && !self.has_spoken {
            self.has_spoken = true;
            report_words(&self.engine, pending, self.reader.words());
        }
        // The next request may come before the end of this answer's body.
        if self.reader.is_final() {
            self.end(AnswerEnd::Completed);
        }
    }

    /// Counts and records the answer, which is over.
    pub fn end(&mut self, how: AnswerEnd) {
        let Some(mut pending) = self.pending.take() else { return };
        let Some(status) = pending.seen.status else { return pending.record(&self.engine, how, None) };
        let reader = std::mem::replace(&mut self.reader, AnswerReader::new(Api::Chat, Delivery::Whole));
        let mut answer = reader.finish();
        // Some servers report zero tokens if they do not count.
        answer.usage = answer.usage.filter(|usage| usage.prompt_tokens() > 0 || usage.output_tokens > 0);
        let kept: Vec<&AnswerCall> = answer.calls.iter().filter(|call| is_kept(&self.engine, call)).collect();
        if kept.len() > self.reported_calls {
            report_calls(&self.engine, &pending, kept);
        }
        if !self.has_spoken {
            report_words(&self.engine, &pending, &answer.words);
        }
        let end = end_of(how, status, &answer, self.legibility);
        if pending.seen.kind == RequestKind::Turn {
            pending.slot.answered(last_answer(end, &answer));
        }
        let said = unreported(status, &answer).filter(|_| self.legibility == Legibility::Plain);
        pending.seen.usage = answer.usage;
        pending.record(&self.engine, end, said);
    }
}

impl Drop for AnswerListener {
    fn drop(&mut self) {
        // Nobody reported the end, so the client has gone.
        self.end(AnswerEnd::Aborted);
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        // Nobody waits for the answer any more.
        if self.is_underway {
            self.pending().record(&self.engine, AnswerEnd::Aborted, None);
        }
    }
}

impl Prepared<'_> {
    fn pending(&self) -> PendingRequest {
        let (turn, prompt) = (&self.turn, &self.prompt);
        let identity = &turn.identity;
        let model = turn.model().into_owned();
        let windows = &self.engine.inner.settings.turn.windows;
        let long = || asks_for_long_window(turn.headers).then(|| windows.largest_tokens_of(&model));
        let seen = RequestSeen {
            session: identity.session.clone(),
            agent: identity.agent.clone(),
            thread: prompt.thread.clone(),
            api: turn.request.api().name(),
            window_tokens: identity.window_tokens.or_else(long),
            model,
            kind: identity.kind,
            client: identity.client_name(),
            parts: self.parts.clone(),
            edits: prompt.edits.clone(),
            usage: None,
            estimated: None,
            timing: Timing { added_us: micros(self.planning_time), ..Timing::default() },
            status: None,
            end: AnswerEnd::Aborted,
            warnings: prompt.warnings.clone(),
        };
        let (arrived, slot) = (turn.arrived, Arc::clone(&self.slot));
        PendingRequest { who: identity.who.clone(), seen, arrived, slot, digest: self.digest }
    }
}

/// Whether a client asks for the largest window in its headers.
pub(super) fn asks_for_long_window(headers: &[(String, String)]) -> bool {
    let betas = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(BETAS));
    betas.flat_map(|(_, list)| list.split(',')).any(|beta| beta.trim().starts_with(LONG_WINDOW))
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// Whether a call is remembered: one of infold's tools, of a script that may make one, or any if there is a gateway.
fn is_kept(engine: &Engine, call: &AnswerCall) -> bool {
    engine.is_kept(&call.tool) || unwrapped(&call.tool, &call.arguments).is_some()
}

/// Calls that are remembered and whose arguments are complete.
fn complete<'c>(engine: &Engine, calls: &'c [AnswerCall]) -> Vec<&'c AnswerCall> {
    // Of a script only the id matters.
    let whole =
        |call: &&AnswerCall| runs_scripts(&call.tool) || serde_json::from_str::<IgnoredAny>(&call.arguments).is_ok();
    calls.iter().filter(|call| is_kept(engine, call)).take_while(whole).collect()
}

/// Reports all of an answer's calls at once, because each report replaces the one before.
fn report_calls(engine: &Engine, pending: &PendingRequest, calls: Vec<&AnswerCall>) {
    let issued = calls.into_iter().map(|call| {
        let inside = unwrapped(&call.tool, &call.arguments);
        let (tool, arguments) = inside.unwrap_or_else(|| (call.tool.clone(), call.arguments.clone()));
        IssuedCall { id: call.id.clone(), tool, arguments_hash: arguments_hash(&arguments) }
    });
    engine.calls_issued(&pending.who, &pending.seen.session, &pending.seen.thread, issued.collect());
}

/// Reports what the model has said. Side requests are left out: they are answered in the main thread, whatever works
/// meanwhile.
fn report_words(engine: &Engine, pending: &PendingRequest, words: &str) {
    if pending.seen.kind == RequestKind::Turn {
        engine.note_words(&pending.who, &pending.seen.session, &pending.seen.thread, words);
    }
}

fn end_of(how: AnswerEnd, status: u16, answer: &Answer, legibility: Legibility) -> AnswerEnd {
    match how {
        AnswerEnd::Completed if !is_success(status) || answer.error.is_some() => AnswerEnd::Failed,
        // The connection ended properly, but the answer lacks its end.
        AnswerEnd::Completed if !answer.is_complete && legibility == Legibility::Plain => AnswerEnd::Cut,
        // Some clients hang up once the answer says that it is over.
        AnswerEnd::Aborted if answer.is_complete => AnswerEnd::Completed,
        other => other,
    }
}

/// How an answer ended, for whoever speaks next. If it broke off, the next words may be the client's, which wants the
/// model to go on. A client that hung up did so because a person wanted it.
fn last_answer(end: AnswerEnd, answer: &Answer) -> LastAnswer {
    let is_cut = answer.stop.as_deref().is_some_and(|stop| STOPPED.contains(&stop));
    match end {
        AnswerEnd::Completed if is_cut => LastAnswer::BrokeOff,
        AnswerEnd::Completed | AnswerEnd::Aborted | AnswerEnd::Refused => LastAnswer::Ended,
        AnswerEnd::Cut | AnswerEnd::Failed => LastAnswer::BrokeOff,
    }
}

/// Reasons that providers give for stopping an answer before the model was done.
const STOPPED: [&str; 6] =
    ["max_tokens", "pause_turn", "model_context_window_exceeded", "length", "max_output_tokens", "incomplete"];

/// What the model said in an answer whose usage the provider has not reported completely; `None` if it has, or if the
/// answer failed.
fn unreported(status: u16, answer: &Answer) -> Option<Spoken> {
    let has_come = answer.is_complete || answer.said_bytes > 0 || !answer.calls.is_empty();
    let is_reported = answer.usage.is_some() && answer.is_complete;
    let is_unreported = is_success(status) && answer.error.is_none() && has_come && !is_reported;
    let calls = answer.calls.iter().map(|call| (call.tool.clone(), call.arguments.clone()));
    is_unreported.then(|| Spoken { text: answer.said.clone(), text_bytes: answer.said_bytes, calls: calls.collect() })
}

impl PendingRequest {
    /// Meters and records the request in the background, while the client goes on. `said` is what the model said, if
    /// the provider has not reported all of it.
    fn record(mut self, engine: &Engine, end: AnswerEnd, said: Option<Spoken>) {
        self.seen.end = end;
        self.seen.timing.total_ms = millis(self.arrived.elapsed());
        let engine = engine.clone();
        // The session's next request is planned after this one is counted, because it may have used up a budget. So the
        // place in the queue is taken now, before the client has all of the answer.
        let place = self.slot.queue_up();
        // Whoever serves waits for these tasks before the program ends.
        let tasks = engine.inner.tasks.clone();
        drop(tasks.spawn(async move { self.recorded(&engine, place, said).await }));
    }

    async fn recorded(mut self, engine: &Engine, place: QueuePosition, said: Option<Spoken>) {
        let state = place.reached().await;
        let seen = &mut self.seen;
        seen.estimated = said.and_then(|said| engine.estimate(&seen.model, &seen.parts, &said, seen.usage.as_ref()));
        self.meter(engine).await;
        // If the answer was counted, that has stored the words already.
        if let Err(error) = engine.store_pending_words(&self.who, &self.seen.session).await {
            tracing::warn!(%error, "an agent's last words could not be stored");
        }
        drop(state);
        engine.record_request(&self.who, self.seen).await;
    }

    /// Counts the answer in its thread.
    async fn meter(&self, engine: &Engine) {
        let RequestSeen { session, thread, kind, usage, estimated, .. } = &self.seen;
        if let (RequestKind::Turn, Some(usage)) = (kind, usage) {
            self.slot.note_used(thread, usage.prompt_tokens().saturating_add(usage.output_tokens));
        }
        if *kind != RequestKind::Turn || (usage.is_none() && estimated.is_none()) {
            return;
        }
        let used = usage.unwrap_or_default().plus(&estimated.unwrap_or_default());
        let uncounted = match self.digest {
            Some(digest) => self.slot.uncounted(digest, used.output_tokens),
            None => Some(used.output_tokens),
        };
        if let Some(output_tokens) = uncounted
            && let Err(error) = engine.meter(&self.who, session, thread, &Usage { output_tokens, ..used }).await
        {
            tracing::warn!(%error, "an answer could not be counted");
        }
    }
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}
