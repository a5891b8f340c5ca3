//! A router on a real store in a temporary folder, and a client that calls it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use infold_control::{ContextRoom, ControlSettings, router};
use infold_core::fork::{ForkLimits, Profile};
use infold_core::{Counter, Family, Limits, ModelWindows, Owner, Principal};
use infold_engine::{
    Clock, ContextNotes, Engine, EngineSettings, ForkSettings, KeptCalls, MemoryModels, ScrubFault, ScrubSettings,
    Shaping, TimerSettings, TurnSettings,
};
use infold_store::{Store, StoreSettings, Synchronous};
use infold_testkit::{documented_limits, documented_memory_rules};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::contract;

/// The time at which a test begins: 2025-01-17T10:30:00Z.
const START_MS: u64 = 1_737_109_800_000;

/// What a test may change before the API starts.
pub struct Setup {
    pub engine: EngineSettings,
    pub control: ControlSettings,
}

/// The API in this process, on a store and a clock of its own.
pub struct Api {
    pub router: Router,
    pub engine: Engine,
    pub shutdown: CancellationToken,
    pub folder: TempDir,
    now_ms: Arc<AtomicU64>,
}

/// An answer, read whole.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).expect("the body is JSON")
    }

    /// Status, code and message of an error, and its data: `404 branch_not_found: … {…}`.
    pub fn error(&self) -> String {
        let body = self.json();
        let keys: Vec<&String> = body["error"].as_object().expect("an error").keys().collect();
        assert_eq!(keys, ["code", "status", "message", "data"]);
        let error = &body["error"];
        assert_eq!(error["status"], self.status.as_u16());
        let (code, message) = (error["code"].as_str().unwrap(), error["message"].as_str().unwrap());
        format!("{} {code}: {message} {}", self.status.as_u16(), error["data"])
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The principal of the user who runs infold on this machine.
pub fn local() -> Option<Principal> {
    Some(Principal::local())
}

/// The principal of somebody who comes with a token.
pub fn somebody(subject: &str) -> Option<Principal> {
    Some(Principal { owner: Owner::from_subject(subject), claims: Default::default() })
}

/// A request with a JSON body.
pub fn request(method: &str, path: &str, body: &Value) -> Request<Body> {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    request.body(Body::from(body.to_string())).expect("a request")
}

/// A request without a body.
pub fn bare(method: &str, path: &str) -> Request<Body> {
    Request::builder().method(method).uri(path).body(Body::empty()).expect("a request")
}

fn setup() -> Setup {
    let limits = Limits { openings_per_minute_max: 1_000, ..documented_limits() };
    Setup {
        engine: EngineSettings {
            isolation: infold_core::Isolation::Isolated,
            limits,
            counter: Counter::new(Family::Claude),
            scrub: ScrubSettings { timeout_ms: 60_000, bytes_max: 100_000, rules: None, fault: ScrubFault::None },
            shape: infold_core::ShapeRules::USUAL,
            fork: ForkSettings {
                profile: Profile::Seed,
                limits: ForkLimits::with_char_budget(200_000),
                log_bytes_max: 1 << 20,
            },
            timers: TimerSettings { live_ms: 86_400_000, retention_ms: 86_400_000 },
            prices: infold_core::Prices::default(),
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
        },
        control: ControlSettings {
            streams_max: 2,
            body_bytes_max: 200_000,
            transcript_bytes_max: 400_000,
            room: ContextRoom {
                windows: ModelWindows { default_tokens: 200_000, models: Vec::new() },
                context_limit_tokens: 32_768,
            },
            servers: [].into(),
            registry: prometheus::Registry::new(),
            shutdown: CancellationToken::new(),
        },
    }
}

impl Api {
    /// An API with the default limits, but for the rate at which branches may be opened.
    pub fn new() -> Self {
        Self::with(|_| ())
    }

    /// An API with a setup that `change` has altered.
    pub fn with(change: impl FnOnce(&mut Setup)) -> Self {
        let mut setup = setup();
        change(&mut setup);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store_settings = StoreSettings {
            synchronous: Synchronous::Normal,
            busy_timeout_ms: 5_000,
            readers_max: 2,
            cluster: None,
            checkpoint_pages: 1_000,
        };
        let store = Store::open(&folder.path().join("infold.db"), &store_settings).expect("a store");
        let now_ms = Arc::new(AtomicU64::new(START_MS));
        let engine = Engine::new(store, setup.engine, Clock::Set(Arc::clone(&now_ms)));
        let shutdown = setup.control.shutdown.clone();
        let router = router(engine.clone(), setup.control);
        Self { router, engine, shutdown, folder, now_ms }
    }

    /// Moves the test's clock forward.
    pub fn pass_ms(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sends a request and reads the whole answer, which must be as the description says.
    pub async fn send(&self, who: Option<Principal>, mut request: Request<Body>) -> Answer {
        if let Some(who) = who {
            request.extensions_mut().insert(who);
        }
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let response = self.router.clone().oneshot(request).await.expect("a router never fails");
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a whole body").to_bytes();
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        let answer = Answer { status: parts.status, headers: parts.headers, text };
        contract::check(&method, &path, &answer);
        answer
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(local(), bare("GET", path)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(local(), request("POST", path, &body)).await
    }

    /// Opens a branch in session `s`, and returns its id.
    pub async fn open(&self, description: &str) -> String {
        let answer = self.post("/api/v1/sessions/s/branches", json!({ "description": description })).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
        answer.json()["branch_id"].as_str().expect("an id").to_owned()
    }

    /// Returns from a branch.
    pub async fn fold(&self, branch: &str, message: &str) -> Answer {
        self.post(&format!("/api/v1/branches/{branch}/return"), json!({ "message": message })).await
    }
}
