//! Lines to the MCP server: every line that asks for something is answered, every one that cannot be read gets an error,
//! and the server goes on.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use infold_core::fork::{ForkLimits, Profile};
use infold_core::{Counter, Family, Isolation, ModelWindows, Prices, Principal, ShapeRules};
use infold_engine::{
    Clock, ContextNotes, Engine, EngineSettings, ForkSettings, KeptCalls, MemoryModels, ScrubFault, ScrubSettings,
    Shaping, TimerSettings, TurnSettings,
};
use infold_mcp::{ErrorStyle, Server, SessionFrom, Settings, ToolFamily, serve_streams};
use infold_store::{Store, StoreSettings, Synchronous};
use infold_testkit::{documented_limits, documented_memory_rules};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// How long an answer may take before it counts as missing.
const ANSWER_MAX: Duration = Duration::from_secs(20);
const NOW_MS: u64 = 1_768_000_000_000;
/// The id of the request that comes last.
const LAST: &str = "the last one";

/// A server that serves all inputs.
struct Bench {
    runtime: Runtime,
    server: Server,
    _folder: TempDir,
}

static BENCH: LazyLock<Bench> = LazyLock::new(|| {
    let folder = TempDir::new().expect("a temporary folder can be made");
    let settings = Settings {
        families: vec![ToolFamily::Branch, ToolFamily::Context],
        session_from: SessionFrom::Caller,
        errors: ErrorStyle::Jsonrpc,
        message_bytes_max: 8 << 10,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    let server = Server::new(engine(&folder), settings, None);
    Bench { runtime, server, _folder: folder }
});

fn engine(folder: &TempDir) -> Engine {
    let store = StoreSettings {
        synchronous: Synchronous::Normal,
        busy_timeout_ms: 1_000,
        readers_max: 2,
        cluster: None,
        checkpoint_pages: 1_000,
    };
    let settings = EngineSettings {
        isolation: Isolation::Isolated,
        limits: documented_limits(),
        counter: Counter::new(Family::Claude),
        scrub: ScrubSettings { timeout_ms: 5_000, bytes_max: 2 << 20, rules: None, fault: ScrubFault::None },
        shape: ShapeRules::USUAL,
        fork: ForkSettings {
            profile: Profile::Seed,
            limits: ForkLimits::with_char_budget(200_000),
            log_bytes_max: 64 << 20,
        },
        timers: TimerSettings { live_ms: 86_400_000, retention_ms: 90 * 86_400_000 },
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
    };
    let store = Store::open(&folder.path().join("fuzz.db"), &store).expect("a store can be opened");
    Engine::new(store, settings, Clock::Set(Arc::new(AtomicU64::new(NOW_MS))))
}

/// The whole input is lines, which come after the handshake.
pub(crate) fn check(input: &[u8]) {
    let expected = Expected::of(input);
    let bench = &*BENCH;
    bench.runtime.block_on(async {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let server = bench.server.clone();
        let serving = tokio::spawn(async move {
            let streams = tokio::io::split(theirs);
            serve_streams(&server, Principal::local(), streams, CancellationToken::new()).await
        });
        let (answers, mut lines) = tokio::io::split(ours);
        lines.write_all(&conversation(input)).await.expect("the server takes lines");
        let read = tokio::time::timeout(ANSWER_MAX, expected.wait_for(BufReader::new(answers))).await;
        assert!(read.is_ok(), "a line was not answered");
        drop(lines);
        let _ = tokio::time::timeout(ANSWER_MAX, serving).await.expect("the server ends with its input");
    });
}

fn conversation(input: &[u8]) -> Vec<u8> {
    let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let last = json!({"jsonrpc": "2.0", "id": LAST, "method": "ping"});
    [format!("{hello}\n{ready}\n").as_bytes(), input, format!("\n{last}\n").as_bytes()].concat()
}

/// What has to come back. A request that is broken in some other way is answered by an error that names no id.
struct Expected {
    ids: HashSet<String>,
    errors: usize,
}

impl Expected {
    fn of(input: &[u8]) -> Self {
        let mut expected = Self { ids: HashSet::new(), errors: 0 };
        let lines = input.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        for line in lines {
            match serde_json::from_slice::<Value>(line) {
                Err(_) => expected.errors += 1,
                Ok(message) => expected.ids.extend(asked(&message)),
            }
        }
        expected
    }

    async fn wait_for(mut self, answers: impl tokio::io::AsyncRead + Unpin) {
        let mut lines = BufReader::new(answers).lines();
        let (mut has_last, mut unnamed) = (false, 0);
        while !has_last || self.ids.len() + self.errors > unnamed {
            let line = lines.next_line().await.expect("answers are text").expect("the server goes on");
            let answer: Value = serde_json::from_str(&line).expect("answers are JSON");
            assert_eq!(answer["jsonrpc"], "2.0", "{line}");
            has_last |= answer["id"] == LAST;
            unnamed += usize::from(answer["id"].is_null());
            self.ids.remove(&answer["id"].to_string());
        }
    }
}

/// The id of a message that asks for something, as JSON.
fn asked(message: &Value) -> Option<String> {
    let is_request = message["jsonrpc"] == "2.0" && message["method"].is_string() && message["params"].is_object();
    let id = message.get("id").filter(|id| id.is_string() || id.is_u64())?;
    is_request.then(|| id.to_string())
}
