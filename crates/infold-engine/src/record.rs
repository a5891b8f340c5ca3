//! The flight recorder: what is kept of each request that went to a model.
//!
//! Whoever forwards a request says what it was made of ([`Engine::made_of`]) and, once the answer is over,
//! what became of it ([`Engine::record_request`]). From that follow its cost, why the cache missed, and how
//! far our count and the provider's are apart. Rows wait in memory and are written together, so that a
//! request never waits for them; where too many wait, the newest are dropped and counted.
//!
//! What must hold: of the text of a conversation only the first words get here, and nothing that was not scrubbed
//! leaves.

mod cost;
mod kept;
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

pub(crate) use kept::BoundedMap;
pub(crate) use metrics::RequestMetrics;
pub use parts::{FrontKind, PromptFront, PromptInput, PromptParts};

use names::Names;
use queue::Queue;

/// Sessions and threads of which the last request is remembered, to compare the next one with.
const LAST_MAX: usize = 128;
/// Warnings that are kept of one request.
const WARNINGS_MAX: usize = 8;
/// Characters of a warning that are kept.
const WARNING_CHARS_MAX: usize = 240;

/// A request whose answer is over.
#[derive(Debug, Clone)]
pub struct RequestSeen {
    /// Of which session.
    pub session: SessionId,
    /// Of which agent of the client's, where it says so.
    pub agent: Option<String>,
    /// The thread whose view was sent.
    pub thread: Thread,
    /// Which of the providers' interfaces: `messages`, `responses` or `chat`.
    pub api: &'static str,
    /// The model it asked for.
    pub model: String,
    /// Tokens of the window that its client asked for, if it asked for one that is not the model's usual.
    pub window_tokens: Option<u64>,
    /// What kind of request it was.
    pub kind: RequestKind,
    /// The program that sent it, as far as that is known.
    pub client: Option<String>,
    /// What it was made of.
    pub parts: PromptParts,
    /// What was edited, and why.
    pub edits: Vec<Edit>,
    /// What the provider reported.
    pub usage: Option<Usage>,
    /// What it did not report, by our own count; see [`Engine::estimate`].
    pub estimated: Option<Usage>,
    /// How long it took.
    pub timing: Timing,
    /// The HTTP status of the answer; none where the provider could not be reached.
    pub status: Option<u16>,
    /// How the answer ended.
    pub end: AnswerEnd,
    /// What somebody should know about it.
    pub warnings: Vec<(WarningKind, String)>,
}

/// Which requests are wanted.
#[derive(Debug, Clone)]
pub struct RequestQuery {
    /// Of which session; all if none is named.
    pub session: Option<SessionId>,
    /// Which of them.
    pub selection: RequestSelection,
    /// At most how many.
    pub limit: usize,
}

/// The last request of a thread.
struct Last {
    /// Marks of the parts that were sent.
    sent: Vec<u64>,
    model: String,
    at_ms: u64,
    /// The whole prompt, as the provider counted it.
    prompt_tokens: u64,
}

/// The last request of a session, as its client wanted it.
struct LastWanted {
    marks: Vec<u64>,
    model: String,
    /// Whether everything up to here went as the client sent it.
    as_it_came: bool,
}

/// What the recorder remembers.
pub(crate) struct Recorder {
    /// By owner, session and thread.
    threads: Mutex<BoundedMap<(Owner, SessionId, Thread), Last>>,
    /// The thread of a session that was sent last.
    newest: Mutex<BoundedMap<(Owner, SessionId), Thread>>,
    wanted: Mutex<BoundedMap<(Owner, SessionId), LastWanted>>,
    /// Sessions whose label has been kept.
    labelled: Mutex<BoundedMap<(Owner, SessionId), ()>>,
    names: Names,
    counts: parts::Counts,
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
            counts: parts::Counts::default(),
            queue: Queue::default(),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    /// Records a request whose answer is over. Never waits for the disk and never fails: what cannot be
    /// kept is counted.
    pub async fn record_request(&self, who: &Principal, seen: RequestSeen) {
        let at_ms = self.now_ms().saturating_sub(seen.timing.total_ms);
        let drift = self.calibrate(&seen);
        self.remember_family(&who.owner, &seen.session, &seen.model);
        let counter = self.counter_for(&seen.model);
        self.scrub_names(&seen).await;
        let label = self.label(&who.owner, &seen).await;

        let miss = self.miss(&who.owner, &seen, at_ms, &counter);
        let (cost_micros, wanted_cost_micros) = self.costs(&who.owner, &seen);
        let name = |name: &str| self.inner.recorder.names.scrubbed(name);
        let makeup = |parts: &[Part], counter: &Counter| TokenBreakdown::of(parts, counter, name);
        let record = RequestRecord {
            agent: seen.agent.as_deref().map(name),
            thread: seen.thread,
            at_ms,
            api: Scrubbed::fixed(seen.api),
            model: name(&seen.model),
            window_tokens: seen.window_tokens,
            kind: seen.kind,
            client: seen.client.as_deref().map(name),
            wanted: makeup(seen.parts.wanted(), &counter),
            sent: makeup(seen.parts.sent(), &counter),
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

    /// The caller's requests, oldest first.
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

    /// One of the caller's requests.
    pub async fn request(&self, who: &Principal, id: u64) -> Result<Option<RequestRow>, Error> {
        self.flush_requests().await;
        Ok(self.inner.store.request(who.owner.clone(), id).await?)
    }

    /// What the caller's requests add up to, by session.
    pub async fn request_totals(
        &self,
        who: &Principal,
        session: Option<SessionId>,
    ) -> Result<Vec<(SessionId, RequestTotals)>, Error> {
        self.flush_requests().await;
        Ok(self.inner.store.request_totals(who.owner.clone(), session).await?)
    }

    async fn warnings(&self, told: Vec<(WarningKind, String)>, drift: Option<Drift>) -> Vec<RequestWarning> {
        let (kinds, texts): (Vec<WarningKind>, Vec<String>) = told
            .into_iter()
            .chain(drift.map(|drift| (WarningKind::CountDrift, drift.to_string())))
            .take(WARNINGS_MAX)
            .map(|(kind, text)| (kind, infold_core::strip_controls(&text)))
            .unzip();
        let count = texts.len();
        // A text that cannot be scrubbed is withheld; that there was a warning is told all the same.
        let withheld = || vec![Scrubbed::fixed("(withheld: it could not be scrubbed)"); count];
        let texts = self.scrub_list(texts).await.unwrap_or_else(|_| withheld());
        let warning = |(kind, text): (WarningKind, Scrubbed)| {
            let text = text.head_chars(WARNING_CHARS_MAX);
            RequestWarning { kind, text }
        };
        kinds.into_iter().zip(texts).map(warning).collect()
    }
}
