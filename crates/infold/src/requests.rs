//! A span and a measurement for each HTTP request, and the program's name on each answer.
//!
//! Only the route is recorded, never the path: a path can carry a session's name, and names have no
//! bound.

use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::HeaderValue;
use axum::http::header::SERVER;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use opentelemetry::metrics::Histogram;
use opentelemetry::{KeyValue, global};
use tracing::Instrument;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The value of the header `Server`, by which `probe` recognises an infold.
pub const NAME: &str = concat!("infold/", env!("CARGO_PKG_VERSION"));
const SECOND_BOUNDS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// Adds a span, a measurement and the header `Server` to each request of the router.
pub fn recorded(router: Router) -> Router {
    let durations = global::meter("infold")
        .f64_histogram("http.server.request.duration")
        .with_unit("s")
        .with_description("Time from a request's head to its answer's.")
        .with_boundaries(SECOND_BOUNDS.to_vec())
        .build();
    router.layer(from_fn(move |request, next| record(durations.clone(), request, next)))
}

async fn record(durations: Histogram<f64>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str).to_owned();
    // A caller can invent methods, so all but the usual ones share one label.
    let method = match request.method().as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "DELETE" => "DELETE",
        "HEAD" => "HEAD",
        "OPTIONS" => "OPTIONS",
        _ => "_OTHER",
    };
    let span = tracing::info_span!("request", otel.kind = "server", http.request.method = method, http.route = route);

    let mut response = next.run(request).instrument(span.clone()).await;

    response.headers_mut().insert(SERVER, HeaderValue::from_static(NAME));
    let status = response.status().as_u16();
    // A field of the span would be written for log lines too, of which none comes any more.
    span.set_attribute("http.response.status_code", i64::from(status));
    let labels = [
        KeyValue::new("http.request.method", method),
        KeyValue::new("http.route", route),
        KeyValue::new("http.response.status_code", i64::from(status)),
    ];
    durations.record(started.elapsed().as_secs_f64(), &labels);
    response
}
