//! Metrics of requests. Models are not labels, because their names come from outside and their number has no bound.

use infold_core::record::{RequestRecord, Usage};
use opentelemetry::metrics::{Counter, Gauge, Histogram, UpDownCounter};
use opentelemetry::{KeyValue, global};

/// Bounds of the buckets for the time that infold adds, in seconds: up to what nobody should wait for.
const ADDED_BOUNDS: [f64; 10] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0];
const FIRST_BYTE_BOUNDS: [f64; 9] = [0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];
const MICROS_PER_DOLLAR: f64 = 1_000_000.0;

pub(crate) struct RequestMetrics {
    recorded: Counter<u64>,
    dropped: Counter<u64>,
    edits: Counter<u64>,
    warnings: Counter<u64>,
    tokens: Counter<u64>,
    /// It can go down: infold may add more to a request than it removes.
    saved_tokens: UpDownCounter<i64>,
    saved_cost: UpDownCounter<f64>,
    missed_tokens: Counter<u64>,
    cost: Counter<f64>,
    added: Histogram<f64>,
    first_byte: Histogram<f64>,
    calibration: Gauge<f64>,
}

impl RequestMetrics {
    pub(crate) fn new() -> Self {
        let meter = global::meter("infold");
        let counter = |name: &'static str, what: &'static str| meter.u64_counter(name).with_description(what).build();
        let seconds = |name: &'static str, what: &'static str, bounds: &[f64]| {
            meter.f64_histogram(name).with_unit("s").with_description(what).with_boundaries(bounds.to_vec()).build()
        };
        Self {
            recorded: counter("infold.requests", "Requests to models, by how their answer ended."),
            dropped: counter("infold.requests.unrecorded", "Requests of which nothing could be kept."),
            edits: counter("infold.request.edits", "Blocks of requests that were edited, by reason."),
            warnings: counter("infold.request.warnings", "Warnings about requests, by kind."),
            tokens: counter("infold.request.tokens", "Tokens that providers reported, by kind."),
            saved_tokens: meter
                .i64_up_down_counter("infold.request.saved_tokens")
                .with_description("Tokens that infold removed from prompts.")
                .build(),
            saved_cost: meter
                .f64_up_down_counter("infold.request.saved_cost")
                .with_description("What that saved in dollars, as an estimate by the prices in the settings.")
                .build(),
            missed_tokens: counter("infold.request.missed_tokens", "Tokens that a cache could have given and did not."),
            cost: meter
                .f64_counter("infold.request.cost")
                .with_description("What requests cost in dollars, by the prices in the settings.")
                .build(),
            added: seconds("infold.request.added", "What infold added in front of sending.", &ADDED_BOUNDS),
            first_byte: seconds("infold.request.first_byte", "Time to the first byte.", &FIRST_BYTE_BOUNDS),
            calibration: meter
                .f64_gauge("infold.count.calibration")
                .with_description("Tokens that providers count for each of ours, by family.")
                .build(),
        }
    }

    fn answered(&self, usage: &Usage) {
        let kind = |kind: &'static str| [KeyValue::new("kind", kind)];
        self.tokens.add(usage.prompt_tokens() - usage.cache_read_tokens, &kind("input"));
        self.tokens.add(usage.cache_read_tokens, &kind("cache_read"));
        self.tokens.add(usage.output_tokens, &kind("output"));
    }

    pub(super) fn recorded(&self, record: &RequestRecord) {
        self.recorded.add(1, &[KeyValue::new("end", record.end.as_str())]);
        if let Some(usage) = &record.usage {
            self.answered(usage);
        }
        for edit in &record.edits {
            let reason = serde_json::to_value(edit.reason).ok();
            let reason = reason.and_then(|reason| reason.as_str().map(str::to_owned)).unwrap_or_default();
            self.edits.add(edit.blocks as u64, &[KeyValue::new("reason", reason)]);
        }
        for warning in &record.warnings {
            let kind = serde_json::to_value(warning.kind).ok();
            let kind = kind.and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default();
            self.warnings.add(1, &[KeyValue::new("kind", kind)]);
        }
        self.saved_tokens.add(record.saved_tokens(), &[]);
        self.missed_tokens.add(record.miss.as_ref().map_or(0, |miss| miss.missed_tokens), &[]);
        self.cost.add(record.cost_micros.unwrap_or(0) as f64 / MICROS_PER_DOLLAR, &[]);
        if let (Some(cost_micros), Some(wanted_micros)) = (record.cost_micros, record.wanted_cost_micros) {
            self.saved_cost.add((wanted_micros as f64 - cost_micros as f64) / MICROS_PER_DOLLAR, &[]);
        }
        self.added.record(record.timing.added_us as f64 / 1_000_000.0, &[]);
        if let Some(first_byte_ms) = record.timing.first_byte_ms {
            self.first_byte.record(first_byte_ms as f64 / 1_000.0, &[]);
        }
    }

    pub(super) fn dropped(&self, count: u64) {
        self.dropped.add(count, &[]);
    }

    pub(crate) fn calibrated(&self, family: infold_core::Family, per_mille: u64) {
        self.calibration.record(per_mille as f64 / 1_000.0, &[KeyValue::new("family", family.as_str())]);
    }
}
