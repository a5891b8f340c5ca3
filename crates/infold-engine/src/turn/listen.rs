//! Reads a copy of an answer while it passes: which calls the model makes, what it cost, how it ended.
//!
//! Must hold: a call of one of our tools is known to the engine before the client can make it, and so are the
//! model's last words before the client can go on from them; an answer is counted before the session's next request
//! is planned; nothing here holds up or changes what is passed on; what is to be recorded is recorded however the
//! answer ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use infold_core::record::{AnswerEnd, Timing, Usage, WarningKind};
use infold_core::view::{LastAnswer, RequestKind, runs_scripts};
use infold_core::{Principal, ToolEffect};
use infold_wire::answer::{Answer, AnswerCall, AnswerReader, Delivery};
use infold_wire::request::Api;
use infold_wire::unwrapped;
use serde::de::IgnoredAny;

use super::Prepared;
use super::cache::{QueuePosition, SessionSlot};
use super::issued::{IssuedCall, arguments_hash};
use crate::{Engine, Heard, RequestSeen};

/// The header in which clients of Anthropic's ask for what is not usual.
const BETAS: &str = "anthropic-beta";
/// What a client asks for that wants the largest window.
const LONG_WINDOW: &str = "context-1m";

/// The head of an answer.
#[derive(Debug, Clone, Copy)]
pub struct AnswerHead {
    /// Its HTTP status; none where no answer came.
    pub status: Option<u16>,
    /// How the body comes.
    pub delivery: Delivery,
    /// How often the request was sent again before it came.
    pub repeated: u32,
}

/// Whether an answer can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Legibility {
    /// It can.
    Plain,
    /// It is encoded in a way that nobody here knows.
    Lost,
}

/// A request that is not recorded yet.
struct PendingRequest {
    who: Principal,
    /// What will be recorded, with what is known of the answer so far.
    seen: RequestSeen,
    arrived: Instant,
    /// The session's place in memory, and what tells this request from others in it.
    slot: Arc<SessionSlot>,
    digest: Option<[u8; 32]>,
}

/// Listens to an answer. One that is dropped before its end was given up by its client.
pub struct AnswerListener {
    engine: Engine,
    /// Gone once the answer is over.
    pending: Option<PendingRequest>,
    legibility: Legibility,
    reader: AnswerReader,
    /// Calls of ours that the engine knows of.
    told: usize,
    /// Whether the engine knows the model's last words.
    has_spoken: bool,
}

impl Engine {
    /// Listens to the answer to a request.
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
            told: 0,
            has_spoken: false,
        }
    }
}

impl AnswerListener {
    /// Takes a piece of the answer that is about to be passed on: `read` hands over what can be read of it.
    pub fn hear(&mut self, read: impl FnOnce(&mut dyn FnMut(&[u8])) -> Legibility) {
        let Some(pending) = &mut self.pending else { return };
        pending.seen.timing.first_byte_ms.get_or_insert_with(|| millis(pending.arrived.elapsed()));
        let reader = &mut self.reader;
        self.legibility = read(&mut |bytes| reader.push(bytes));
        let ready = complete(self.reader.calls());
        if ready.len() > self.told {
            self.told = ready.len();
            report_calls(&self.engine, pending, ready);
            report_words(&self.engine, pending, self.reader.words());
        }
        // Clients go on as soon as an answer says that it is over, whatever comes behind that.
        if self.reader.is_over() && !self.has_spoken {
            self.has_spoken = true;
            report_words(&self.engine, pending, self.reader.words());
        }
        // The next request may come before the end of this answer's body does.
        if self.reader.is_settled() {
            self.end(AnswerEnd::Completed);
        }
    }

    /// The answer is over.
    pub fn end(&mut self, how: AnswerEnd) {
        let Some(mut pending) = self.pending.take() else { return };
        let Some(status) = pending.seen.status else { return pending.record(&self.engine, how, None) };
        let reader = std::mem::replace(&mut self.reader, AnswerReader::new(Api::Chat, Delivery::Whole));
        let mut answer = reader.finish();
        // Some servers fill in nothing where they do not count.
        answer.usage = answer.usage.filter(|usage| usage.prompt_tokens() > 0 || usage.output_tokens > 0);
        let ours: Vec<&AnswerCall> = answer.calls.iter().filter(|call| is_ours(call)).collect();
        if ours.len() > self.told {
            report_calls(&self.engine, &pending, ours);
        }
        if !self.has_spoken {
            report_words(&self.engine, &pending, &answer.words);
        }
        let end = end_of(how, status, &answer, self.legibility);
        if pending.seen.kind == RequestKind::Turn {
            pending.slot.answered(last_answer(end, &answer));
        }
        let heard = unreported(status, &answer).filter(|_| self.legibility == Legibility::Plain);
        pending.seen.usage = answer.usage;
        pending.record(&self.engine, end, heard);
    }
}

impl Drop for AnswerListener {
    fn drop(&mut self) {
        // Nobody said that it was over, so the client has gone.
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
        let seen = RequestSeen {
            session: identity.session.clone(),
            agent: identity.agent.clone(),
            thread: prompt.thread.clone(),
            api: turn.request.api().name(),
            window_tokens: asks_for_long_window(turn.headers).then(|| windows.largest_tokens_of(&model)),
            model,
            kind: identity.kind,
            client: identity.client_name(),
            parts: self.parts.clone(),
            edits: prompt.edits.clone(),
            usage: None,
            estimated: None,
            timing: Timing { added_us: micros(self.added), ..Timing::default() },
            status: None,
            end: AnswerEnd::Aborted,
            warnings: prompt.warnings.clone(),
        };
        let (arrived, slot) = (turn.arrived, Arc::clone(&self.slot));
        PendingRequest { who: identity.who.clone(), seen, arrived, slot, digest: self.digest }
    }
}

/// Whether a client asks for the largest window in its headers.
fn asks_for_long_window(headers: &[(String, String)]) -> bool {
    let betas = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(BETAS));
    betas.flat_map(|(_, list)| list.split(',')).any(|beta| beta.trim().starts_with(LONG_WINDOW))
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// Whether it is a call of one of our tools, or of a script that may make one.
fn is_ours(call: &AnswerCall) -> bool {
    ToolEffect::of(&call.tool).is_some() || runs_scripts(&call.tool) || unwrapped(&call.tool, &call.arguments).is_some()
}

/// Calls of our tools that have all their arguments.
fn complete(calls: &[AnswerCall]) -> Vec<&AnswerCall> {
    // Of a script only the id counts.
    let whole =
        |call: &&AnswerCall| runs_scripts(&call.tool) || serde_json::from_str::<IgnoredAny>(&call.arguments).is_ok();
    calls.iter().filter(|call| is_ours(call)).take_while(whole).collect()
}

/// All of an answer's calls at once, because each telling stands for the whole answer.
fn report_calls(engine: &Engine, pending: &PendingRequest, calls: Vec<&AnswerCall>) {
    let issued = calls.into_iter().map(|call| {
        let inside = unwrapped(&call.tool, &call.arguments);
        let (tool, arguments) = inside.unwrap_or_else(|| (call.tool.clone(), call.arguments.clone()));
        IssuedCall { id: call.id.clone(), tool, arguments_hash: arguments_hash(&arguments) }
    });
    engine.calls_issued(&pending.who, &pending.seen.session, &pending.seen.thread, issued.collect());
}

/// What the model has said. Asides are answered in the main thread, whatever is at work meanwhile.
fn report_words(engine: &Engine, pending: &PendingRequest, words: &str) {
    if pending.seen.kind == RequestKind::Turn {
        engine.note_words(&pending.who, &pending.seen.session, &pending.seen.thread, words);
    }
}

fn end_of(how: AnswerEnd, status: u16, answer: &Answer, legibility: Legibility) -> AnswerEnd {
    match how {
        AnswerEnd::Completed if !is_success(status) || answer.error.is_some() => AnswerEnd::Failed,
        // The connection ended in order, and the answer says that it did not.
        AnswerEnd::Completed if !answer.is_complete && legibility == Legibility::Plain => AnswerEnd::Cut,
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
fn unreported(status: u16, answer: &Answer) -> Option<Heard> {
    let has_come = answer.is_complete || answer.said_bytes > 0 || !answer.calls.is_empty();
    let is_reported = answer.usage.is_some() && answer.is_complete;
    let is_heard = is_success(status) && answer.error.is_none() && has_come && !is_reported;
    let calls = answer.calls.iter().map(|call| (call.tool.clone(), call.arguments.clone()));
    is_heard.then(|| Heard { said: answer.said.clone(), said_bytes: answer.said_bytes, calls: calls.collect() })
}

impl PendingRequest {
    /// Has it metered and recorded, while the client goes on. `heard` is what the model was heard to say, if the
    /// provider has not reported all of it.
    fn record(mut self, engine: &Engine, end: AnswerEnd, heard: Option<Heard>) {
        self.seen.end = end;
        self.seen.timing.total_ms = millis(self.arrived.elapsed());
        let engine = engine.clone();
        // The session's next request is planned after this one is counted, because it may have used up a budget. So
        // the place in line is taken now, before the client has all of the answer.
        let place = self.slot.queue_up();
        // Whoever serves waits for these tasks at the end.
        let tasks = engine.inner.tasks.clone();
        drop(tasks.spawn(async move { self.recorded(&engine, place, heard).await }));
    }

    async fn recorded(mut self, engine: &Engine, place: QueuePosition, heard: Option<Heard>) {
        let state = place.reached().await;
        let seen = &mut self.seen;
        seen.estimated = heard.and_then(|heard| engine.estimate(&seen.model, &seen.parts, &heard, seen.usage.as_ref()));
        self.meter(engine).await;
        // Counting has stored them, where it was counted.
        if let Err(error) = engine.store_pending_words(&self.who, &self.seen.session).await {
            tracing::warn!(%error, "an agent's last words could not be stored");
        }
        drop(state);
        engine.record_request(&self.who, self.seen).await;
    }

    /// Counts an answer in its thread.
    async fn meter(&self, engine: &Engine) {
        let RequestSeen { session, thread, kind, usage, estimated, .. } = &self.seen;
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
