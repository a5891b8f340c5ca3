//! Metrics of a machine that shares its state with others.

use infold_store::ClusterState;
use opentelemetry::global;
use opentelemetry::metrics::Gauge;

pub(crate) struct ClusterMetrics {
    lag: Gauge<u64>,
    moved: Gauge<u64>,
    reconnects: Gauge<u64>,
    duty: Gauge<u64>,
    reached: Gauge<u64>,
}

impl ClusterMetrics {
    pub(super) fn new() -> Self {
        let meter = global::meter("infold");
        let gauge = |name: &'static str, what: &'static str| meter.u64_gauge(name).with_description(what).build();
        Self {
            lag: gauge(
                "infold.cluster.lag",
                "Places in the shared log that are known of and not in this machine's index.",
            ),
            moved: gauge("infold.cluster.moved", "How often entries were made again because the log had moved on."),
            reconnects: gauge("infold.cluster.reconnects", "How often a connection to the servers was made."),
            duty: gauge("infold.cluster.duty", "1 if this machine does what is done once for all."),
            reached: gauge("infold.cluster.reached", "1 if the servers could be reached the last time."),
        }
    }

    /// Notes how the machine is.
    pub(crate) fn note(&self, state: &ClusterState) {
        self.lag.record(state.last.saturating_sub(state.applied), &[]);
        self.moved.record(state.moved, &[]);
        self.reconnects.record(state.reconnects, &[]);
        self.duty.record(u64::from(state.on_duty), &[]);
        self.reached.record(u64::from(state.problem.is_none()), &[]);
    }
}
