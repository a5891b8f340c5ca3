//! The proxy behind a real door, an upstream that plays what it is told byte by byte, and a client that sends
//! exactly the bytes it is given.
#![allow(dead_code, reason = "each test file uses another part of this one")]

pub mod client;
pub mod upstream;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use infold_core::fork::{ForkLimits, Profile};
use infold_core::{Counter, Family};
use infold_door::{Closed, Door, DoorSettings, LongBody, Validator};
use infold_engine::{Clock, Engine, EngineSettings, ForkSettings, ScrubFault, ScrubSettings, TimerSettings};
use infold_proxy::{Planning, Provider, ProxySettings, Shaping, Tunnels, Upstream};
use infold_store::{Store, StoreSettings, Synchronous};
use infold_testkit::documented_limits;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// When the clock of a test stands.
const NOW_MS: u64 = 1_768_000_000_000;

/// Settings with both providers at one address.
pub fn settings(upstream: SocketAddr) -> ProxySettings {
    let upstream = Upstream::parse(&format!("http://{upstream}")).expect("an address");
    ProxySettings {
        anthropic: upstream.clone(),
        openai: upstream,
        planning: Planning::On,
        shaping: Shaping::On,
        shape_rules: infold_core::ShapeRules::USUAL,
        body_bytes_max: 1 << 20,
        tunnels: Tunnels::none(),
        connect_timeout_ms: 2_000,
        silence_timeout_ms: 20_000,
        hold_ms: 1_000,
        retries_max: 2,
        retry_statuses: Vec::new(),
        retry_after_max_ms: 2_000,
        windows: infold_core::Windows { default_tokens: 200_000, models: Vec::new() },
        reserve_tokens: 60_000,
        sessions_max: 16,
        sessions_bytes_max: 1 << 20,
        tasks: TaskTracker::new(),
    }
}

/// A proxy that is being served.
pub struct Running {
    pub address: SocketAddr,
    pub engine: Engine,
    pub shutdown: CancellationToken,
    pub tasks: TaskTracker,
    serving: JoinHandle<Closed>,
    _folder: tempfile::TempDir,
}

impl Running {
    /// Begins the shutdown and waits for its end.
    pub async fn close(self) -> Closed {
        self.shutdown.cancel();
        let closed = self.serving.await.expect("the door does not panic");
        self.tasks.close();
        self.tasks.wait().await;
        closed
    }
}

pub async fn start(settings: ProxySettings) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = engine(folder.path(), ScrubFault::None);
    start_on(folder, engine, settings).await
}

pub async fn start_on(folder: tempfile::TempDir, engine: Engine, settings: ProxySettings) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback can be listened on");
    let address = listener.local_addr().expect("an address");
    let shutdown = CancellationToken::new();
    let tasks = settings.tasks.clone();
    let router = infold_proxy::router(engine.clone(), settings, shutdown.clone());
    let door = Door::open(listener, door_settings()).expect("the settings are sound");
    let serving = tokio::spawn(door.serve(router, shutdown.clone()));
    Running { address, engine, shutdown, tasks, serving, _folder: folder }
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
    let store = StoreSettings {
        synchronous: Synchronous::Normal,
        busy_timeout_ms: 1_000,
        readers_max: 2,
        checkpoint_pages: 1_000,
    };
    let settings = EngineSettings {
        limits: documented_limits(),
        counter: Counter::new(Family::Claude),
        scrub: ScrubSettings { timeout_ms: 5_000, bytes_max: 2 << 20, fault },
        shape: infold_core::ShapeRules::USUAL,
        isolation: infold_core::Isolation::Isolated,
        prices: infold_core::Prices::default(),
        fork: ForkSettings {
            profile: Profile::Seed,
            limits: ForkLimits::with_char_budget(200_000),
            log_bytes_max: 64 << 20,
        },
        timers: TimerSettings { live_ms: 86_400_000, retention_ms: 90 * 86_400_000 },
    };
    let store = Store::open(&folder.join("test.db"), &store).expect("a database");
    Engine::new(store, settings, Clock::Set(Arc::new(AtomicU64::new(NOW_MS))))
}
