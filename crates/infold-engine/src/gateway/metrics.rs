//! The gateway's metrics. Servers and tools are not labels: their names come from outside.

use opentelemetry::global;
use opentelemetry::metrics::Counter;

use super::ServerCall;

pub(crate) struct GatewayMetrics {
    calls: Counter<u64>,
    servers: Counter<u64>,
    stored: Counter<u64>,
    inline: Counter<u64>,
    uncounted: Counter<u64>,
}

impl GatewayMetrics {
    pub(crate) fn new() -> Self {
        let meter = global::meter("infold");
        let counter = |name: &'static str, what: &'static str| meter.u64_counter(name).with_description(what).build();
        Self {
            calls: counter("infold.gateway.calls", "Calls of other servers' tools that reached their servers."),
            servers: counter("infold.gateway.servers", "Other servers that were called at least once."),
            stored: counter(
                "infold.gateway.stored",
                "Results of other servers' tools that were stored and replaced by a reference.",
            ),
            inline: counter(
                "infold.gateway.left_inline",
                "Results of other servers' tools that the store could not take, and that were shown as they were.",
            ),
            uncounted: counter("infold.gateway.uncounted", "Calls of other servers' tools that no figure has."),
        }
    }

    /// A call of a server is over.
    pub(super) fn called(&self, call: &ServerCall) {
        self.calls.add(1, &[]);
        self.stored.add(u64::from(call.offloaded), &[]);
    }

    /// A server was called for the first time.
    pub(super) fn first_called(&self) {
        self.servers.add(1, &[]);
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
