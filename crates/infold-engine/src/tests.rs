//! Operations on a real store in a temporary folder, with a clock that the test sets.

mod faults;
mod folding;
mod forking;
mod people;
mod races;
mod requests;
mod results;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use infold_core::{Counter, Family, Field, ModelWindows, Principal, ReturnOutcome, ShapeRules};
use infold_store::{ClusterAccess, ClusterSettings, CreateStream, Store, StoreSettings, Synchronous};
use infold_testkit::nats::{NATS_USER, run_tests_on_nats, shared_server, tests_are_on_nats};
use infold_testkit::{documented_limits, documented_memory_rules};
use tempfile::TempDir;

use super::*;

pub(crate) const START_MS: u64 = 1_800_000_000_000;

/// An engine on a database in a temporary folder, with a clock that the test sets.
pub(crate) struct Bench {
    pub(crate) engine: Engine,
    pub(crate) now_ms: Arc<AtomicU64>,
    pub(crate) folder: TempDir,
    pub(crate) who: Principal,
}

pub(crate) fn settings() -> EngineSettings {
    EngineSettings {
        limits: documented_limits(),
        counter: Counter::new(Family::Claude),
        scrub: ScrubSettings { timeout_ms: 2_000, bytes_max: 1 << 20, rules: None, fault: ScrubFault::None },
        shape: ShapeRules::USUAL,
        isolation: Isolation::Isolated,
        fork: ForkSettings {
            profile: Profile::Seed,
            limits: ForkLimits::with_char_budget(200_000),
            log_bytes_max: 64 << 20,
        },
        timers: TimerSettings { live_ms: 24 * 3_600_000, retention_ms: 90 * 24 * 3_600_000 },
        prices: Prices::default(),
        turn: TurnSettings {
            shaping: Shaping::On,
            windows: ModelWindows { default_tokens: 200_000, models: Vec::new() },
            reserve_tokens: 60_000,
            kept_results_tokens: 8_000,
            context_notes: ContextNotes::Off,
            sessions_max: 16,
            sessions_bytes_max: 1 << 20,
            kept_calls: KeptCalls::Own,
        },
        memory: documented_memory_rules(),
        memory_models: MemoryModels::none(),
        folder: None,
        home: None,
        programs: None,
    }
}

/// The cluster that databases in a folder are indexes of: none, or, when the tests run on NATS, a log that is the folder's
/// own.
fn cluster_in(folder: &Path) -> Option<ClusterSettings> {
    if tests_are_on_nats() { shared_cluster(folder) } else { None }
}

/// A log of the folder's own, on the server that all tests share.
fn shared_cluster(folder: &Path) -> Option<ClusterSettings> {
    let server = shared_server()?;
    let name = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex()[..16].to_owned();
    Some(ClusterSettings {
        servers: vec![server.url.clone()],
        access: ClusterAccess::Password { user: NATS_USER.to_owned(), password: server.password.clone() },
        ca_file: None,
        client_certificate: None,
        stream: format!("T{name}"),
        subject_prefix: format!("t.{name}"),
        documents_prefix: format!("d.{name}"),
        replicas: 1,
        create: CreateStream::IfAbsent,
        trim_bytes: 4_096,
        attempt_ms: 2_000,
        timeout_ms: 15_000,
    })
}

impl Bench {
    pub(crate) fn new(settings: EngineSettings) -> Self {
        let folder = TempDir::new().unwrap();
        let now_ms = Arc::new(AtomicU64::new(START_MS));
        let engine = Self::engine_in(&folder, settings, &now_ms);
        Self { engine, now_ms, folder, who: Principal::local() }
    }

    pub(crate) fn engine_in(folder: &TempDir, settings: EngineSettings, now_ms: &Arc<AtomicU64>) -> Engine {
        let store = StoreSettings {
            // These tests are not about the disk.
            synchronous: Synchronous::Normal,
            busy_timeout_ms: 5_000,
            readers_max: 2,
            cluster: cluster_in(folder.path()),
            checkpoint_pages: 1000,
        };
        let store = Store::open(&folder.path().join("infold.db"), &store).unwrap();
        Engine::new(store, settings, Clock::Set(Arc::clone(now_ms)))
    }

    /// A second process on the same database.
    pub(crate) fn another(&self, settings: EngineSettings) -> Engine {
        Self::engine_in(&self.folder, settings, &self.now_ms)
    }

    pub(crate) fn pass(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }

    pub(crate) async fn open(&self, session: &str) -> Result<Opened, Error> {
        self.engine.open_branch(&self.who, open(session)).await
    }

    pub(crate) async fn view(&self, branch: &str) -> BranchView {
        let branch = BranchRef::Id { branch: branch.to_owned(), session: None };
        self.engine.branch(&self.who, &branch, None).await.unwrap().unwrap()
    }

    pub(crate) async fn session(&self, session: &str) -> SessionView {
        self.engine.session_with_branches(&self.who, &SessionRef::by_id(session).unwrap()).await.unwrap()
    }
}

pub(crate) fn open(session: &str) -> OpenBranch {
    OpenBranch {
        session: SessionRef::by_id(session).unwrap(),
        parent: None,
        description: "find the parser".to_owned(),
        description_field: Field::BRANCH_DESCRIPTION,
        prompt: None,
        budget_tokens: None,
        timeout_s: None,
        isolation: None,
        memories: MemoryWish::Fitting,
        folder: None,
        start: infold_core::Start::AtOnce,
        idempotency_key: None,
    }
}

pub(crate) fn fold(branch: &str, message: &str) -> FoldBranch {
    FoldBranch {
        branch: BranchRef::Id { branch: branch.to_owned(), session: None },
        message: message.to_owned(),
        outcome: ReturnOutcome::Completed,
        teaching: Teaching::NOTHING,
        idempotency_key: None,
    }
}

pub(crate) fn result(session: &str, content: &str) -> RecordResult {
    RecordResult {
        session: SessionRef::by_id(session).unwrap(),
        thread: None,
        tool_name: "shell_exec".to_owned(),
        call_id: None,
        arguments: r#"{"command":"make"}"#.to_owned(),
        content: content.to_owned(),
        idempotency_key: None,
    }
}

pub(crate) fn code<T: std::fmt::Debug>(outcome: Result<T, Error>) -> &'static str {
    outcome.unwrap_err().code()
}

#[test]
fn all_of_these_hold_on_nats_too() {
    run_tests_on_nats("all_of_these_hold_on_nats_too").unwrap();
}
