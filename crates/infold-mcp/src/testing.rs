//! A server on a database of its own, for tests, and a client that speaks to it over in-memory pipes.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use infold_core::fork::{ForkLimits, Profile};
use infold_core::{Counter, Family, Principal};
use infold_engine::{
    Clock, ContextNotes, Engine, EngineSettings, ForkSettings, KeptCalls, MemoryModels, ScrubFault, ScrubSettings,
    Shaping, TimerSettings, TurnSettings,
};
use infold_store::{Store, StoreSettings, Synchronous};
use infold_testkit::{documented_limits, documented_memory_rules};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

use crate::{ErrorStyle, Server, SessionFrom, Settings, ToolFamily, serve_streams};

/// The time on a test's clock.
const NOW_MS: u64 = 1_768_000_000_000;

/// Settings as the program has them.
pub(crate) fn settings() -> Settings {
    Settings {
        families: vec![ToolFamily::Branch, ToolFamily::Context],
        session_from: SessionFrom::Caller,
        errors: ErrorStyle::Jsonrpc,
        message_bytes_max: 4 << 20,
    }
}

/// A server and the folder its database is in.
pub(crate) struct Fixture {
    pub(crate) server: Server,
    pub(crate) engine: Engine,
    _folder: tempfile::TempDir,
}

pub(crate) fn server(settings: Settings) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path());
    Fixture { server: Server::new(engine.clone(), settings, None), engine, _folder: folder }
}

fn engine(folder: &std::path::Path) -> Engine {
    let store = StoreSettings {
        synchronous: Synchronous::Normal,
        busy_timeout_ms: 1_000,
        readers_max: 2,
        cluster: None,
        checkpoint_pages: 1_000,
    };
    let settings = EngineSettings {
        isolation: infold_core::Isolation::Isolated,
        limits: documented_limits(),
        counter: Counter::new(Family::Claude),
        scrub: ScrubSettings { timeout_ms: 5_000, bytes_max: 2 << 20, rules: None, fault: ScrubFault::None },
        shape: infold_core::ShapeRules::USUAL,
        fork: ForkSettings {
            profile: Profile::Seed,
            limits: ForkLimits::with_char_budget(200_000),
            log_bytes_max: 64 << 20,
        },
        timers: TimerSettings { live_ms: 86_400_000, retention_ms: 90 * 86_400_000 },
        prices: infold_core::Prices::default(),
        turn: TurnSettings {
            shaping: Shaping::On,
            windows: infold_core::ModelWindows { default_tokens: 200_000, models: Vec::new() },
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
    let store = Store::open(&folder.join("test.db"), &store).unwrap();
    Engine::new(store, settings, Clock::Set(Arc::new(AtomicU64::new(NOW_MS))))
}

/// A client of the older era, over in-memory pipes.
pub(crate) struct Client {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    out: WriteHalf<DuplexStream>,
    next_id: u64,
}

impl Client {
    pub(crate) async fn connect(fixture: &Fixture) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let server = fixture.server.clone();
        tokio::spawn(async move {
            let streams = tokio::io::split(theirs);
            serve_streams(&server, Principal::local(), streams, CancellationToken::new()).await
        });
        let (input, out) = tokio::io::split(ours);
        let mut client = Self { lines: BufReader::new(input).lines(), out, next_id: 0 };
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        client.request("initialize", params).await;
        client.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.out.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request and returns what comes back up to and including its answer.
    pub(crate) async fn request_with_news(&mut self, method: &str, params: Value) -> Vec<Value> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        let mut seen = Vec::new();
        loop {
            let line = self.lines.next_line().await.unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            let is_answer = message["id"] == id;
            seen.push(message);
            if is_answer {
                return seen;
            }
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        self.request_with_news(method, params).await.pop().unwrap()
    }

    /// Calls a tool and returns its result, or the JSON-RPC error.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        answer.get("result").or(answer.get("error")).cloned().unwrap()
    }

    /// Calls a tool that answers, and returns its structured content, which the text repeats.
    pub(crate) async fn answer(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        let body = result["structuredContent"].clone();
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, body, "{result}");
        body
    }
}
