//! Metrics of tool calls: how many there were by tool and outcome, and how long they took. Tools and outcomes
//! are few and known, so they can be labels; ids never are.

use std::time::Duration;

use opentelemetry::metrics::{Counter, Histogram};
use opentelemetry::{KeyValue, global};

const SECOND_BOUNDS: [f64; 10] = [0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0];

#[derive(Debug)]
pub(crate) struct McpMetrics {
    calls: Counter<u64>,
    duration: Histogram<f64>,
    unplaced: Counter<u64>,
}

impl McpMetrics {
    pub(crate) fn new() -> Self {
        let meter = global::meter("infold");
        Self {
            calls: meter
                .u64_counter("infold.tool.calls")
                .with_description("Calls of infold's own tools, by tool and outcome.")
                .build(),
            duration: meter
                .f64_histogram("infold.tool.duration")
                .with_unit("s")
                .with_description("Time to answer a call, by tool.")
                .with_boundaries(SECOND_BOUNDS.to_vec())
                .build(),
            unplaced: meter
                .u64_counter("infold.tool.unplaced")
                .with_description("Calls that belong behind the proxy and that no model was seen to make.")
                .build(),
        }
    }

    /// Counts a call whose session is not known, although it came from behind the proxy.
    pub(crate) fn unplaced(&self) {
        self.unplaced.add(1, &[]);
    }

    /// Counts a call that ended in `outcome`: `ok`, or the code of a refusal.
    pub(crate) fn called(&self, tool: &'static str, outcome: &'static str, took: Duration) {
        let tool = KeyValue::new("tool", tool);
        self.duration.record(took.as_secs_f64(), std::slice::from_ref(&tool));
        self.calls.add(1, &[tool, KeyValue::new("outcome", outcome)]);
    }
}
