//! The proxy behind a real door, an upstream that plays its script byte by byte, and a client that sends exactly the
//! bytes it is given.
pub mod client;
pub mod upstream;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use infold_core::fork::{ForkLimits, Profile};
use infold_core::{Counter, Family, ModelWindows};
use infold_door::{Closed, Door, DoorSettings, LongBody, Validator};
use infold_engine::{
    Clock, ContextNotes, Engine, EngineSettings, ForkSettings, KeptCalls, MemoryModels, ScrubFault, ScrubSettings,
    Shaping, TimerSettings, TurnSettings,
};
use infold_proxy::{Planning, Provider, ProxySettings, Tunnels, Upstream};
use infold_store::{Store, StoreSettings, Synchronous};
use infold_testkit::{documented_limits, documented_memory_rules};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The time that the clock of a test always shows.
const NOW_MS: u64 = 1_768_000_000_000;

/// Settings with both providers at one address.
pub fn settings(upstream: SocketAddr) -> ProxySettings {
    let upstream = Upstream::parse(&format!("http://{upstream}")).expect("an address");
    ProxySettings {
        anthropic: upstream.clone(),
        openai: upstream,
        planning: Planning::On,
        body_bytes_max: 1 << 20,
        unsearched_paths: Vec::new(),
        tunnels: Tunnels::none(),
        connect_timeout_ms: 2_000,
        silence_timeout_ms: 20_000,
        hold_ms: 1_000,
        retries_max: 2,
        retry_statuses: Vec::new(),
        retry_after_max_ms: 2_000,
    }
}

/// A proxy that is being served, with the engine behind it.
pub struct Running {
    pub address: SocketAddr,
    pub engine: Engine,
    pub shutdown: CancellationToken,
    serving: JoinHandle<Closed>,
    _folder: tempfile::TempDir,
}

impl Running {
    /// Begins the shutdown and waits for its end.
    pub async fn close(self) -> Closed {
        self.shutdown.cancel();
        let closed = self.serving.await.expect("the door does not panic");
        self.engine.tasks().close();
        self.engine.tasks().wait().await;
        closed
    }
}

pub async fn start(settings: ProxySettings) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = engine(folder.path(), ScrubFault::None);
    start_on(folder, engine, settings).await
}

/// Starts a proxy that does not offload long results when they are first seen.
pub async fn start_unshaped(settings: ProxySettings) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = engine_with(folder.path(), ScrubFault::None, Shaping::Off);
    start_on(folder, engine, settings).await
}

pub async fn start_on(folder: tempfile::TempDir, engine: Engine, settings: ProxySettings) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback can be listened on");
    let address = listener.local_addr().expect("an address");
    let shutdown = CancellationToken::new();
    let router = infold_proxy::router(engine.clone(), settings, shutdown.clone());
    let door = Door::open(listener, door_settings()).expect("the settings are sound");
    let serving = tokio::spawn(door.serve(router, shutdown.clone()));
    Running { address, engine, shutdown, serving, _folder: folder }
}

fn door_settings() -> DoorSettings {
    let long_bodies = Provider::ALL.map(|provider| LongBody { path: provider.prefix(), bytes_max: u64::MAX });
    DoorSettings {
        connections_max: 64,
        head_bytes_max: 16 * 1024,
        head_timeout_ms: 10_000,
        body_bytes_max: 64 * 1024,
        long_bodies: long_bodies.to_vec(),
        idle_timeout_ms: 10_000,
        stall_timeout_ms: 10_000,
        drain_timeout_ms: 10_000,
        allowed_hosts: Vec::new(),
        allowed_origins: Vec::new(),
        provider_paths: Provider::ALL.map(|provider| provider.prefix().to_owned()).to_vec(),
        validator: Validator::Strict,
        token: None,
        jwt: None,
    }
}

pub fn engine(folder: &std::path::Path, fault: ScrubFault) -> Engine {
    engine_with(folder, fault, Shaping::On)
}

pub fn engine_with(folder: &std::path::Path, fault: ScrubFault, shaping: Shaping) -> Engine {
    let store = StoreSettings {
        synchronous: Synchronous::Normal,
        busy_timeout_ms: 1_000,
        readers_max: 2,
        cluster: None,
        checkpoint_pages: 1_000,
    };
    let settings = EngineSettings {
        limits: documented_limits(),
        counter: Counter::new(Family::Claude),
        scrub: ScrubSettings { timeout_ms: 5_000, bytes_max: 2 << 20, rules: None, fault },
        shape: infold_core::ShapeRules::USUAL,
        isolation: infold_core::Isolation::Isolated,
        prices: infold_core::Prices::default(),
        fork: ForkSettings {
            profile: Profile::Seed,
            limits: ForkLimits::with_char_budget(200_000),
            log_bytes_max: 64 << 20,
        },
        timers: TimerSettings { live_ms: 86_400_000, retention_ms: 90 * 86_400_000 },
        turn: TurnSettings {
            shaping,
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
    };
    let store = Store::open(&folder.join("test.db"), &store).expect("a database");
    Engine::new(store, settings, Clock::Set(Arc::new(AtomicU64::new(NOW_MS))))
}
