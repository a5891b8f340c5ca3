//! The flight recorder: stores a row of each request that went to a model.
//!
//! Whoever forwards a request says what it was made of ([`Engine::parts`]) and, once the answer is over, what became of
//! it ([`Engine::record_request`]). From that follow its cost, why the cache missed, and how far infold's count and the
//! provider's are apart. Rows wait in memory and are written together, so that a request never waits for them; if too
//! many wait, the newest are dropped and counted.
//!
//! What must hold: of the text of a conversation only the first words get here, and nothing leaves that was not
//! scrubbed.

mod bounded_map;
mod cost;
mod label;
mod metrics;
mod miss;
mod names;
mod parts;
mod queue;

use std::sync::{Mutex, MutexGuard, PoisonError};

use infold_core::record::{
    AnswerEnd, Part, RequestRecord, RequestTotals, RequestWarning, Timing, TokenBreakdown, Usage, WarningKind,
};
use infold_core::view::{Edit, RequestKind};
use infold_core::{Counter, Owner, Principal, Scrubbed, SessionId, Thread};
use infold_store::{RequestRow, RequestSelection};

use crate::calibration::Drift;
use crate::{Engine, Error};

pub(crate) use bounded_map::BoundedMap;
pub(crate) use metrics::RequestMetrics;
pub use parts::{FrontKind, PromptFront, PromptInput, PromptParts};

use names::Names;
use queue::Queue;

/// How many last requests are remembered, to compare the next ones with.
const LAST_MAX: usize = 128;
/// How many warnings of one request are stored.
const WARNINGS_MAX: usize = 8;
/// How many characters of a warning are stored.
const WARNING_CHARS_MAX: usize = 240;

/// A request whose answer is over.
#[derive(Debug, Clone)]
pub struct RequestSeen {
    /// The session that the request belongs to.
    pub session: SessionId,
    /// The client's subagent that sent it, if the client says so.
    pub agent: Option<String>,
    /// The thread whose view was sent.
    pub thread: Thread,
    /// The provider's interface: `messages`, `responses` or `chat`.
    pub api: &'static str,
    /// The model that it asked for.
    pub model: String,
    /// The window that its client asked for in tokens, if that is not the model's usual one.
    pub window_tokens: Option<u64>,
    /// Whether it was a turn or a side request, for instance.
    pub kind: RequestKind,
    /// The program that sent it, if that is known.
    pub client: Option<String>,
    /// The parts that the client sent, and those that were sent on.
    pub parts: PromptParts,
    /// What infold edited in it, and why.
    pub edits: Vec<Edit>,
    /// The tokens that the provider reported; `None` if it reported none.
    pub usage: Option<Usage>,
    /// What the provider did not report, by infold's own count; see [`Engine::estimate`].
    pub estimated: Option<Usage>,
    /// How long planning, the first byte and the whole answer took.
    pub timing: Timing,
    /// The HTTP status of the answer; `None` if the provider could not be reached.
    pub status: Option<u16>,
    /// How the answer ended, for instance whole or cut off.
    pub end: AnswerEnd,
    /// What somebody should know about the request.
    pub warnings: Vec<(WarningKind, String)>,
}

/// Selects requests for a list.
#[derive(Debug, Clone)]
pub struct RequestQuery {
    /// Only requests of this session; `None` means all sessions.
    pub session: Option<SessionId>,
    /// Which end of the list is wanted.
    pub selection: RequestSelection,
    /// How many requests to return at most.
    pub limit: usize,
}

/// The last request of a thread, for comparison with the next one.
struct Last {
    /// Marks of the parts that were sent, which recognise equal parts.
    sent: Vec<u64>,
    model: String,
    at_ms: u64,
    /// The length of the whole prompt, as the provider counted it.
    prompt_tokens: u64,
}

/// The last request of a session, as its client wanted it.
struct LastWanted {
    marks: Vec<u64>,
    model: String,
    /// Whether all requests up to this one were sent on unchanged.
    as_it_came: bool,
}

/// What the recorder remembers between requests.
pub(crate) struct Recorder {
    /// The last request, by owner, session and thread.
    threads: Mutex<BoundedMap<(Owner, SessionId, Thread), Last>>,
    /// The thread whose view was sent last, by session.
    newest: Mutex<BoundedMap<(Owner, SessionId), Thread>>,
    wanted: Mutex<BoundedMap<(Owner, SessionId), LastWanted>>,
    /// Sessions whose label was already stored.
    labelled: Mutex<BoundedMap<(Owner, SessionId), ()>>,
    names: Names,
    sizes: parts::Sizes,
    queue: Queue,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            threads: Mutex::new(BoundedMap::new(LAST_MAX)),
            newest: Mutex::new(BoundedMap::new(LAST_MAX)),
            wanted: Mutex::new(BoundedMap::new(LAST_MAX)),
            labelled: Mutex::new(BoundedMap::new(LAST_MAX)),
            names: Names::default(),
            sizes: parts::Sizes::default(),
            queue: Queue::default(),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    /// Records a request whose answer is over. It never waits for the disk and never fails: what cannot be stored is
    /// counted.
    pub async fn record_request(&self, who: &Principal, seen: RequestSeen) {
        let at_ms = self.now_ms().saturating_sub(seen.timing.total_ms);
        let drift = self.calibrate(&seen);
        self.calibrate_session(&who.owner, &seen);
        let counter = self.counter_of(&who.owner, &seen);
        self.scrub_names(&seen).await;
        let label = self.label(&who.owner, &seen).await;

        let miss = self.miss(&who.owner, &seen, at_ms, &counter);
        let (cost_micros, wanted_cost_micros) = self.costs(&who.owner, &seen);
        let name = |name: &str| self.inner.recorder.names.scrubbed(name);
        let breakdown = |parts: &[Part], counter: &Counter| TokenBreakdown::of(parts, counter, name);
        let record = RequestRecord {
            agent: seen.agent.as_deref().map(name),
            thread: seen.thread,
            at_ms,
            api: Scrubbed::fixed(seen.api),
            model: name(&seen.model),
            window_tokens: seen.window_tokens,
            kind: seen.kind,
            client: seen.client.as_deref().map(name),
            wanted: breakdown(seen.parts.wanted(), &counter),
            sent: breakdown(seen.parts.sent(), &counter),
            edits: seen.edits,
            usage: seen.usage,
            estimated: seen.estimated,
            miss,
            cost_micros,
            wanted_cost_micros,
            timing: seen.timing,
            status: seen.status,
            end: seen.end,
            warnings: self.warnings(seen.warnings, drift).await,
            session: seen.session,
        };
        self.inner.metrics.requests.recorded(&record);
        self.enqueue(who.owner.clone(), record, label);
    }

    /// Lists the caller's requests, oldest first.
    pub async fn requests(&self, who: &Principal, query: RequestQuery) -> Result<Vec<RequestRow>, Error> {
        self.flush_requests().await;
        let query = infold_store::RequestQuery {
            owner: who.owner.clone(),
            session: query.session,
            selection: query.selection,
            limit: query.limit,
        };
        Ok(self.inner.store.requests(query).await?)
    }

    /// Reads one of the caller's requests by its id.
    pub async fn request(&self, who: &Principal, id: u64) -> Result<Option<RequestRow>, Error> {
        self.flush_requests().await;
        Ok(self.inner.store.request(who.owner.clone(), id).await?)
    }

    /// Reads the sums of the caller's requests, by session.
    pub async fn request_totals(
        &self,
        who: &Principal,
        session: Option<SessionId>,
    ) -> Result<Vec<(SessionId, RequestTotals)>, Error> {
        self.flush_requests().await;
        Ok(self.inner.store.request_totals(who.owner.clone(), session).await?)
    }

    async fn warnings(&self, given: Vec<(WarningKind, String)>, drift: Option<Drift>) -> Vec<RequestWarning> {
        let (kinds, texts): (Vec<WarningKind>, Vec<String>) = given
            .into_iter()
            .chain(drift.map(|drift| (WarningKind::CountDrift, drift.to_string())))
            .take(WARNINGS_MAX)
            .map(|(kind, text)| (kind, infold_core::strip_controls(&text)))
            .unzip();
        let count = texts.len();
        // A text that cannot be scrubbed is withheld; the kind of the warning is stored all the same.
        let withheld = || vec![Scrubbed::fixed("(withheld: it could not be scrubbed)"); count];
        let texts = self.scrub_list(texts).await.unwrap_or_else(|_| withheld());
        let warning = |(kind, text): (WarningKind, Scrubbed)| {
            let text = text.head_chars(WARNING_CHARS_MAX);
            RequestWarning { kind, text }
        };
        kinds.into_iter().zip(texts).map(warning).collect()
    }
}
