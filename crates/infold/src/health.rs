//! `/healthz`, `/readyz` and `/metrics`: what those who watch over the daemon ask.
//!
//! The first two answer anyone who reaches the port, so they say nothing about sessions.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use infold_engine::Engine;
use prometheus::{Registry, TextEncoder};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// How long the database may take to answer before the daemon counts as not ready.
const READY_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone)]
struct Watched {
    engine: Engine,
    registry: Registry,
    shutdown: CancellationToken,
}

/// The routes.
pub fn router(engine: Engine, registry: Registry, shutdown: CancellationToken) -> Router {
    Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(Watched { engine, registry, shutdown })
}

async fn alive() -> Response {
    status(StatusCode::OK, "ok")
}

async fn ready(State(watched): State<Watched>) -> Response {
    if watched.shutdown.is_cancelled() {
        return status(StatusCode::SERVICE_UNAVAILABLE, "stopping");
    }
    match tokio::time::timeout(READY_TIMEOUT, watched.engine.newest_event()).await {
        Ok(Ok(_)) => status(StatusCode::OK, "ready"),
        Ok(Err(error)) => {
            tracing::error!(%error, "the database does not answer");
            status(StatusCode::SERVICE_UNAVAILABLE, "the database does not answer")
        }
        Err(_elapsed) => status(StatusCode::SERVICE_UNAVAILABLE, "the database is slow to answer"),
    }
}

fn status(code: StatusCode, status: &str) -> Response {
    let body = json!({"name": "infold", "version": env!("CARGO_PKG_VERSION"), "status": status});
    (code, axum::Json(body)).into_response()
}

async fn metrics(State(watched): State<Watched>) -> Response {
    match TextEncoder::new().encode_to_string(&watched.registry.gather()) {
        Ok(text) => ([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
