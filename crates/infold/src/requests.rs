//! A span and a measurement for each HTTP request, and the program's name on each answer.
//!
//! Only the route is recorded, never the path: a path can carry a session's name, and names have no
//! bound.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::HeaderValue;
use axum::http::header::SERVER;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use opentelemetry::metrics::Histogram;
use opentelemetry::{KeyValue, global};
use tracing::{Instrument, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The value of the header `Server`, by which `probe` recognises an infold.
pub const NAME: &str = concat!("infold/", env!("CARGO_PKG_VERSION"));
const SECOND_BOUNDS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// The spans of requests, by who looks at them.
pub enum RequestSpans {
    /// A collector gets them, so each request has its own.
    Collected,
    /// Log lines show them, which say no more of a request than its route and method. So all requests of one share a span,
    /// which would otherwise be made and dropped with each.
    Logged(Mutex<HashMap<(String, &'static str), Span>>),
}

impl RequestSpans {
    /// The spans of a program that sends traces to `otlp_endpoint`, unless it is empty.
    pub fn for_collector(otlp_endpoint: &str) -> Self {
        if otlp_endpoint.is_empty() { Self::Logged(Mutex::default()) } else { Self::Collected }
    }

    fn of(&self, route: &str, method: &'static str) -> Span {
        let new =
            || tracing::info_span!("request", otel.kind = "server", http.request.method = method, http.route = route);
        match self {
            Self::Collected => new(),
            Self::Logged(spans) => {
                let mut spans = spans.lock().unwrap_or_else(PoisonError::into_inner);
                spans.entry((route.to_owned(), method)).or_insert_with(new).clone()
            }
        }
    }
}

/// Adds a span, a measurement and the header `Server` to each request of the router.
pub fn recorded(router: Router, spans: RequestSpans) -> Router {
    let spans = Arc::new(spans);
    let durations = global::meter("infold")
        .f64_histogram("http.server.request.duration")
        .with_unit("s")
        .with_description("Time from a request's head to its answer's.")
        .with_boundaries(SECOND_BOUNDS.to_vec())
        .build();
    router.layer(from_fn(move |request, next| record((durations.clone(), Arc::clone(&spans)), request, next)))
}

async fn record((durations, spans): (Histogram<f64>, Arc<RequestSpans>), request: Request, next: Next) -> Response {
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
    let span = spans.of(&route, method);

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
