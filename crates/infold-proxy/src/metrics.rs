//! The proxy's metrics. Names of models and clients are not labels, because names from outside have no bound.

use std::time::Duration;

use opentelemetry::metrics::{Counter, Histogram};
use opentelemetry::{KeyValue, global};

/// Bounds of the buckets for planning, in seconds: from hardly anything to longer than anybody should wait.
const SECOND_BOUNDS: [f64; 10] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0];

pub(crate) struct ProxyMetrics {
    requests: Counter<u64>,
    planning: Histogram<f64>,
    bytes: Counter<u64>,
    unmetered: Counter<u64>,
    repeated: Counter<u64>,
}

impl ProxyMetrics {
    pub(crate) fn new() -> Self {
        let meter = global::meter("infold");
        let counter = |name: &'static str, what: &'static str| meter.u64_counter(name).with_description(what).build();
        Self {
            requests: counter("infold.proxy.requests", "Requests taken by the proxy, by interface and outcome."),
            planning: meter
                .f64_histogram("infold.proxy.planning")
                .with_unit("s")
                .with_description("Time from a request's last byte to its plan.")
                .with_boundaries(SECOND_BOUNDS.to_vec())
                .build(),
            bytes: counter("infold.proxy.bytes", "Bytes of requests, as clients sent them and as providers got them."),
            unmetered: counter("infold.proxy.unmetered", "Answers in a form that could not be read."),
            repeated: counter("infold.proxy.repeated", "Requests that were sent again, by reason."),
        }
    }

    pub(crate) fn request(&self, api: &'static str, outcome: &'static str) {
        self.requests.add(1, &[KeyValue::new("api", api), KeyValue::new("outcome", outcome)]);
    }

    pub(crate) fn planned(&self, took: Duration, came_bytes: usize, sent_bytes: usize) {
        self.planning.record(took.as_secs_f64(), &[]);
        self.bytes.add(came_bytes as u64, &[KeyValue::new("of", "client")]);
        self.bytes.add(sent_bytes as u64, &[KeyValue::new("of", "infold")]);
    }

    pub(crate) fn unmetered(&self) {
        self.unmetered.add(1, &[]);
    }

    pub(crate) fn repeated(&self, reason: &'static str) {
        self.repeated.add(1, &[KeyValue::new("reason", reason)]);
    }
}
