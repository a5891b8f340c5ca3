//! One async function for each thing that infold can do. Each has four beats: load, decide, record, answer. The core
//! decides and the store keeps; this crate brings them together, with the clock, the random numbers, the scrubber's
//! time limit and the metrics.

mod agent_log;
mod answers;
mod archive;
mod calibration;
mod change;
mod documents;
mod end;
mod error;
mod feed;
mod find;
mod find_results;
mod fold;
mod fork;
mod gateway;
mod intake;
mod memory;
mod meter;
mod naming;
mod notices;
mod observe;
mod open;
mod process;
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
mod withhold;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use infold_core::fork::{ForkLimits, Profile};
use infold_core::memory::MemoryRules;
use infold_core::{BranchId, Counter, IdKey, Isolation, Limits, Prices, Rules, Scrubber, ShapeRules};
use infold_store::{Room, Store};
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

pub use agent_log::AgentRecord;
pub use answers::*;
pub use calibration::Calibration;
pub use error::{Error, Failure};
pub use find_results::FoundInResults;
pub use gateway::{
    BegunCall, CallPlace, ConfiguredServer, Metered, NamedTools, PinnedDefinition, RelayedCall, RelayedResult,
    RelayedShown, ServerCall, ServerFigures, ServerNote, ServerOverview, ServerTool, ServerTools, ServerUse,
    WaitingTool, WithheldTool,
};
pub use infold_store::{ClusterState, Extraction, ListedLog, RequestRow, RequestSelection, Snapshot};
pub use memory::*;
pub(crate) use meter::Spoken;
pub use record::RequestQuery;
pub(crate) use record::{FrontKind, PromptFront, PromptInput, PromptParts, RequestSeen};
pub use requests::*;
pub use scrubbing::{ScrubFault, ScrubSettings, TimedScrubber};
pub use sessions::ListedSession;
pub use timers::TimerSettings;
pub use turn::{
    AnswerHead, AnswerListener, ContextNotes, EndedBranch, IssuedCall, KeptCalls, Legibility, ModelRequest, OwnResult,
    OwnResultTaken, OwnThread, Prepared, Purpose, ReadyRequest, ResultRoom, RunningScript, SearchScope, SearchedBody,
    Shaping, TurnSettings, Withheld, arguments_hash,
};

/// How many locks there are for sessions with colliding writers. Sessions share them.
const LOCKS: usize = 64;

/// Where the time comes from.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The machine's clock, which the program uses.
    System,
    /// A clock that tests set, in milliseconds since 1970.
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

/// How an engine works. There are no defaults here: the program sets every field.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// The bounds that decisions keep to.
    pub limits: Limits,
    /// How tokens are counted for budgets.
    pub counter: Counter,
    /// How long scrubbing may take, and how much text it takes.
    pub scrub: ScrubSettings,
    /// Which results are offloaded, and what is shown of them.
    pub shape: ShapeRules,
    /// What a branch's thread begins with, if its opening does not say.
    pub isolation: Isolation,
    /// How forks are made, if a call does not say.
    pub fork: ForkSettings,
    /// How long things are stored, and when they are looked after.
    pub timers: TimerSettings,
    /// What models' tokens cost, for the recorder.
    pub prices: Prices,
    /// How model requests are prepared.
    pub turn: TurnSettings,
    /// What is learnt, and what of it is shown.
    pub memory: MemoryRules,
    /// The user's own models that memories use.
    pub memory_models: MemoryModels,
    /// The folder of work whose caller names none: the one that infold was started in.
    pub folder: Option<PathBuf>,
    /// The user's home folder, where the user's own rule files are.
    pub home: Option<PathBuf>,
    /// Where programs are: what PATH says.
    pub programs: Option<OsString>,
}

/// How forks are made, if a call does not say.
#[derive(Debug, Clone)]
pub struct ForkSettings {
    /// How a fork's characters are divided among what it could hold.
    pub profile: Profile,
    /// The bounds of each stage that shortens a transcript.
    pub limits: ForkLimits,
    /// The longest log of a session that can be forked, in bytes.
    pub log_bytes_max: usize,
}

/// Everything that infold can do. Clones share one engine.
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
    /// The scrubber itself, for planning, which has a time limit of its own.
    scrubber: Scrubber,
    issued: std::sync::Mutex<turn::IssuedCalls>,
    last_words: std::sync::Mutex<turn::HeldWords>,
    prefixes: std::sync::Mutex<turn::KnownConversations>,
    sessions: turn::SessionCaches,
    locks: Vec<Mutex<()>>,
    metrics: telemetry::EngineMetrics,
    recorder: record::Recorder,
    calibrations: calibration::Calibrations,
    alarm: timers::Alarm,
    feed: feed::Bell,
    gateway: gateway::GatewayState,
    warmed: AtomicBool,
    learning: Learning,
    embedding: Embedding,
    tasks: TaskTracker,
}

impl Engine {
    /// What is known of the machines' shared log; `None` if the state is this machine's own.
    pub fn cluster(&self) -> Option<ClusterState> {
        self.inner.store.cluster()
    }

    /// Makes an engine that works on a store.
    pub fn new(store: Store, settings: EngineSettings, clock: Clock) -> Self {
        let id_key = IdKey::derive(store.secret());
        let scrubber = settings.scrub.scrubber(store.secret());
        let inner = Inner {
            scrubbing: TimedScrubber::new(scrubber.clone(), &settings.scrub),
            scrubber,
            issued: std::sync::Mutex::default(),
            last_words: std::sync::Mutex::default(),
            prefixes: std::sync::Mutex::default(),
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
            gateway: gateway::GatewayState::default(),
            warmed: AtomicBool::new(false),
            learning: Learning::default(),
            embedding: Embedding::default(),
            tasks: TaskTracker::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The bounds that decisions keep to.
    pub fn limits(&self) -> &Limits {
        &self.inner.settings.limits
    }

    /// Counts tokens in the way in which budgets are counted.
    pub fn count(&self, text: &str) -> u64 {
        self.inner.settings.counter.count(text)
    }

    /// Loads the vocabulary that tokens are counted with in the background, because the first count would be slow. An
    /// idle daemon does without it.
    pub fn warm_up(&self) {
        if !self.inner.warmed.swap(true, Ordering::Relaxed) {
            let engine = self.clone();
            // Nobody waits for it: whoever counts first does the same work.
            drop(tokio::task::spawn_blocking(move || engine.count("warm up")));
        }
    }

    /// Tasks that still record answers. Whoever serves waits for them before the program ends.
    pub fn tasks(&self) -> &TaskTracker {
        &self.inner.tasks
    }

    /// Checks that something can be stored and read back.
    pub async fn check_store(&self) -> Result<(), Error> {
        Ok(self.inner.store.check().await?)
    }

    /// The store below, for maintenance and checks.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The key that proves whether a branch id was made by this database.
    pub(crate) fn id_key(&self) -> &IdKey {
        &self.inner.id_key
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.inner.clock.now_ms()
    }

    /// How many branches may be open in the database.
    pub(crate) fn room(&self) -> Room {
        let limits = self.limits();
        Room { open_max: limits.open_per_instance_max, fair_share_percent: limits.fair_share_percent }
    }

    pub(crate) fn rules(&self) -> Rules<'_> {
        Rules { limits: &self.inner.settings.limits, counter: &self.inner.settings.counter }
    }

    /// Verifies a branch id. An id that this database did not make is refused like one that does not exist.
    pub(crate) fn branch_id(&self, text: &str) -> Result<BranchId, infold_core::Refusal> {
        BranchId::verify(text, self.id_key())
            .ok_or_else(|| infold_core::Refusal::BranchNotFound { branch: shown(text) })
    }
}

/// Makes a caller's text short and plain enough for an error message.
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
