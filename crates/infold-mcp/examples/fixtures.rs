//! Serves the tools and the conformance fixtures without the rest of the program: on a loopback port,
//! or with `stdio` as the first argument on standard input and output.
//!
//! `cargo run -p infold-mcp --example fixtures -- 3931`, then the official suite against
//! `http://127.0.0.1:3931/mcp`. A second argument says how many sessions of the older era may stand;
//! with 0 every request is served on its own, as the program does it.

use std::path::Path;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use infold_core::{Allocation, ContextBound, Counter, Family, Limits, Principal};
use infold_engine::{Clock, Engine, EngineSettings, ScrubFault, ScrubSettings, TimerSettings};
use infold_mcp::{ErrorStyle, Fixtures, Server, Settings, ToolFamily, http_router, serve_stdio};
use infold_store::{Store, StoreError, StoreSettings, Synchronous};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let number = |at: usize| std::env::args().nth(at).and_then(|text| text.parse::<u16>().ok());
    let settings = Settings {
        families: vec![ToolFamily::Branch, ToolFamily::Context],
        errors: ErrorStyle::Jsonrpc,
        fixtures: Fixtures::On,
        message_bytes_max: 4 << 20,
        sessions_max: number(2).unwrap_or(100).into(),
        session_idle: Duration::from_secs(60),
    };
    let folder = tempfile::tempdir()?;
    let server = Server::new(engine(folder.path()).map_err(std::io::Error::other)?, settings);
    if std::env::args().nth(1).as_deref() == Some("stdio") {
        let served = serve_stdio(&server, Principal::local(), CancellationToken::new()).await;
        return served.map_err(std::io::Error::other);
    }
    let app = http_router(server, CancellationToken::new()).layer(from_fn(door));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", number(1).unwrap_or(3931))).await?;
    axum::serve(listener, app).await
}

/// An engine on a new database, with bounds wide enough for a tester in a hurry.
fn engine(folder: &Path) -> Result<Engine, StoreError> {
    let store = StoreSettings {
        synchronous: Synchronous::Full,
        busy_timeout_ms: 1_000,
        readers_max: 2,
        checkpoint_pages: 1_000,
    };
    let limits = Limits {
        budget_default_tokens: 8_192,
        budget_max_tokens: 32_768,
        timeout_default_s: 300,
        timeout_max_s: 600,
        depth_max: 3,
        open_per_session_max: 10,
        open_per_instance_max: 100,
        openings_per_minute_max: 1_000,
        allocation: Allocation::Independent,
        session_budget_tokens: None,
        context_limit_tokens: 32_768,
        context_bound: ContextBound::Soft,
        session_end_ms: 30_000,
    };
    let settings = EngineSettings {
        limits,
        counter: Counter::new(Family::Claude),
        scrub: ScrubSettings { timeout_ms: 5_000, bytes_max: 2 << 20, fault: ScrubFault::None },
        offload_bytes: 4_096,
        timers: TimerSettings { live_ms: 86_400_000, retention_ms: 86_400_000 },
    };
    Ok(Engine::new(Store::open(&folder.join("fixtures.db"), &store)?, settings, Clock::System))
}

/// Stands in for the program's door: loopback names only, and everybody is the local user.
async fn door(mut request: Request, next: Next) -> Response {
    if !is_of_this_machine(request.headers(), "host") || !is_of_this_machine(request.headers(), "origin") {
        return (StatusCode::FORBIDDEN, "Host and Origin must be of this machine").into_response();
    }
    request.extensions_mut().insert(Principal::local());
    next.run(request).await
}

fn is_of_this_machine(headers: &HeaderMap, name: &str) -> bool {
    let Some(value) = headers.get(name) else {
        return true;
    };
    let value = value.to_str().unwrap_or_default().trim_start_matches("http://");
    matches!(value.split(':').next(), Some("localhost" | "127.0.0.1"))
}
