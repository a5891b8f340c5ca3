//! Serves the conformance fixtures on a loopback port, without the rest of the program.
//!
//! `cargo run -p infold-mcp --example fixtures -- 3931`, then the official suite against
//! `http://127.0.0.1:3931/mcp`. A second argument says how many sessions of the older era may stand;
//! with 0 every request is served on its own, as the program does it.

use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use infold_core::Principal;
use infold_mcp::{ErrorStyle, ToolFamily, Fixtures, Server, Settings, http_router};
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
    let app = http_router(Server::new(settings), CancellationToken::new()).layer(from_fn(door));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", number(1).unwrap_or(3931))).await?;
    axum::serve(listener, app).await
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
