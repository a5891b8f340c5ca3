//! Handlers for health checks, metrics and the OpenAPI description. Health checks are open to anybody, so they
//! show no more than a word or a code.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use prometheus::TextEncoder;
use schemars::JsonSchema;
use serde::Serialize;

use crate::control::Control;
use crate::error::ApiError;

/// How long the readiness check waits for the store.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);
/// The media type of the Prometheus text format.
pub(crate) const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The answer of a health check that passed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Health {
    /// `ok` if the daemon runs, `ready` if it can do its work.
    status: &'static str,
}

/// Answers as long as the process serves requests at all.
pub(crate) async fn alive() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Succeeds if infold can do its work: something can be stored and read back, and the scrubber takes a secret
/// out.
///
/// Anybody may ask, so the answer names a problem by its code alone; the log has the details.
pub(crate) async fn ready(State(control): State<Control>) -> Result<Json<Health>, ApiError> {
    let store = store_problem(&control).await;
    let scrubber = scrubber_problem(&control).await;
    let wrong: Vec<String> = [store.map(|code| ("store", code)), scrubber.map(|code| ("scrubber", code))]
        .into_iter()
        .flatten()
        .map(|(part, code)| format!("{part} ({code})"))
        .collect();
    if wrong.is_empty() {
        return Ok(Json(Health { status: "ready" }));
    }
    let message = format!("infold cannot do its work: {}; its log says more", wrong.join(", "));
    let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", message);
    Err(error.with("store", store).with("scrubber", scrubber))
}

async fn store_problem(control: &Control) -> Option<&'static str> {
    match tokio::time::timeout(STORE_TIMEOUT, control.engine.check_store()).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(ApiError::from(error).code),
        Err(_elapsed) => Some("store_stalled"),
    }
}

async fn scrubber_problem(control: &Control) -> Option<&'static str> {
    // It only looks like a token. It is put together here so that no scanner takes this file for a leak.
    let text = ["gh", "p_", "0a1B2c3D4e5F6g7H8i9J", "0k1L2m3N4o5P6q7R"].concat();
    match control.engine.scrub([text]).await {
        Ok([scrubbed]) if scrubbed.secrets() == 1 => None,
        Ok(_) => Some("scrubber_blind"),
        Err(error) => Some(ApiError::from(error).code),
    }
}

/// Prints the metrics in the Prometheus text format.
pub(crate) async fn metrics(State(control): State<Control>) -> Result<Response, ApiError> {
    let text = TextEncoder::new().encode_to_string(&control.settings.registry.gather()).map_err(|error| {
        tracing::error!(%error, "metrics could not be written");
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "metrics_failed", "The metrics could not be written")
    })?;
    Ok(([(CONTENT_TYPE, METRICS_TYPE)], text).into_response())
}

/// Sends the OpenAPI description.
pub(crate) async fn describe(State(control): State<Control>) -> Response {
    ([(CONTENT_TYPE, "application/json")], control.description).into_response()
}
