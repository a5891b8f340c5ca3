//! One async function for each thing infold can do. Each has four beats: load, decide, record,
//! answer. Deciding is the core's, keeping the store's; this crate brings them together, with the
//! clock, the random numbers, the scrubber's time limit and the counting of what was done.

mod answers;
mod archive;
mod calibration;
mod change;
mod end;
mod error;
mod feed;
mod fold;
mod fork;
mod intake;
mod meter;
mod observe;
mod open;
mod record;
mod requests;
mod results;
mod rollback;
mod scrubbing;
mod sessions;
mod snapshots;
mod status;
mod telemetry;
mod timers;
mod turn;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use infold_core::fork::{ForkLimits, Profile};
use infold_core::{BranchId, Counter, IdKey, Isolation, Limits, Prices, Rules, Scrubber, ShapeRules};
use infold_store::Store;
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

pub use answers::*;
pub use calibration::Calibration;
pub use error::{Error, Failure};
pub use infold_store::{RequestRow, RequestSelection, Snapshot};
pub(crate) use meter::Heard;
pub use record::RequestQuery;
pub(crate) use record::{FrontKind, PromptFront, PromptInput, PromptParts, RequestSeen};
pub use requests::*;
pub use scrubbing::{ScrubFault, ScrubSettings, TimedScrubber};
pub use sessions::ListedSession;
pub use timers::TimerSettings;
pub use turn::{
    AnswerHead, AnswerListener, IssuedCall, Legibility, ModelRequest, Prepared, Purpose, RunningScript, Shaping,
    TurnSettings, Withheld, arguments_hash,
};

/// Sessions whose writers wait for each other after a collision share one of so many locks.
const LOCKS: usize = 64;

/// Where the time comes from.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The machine's clock.
    System,
    /// A clock that tests set, in milliseconds.
    Set(Arc<AtomicU64>),
}

impl Clock {
    fn now_ms(&self) -> u64 {
        match self {
            Self::System => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
            Self::Set(now_ms) => now_ms.load(Ordering::SeqCst),
        }
    }
}

/// What an engine is made of, beside its store.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// The bounds of decisions.
    pub limits: Limits,
    /// How tokens are counted.
    pub counter: Counter,
    /// How scrubbing is bounded.
    pub scrub: ScrubSettings,
    /// Which results are kept out of the context, and what is shown of them.
    pub shape: ShapeRules,
    /// What a branch's thread begins with, where its opening does not say.
    pub isolation: Isolation,
    /// How forks are made.
    pub fork: ForkSettings,
    /// How long things are kept.
    pub timers: TimerSettings,
    /// What models' tokens cost.
    pub prices: Prices,
    /// How model requests are prepared.
    pub turn: TurnSettings,
}

/// How forks are made, where a call does not say.
#[derive(Debug, Clone)]
pub struct ForkSettings {
    /// How characters are spent.
    pub profile: Profile,
    /// The bounds of each stage.
    pub limits: ForkLimits,
    /// The longest log of a session that is forked, in bytes.
    pub log_bytes_max: usize,
}

/// Everything that infold can do. Clones share one.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    settings: EngineSettings,
    clock: Clock,
    id_key: IdKey,
    scrubbing: TimedScrubber,
    /// The scrubber itself, for planning, which is bounded otherwise.
    scrubber: Scrubber,
    issued: std::sync::Mutex<turn::IssuedCalls>,
    said: std::sync::Mutex<turn::HeardWords>,
    chains: std::sync::Mutex<turn::KnownConversations>,
    sessions: turn::SessionCaches,
    locks: Vec<Mutex<()>>,
    metrics: telemetry::EngineMetrics,
    recorder: record::Recorder,
    calibrations: calibration::Calibrations,
    alarm: timers::Alarm,
    feed: feed::Bell,
    warmed: AtomicBool,
    tasks: TaskTracker,
}

impl Engine {
    /// An engine on a store.
    pub fn new(store: Store, settings: EngineSettings, clock: Clock) -> Self {
        let id_key = IdKey::derive(store.secret());
        let scrubber = Scrubber::derive(store.secret()).with_max_bytes(settings.scrub.bytes_max);
        let inner = Inner {
            scrubbing: TimedScrubber::new(scrubber.clone(), &settings.scrub),
            scrubber,
            issued: std::sync::Mutex::default(),
            said: std::sync::Mutex::default(),
            chains: std::sync::Mutex::default(),
            sessions: turn::SessionCaches::new(settings.turn.sessions_max, settings.turn.sessions_bytes_max),
            store,
            settings,
            clock,
            id_key,
            locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
            metrics: telemetry::EngineMetrics::new(),
            recorder: record::Recorder::default(),
            calibrations: calibration::Calibrations::default(),
            alarm: timers::Alarm::default(),
            feed: feed::Bell::default(),
            warmed: AtomicBool::new(false),
            tasks: TaskTracker::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The bounds in force.
    pub fn limits(&self) -> &Limits {
        &self.inner.settings.limits
    }

    /// Counts tokens as budgets are counted.
    pub fn count(&self, text: &str) -> u64 {
        self.inner.settings.counter.count(text)
    }

    /// Gets ready what is slow the first time, the vocabulary that tokens are counted with, while the
    /// caller goes on. An idle daemon does without it.
    pub fn warm_up(&self) {
        if !self.inner.warmed.swap(true, Ordering::Relaxed) {
            let engine = self.clone();
            // Nobody waits for it: whoever counts first does the same work.
            drop(tokio::task::spawn_blocking(move || engine.count("warm up")));
        }
    }

    /// What is left to be recorded of answers. Whoever serves waits for it at the end.
    pub fn tasks(&self) -> &TaskTracker {
        &self.inner.tasks
    }

    /// The store below, for those who look after it.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The key that tells this database's branch ids from other text.
    pub(crate) fn id_key(&self) -> &IdKey {
        &self.inner.id_key
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.inner.clock.now_ms()
    }

    pub(crate) fn rules(&self) -> Rules<'_> {
        Rules { limits: &self.inner.settings.limits, counter: &self.inner.settings.counter }
    }

    /// Reads a branch id; what this database did not make is as absent as what it never saw.
    pub(crate) fn branch_id(&self, text: &str) -> Result<BranchId, infold_core::Refusal> {
        BranchId::verify(text, self.id_key())
            .ok_or_else(|| infold_core::Refusal::BranchNotFound { branch: shown(text) })
    }
}

/// A caller's text, short and plain enough to stand in an error.
pub(crate) fn shown(text: &str) -> String {
    infold_core::strip_controls(text).replace(['\n', '\t'], " ").chars().take(80).collect()
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Failure::Random(error.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
