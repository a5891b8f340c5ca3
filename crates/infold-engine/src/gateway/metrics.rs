//! The gateway's metrics. Servers and tools are not labels: their names come from outside.

use opentelemetry::global;
use opentelemetry::metrics::Counter;

pub(crate) struct GatewayMetrics {
    inline: Counter<u64>,
    uncounted: Counter<u64>,
}

impl GatewayMetrics {
    pub(crate) fn new() -> Self {
        let meter = global::meter("infold");
        let counter = |name: &'static str, what: &'static str| meter.u64_counter(name).with_description(what).build();
        Self {
            inline: counter(
                "infold.gateway.left_inline",
                "Results of other servers' tools that the store could not take, and that were shown as they were.",
            ),
            uncounted: counter("infold.gateway.uncounted", "Calls of other servers' tools that no figure has."),
        }
    }

    /// A result was shown as it was, because the store could not take it.
    pub(super) fn left_inline(&self) {
        self.inline.add(1, &[]);
    }

    /// Calls were not counted, because too many tools' figures wait.
    pub(super) fn uncounted(&self, calls: u64) {
        self.uncounted.add(calls, &[]);
    }
}
