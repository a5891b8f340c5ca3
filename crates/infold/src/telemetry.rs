//! Log lines on standard error, metrics, and traces if they are wanted.
//!
//! Other code records metrics through OpenTelemetry's global meter; this file decides where they go:
//! always to a registry that `/metrics` reads, and to a collector if the settings name one. The threads
//! that send exist only then. Start this before any async runtime and stop it after, because the sender
//! blocks.

use std::io::{self, IsTerminal};
use std::time::Duration;

use anyhow::Context;
use opentelemetry::trace::TracerProvider;
use opentelemetry::{KeyValue, global};
use opentelemetry_otlp::{MetricExporter, Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use prometheus::Registry;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::acp;
use crate::cli::Globals;
use crate::draw::Paint;
use crate::output;
use crate::settings::{LogFormat, LogLevel, Surroundings};

/// How long the end may wait for the collector. What it has not taken by then is lost.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

type Subscriber = tracing_subscriber::Registry;

/// Logs, traces and metrics of this run.
pub struct Telemetry {
    /// The metrics that `/metrics` shows.
    pub registry: Registry,
    meters: SdkMeterProvider,
    tracers: Option<SdkTracerProvider>,
}

/// Which log lines are written, and how they look.
pub struct Logging {
    level: LevelFilter,
    format: LogFormat,
    paint: Paint,
}

impl Logging {
    /// Chooses level, format and colour by the settings, the flags and the terminal.
    pub fn new(settings: &crate::settings::Telemetry, globals: &Globals, surroundings: &Surroundings) -> Self {
        let format = match settings.log_format {
            LogFormat::Auto if io::stderr().is_terminal() => LogFormat::Text,
            LogFormat::Auto => LogFormat::Json,
            chosen @ (LogFormat::Text | LogFormat::Json) => chosen,
        };
        let level = match (globals.quiet, globals.verbose) {
            (true, _) => LevelFilter::ERROR,
            (false, 0) => level(settings.log_level),
            (false, 1) => LevelFilter::DEBUG,
            (false, _) => LevelFilter::TRACE,
        };
        Self { level, format, paint: output::paint(globals.color, surroundings, &io::stderr()) }
    }

    /// No log lines at all.
    pub fn off() -> Self {
        Self { level: LevelFilter::OFF, format: LogFormat::Text, paint: Paint::Plain }
    }

    fn layer(&self) -> Box<dyn Layer<Subscriber> + Send + Sync> {
        let layer = fmt::layer().with_writer(io::stderr).with_ansi(self.paint == Paint::Colour);
        // Of libraries, only warnings and errors are logged: their finer lines hold whole requests, with
        // every secret in them.
        let others = self.level.min(LevelFilter::WARN);
        let filter = Targets::new()
            .with_default(others)
            .with_target(infold_mcp::HELD_TO_ERROR_LOG_TARGET, self.level.min(LevelFilter::ERROR))
            .with_target(acp::HELD_TO_ERROR_LOG_TARGET, self.level.min(LevelFilter::ERROR))
            .with_target("infold", self.level);
        match self.format {
            LogFormat::Json => layer.json().flatten_event(true).with_filter(filter).boxed(),
            LogFormat::Auto | LogFormat::Text => layer.with_filter(filter).boxed(),
        }
    }
}

fn level(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

/// Starts log lines alone, for commands that end soon.
pub fn log_only(logging: &Logging) {
    // It fails only if logging has been started already, and then it is running.
    let _ = tracing_subscriber::registry().with(logging.layer()).try_init();
}

impl Telemetry {
    /// Starts logs and metrics, and sends them and traces to `otlp_endpoint` unless it is empty.
    pub fn start(logging: &Logging, otlp_endpoint: &str) -> anyhow::Result<Self> {
        let registry = Registry::new();
        let prometheus = opentelemetry_prometheus::exporter()
            .with_registry(registry.clone())
            .scope_info_enabled(false)
            .build()
            .context("metrics cannot be collected")?;
        let mut meters = SdkMeterProvider::builder().with_resource(resource()).with_reader(prometheus);
        let mut tracers = None;
        if !otlp_endpoint.is_empty() {
            meters = meters.with_periodic_exporter(metric_exporter(otlp_endpoint)?);
            tracers = Some(
                SdkTracerProvider::builder()
                    .with_resource(resource())
                    .with_batch_exporter(span_exporter(otlp_endpoint)?)
                    .build(),
            );
        }
        let meters = meters.build();
        global::set_meter_provider(meters.clone());

        let traces = tracers.as_ref().map(|tracers| {
            let ours = Targets::new().with_target("infold", LevelFilter::INFO);
            tracing_opentelemetry::layer().with_tracer(tracers.tracer("infold")).with_filter(ours)
        });
        let _ = tracing_subscriber::registry().with(logging.layer()).with(traces).try_init();
        Ok(Self { registry, meters, tracers })
    }

    /// Sends the last traces and metrics, and waits for that, but not for ever.
    pub fn stop(self) {
        let traces = self.tracers.map_or(Ok(()), |tracers| tracers.shutdown_with_timeout(FLUSH_TIMEOUT));
        let metrics = self.meters.shutdown_with_timeout(FLUSH_TIMEOUT);
        for error in [traces, metrics].into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "the last traces or metrics did not reach the collector");
        }
    }
}

fn resource() -> Resource {
    Resource::builder_empty()
        .with_service_name("infold")
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build()
}

fn span_exporter(endpoint: &str) -> anyhow::Result<SpanExporter> {
    SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(signal_address(endpoint, "traces"))
        .build()
        .context("telemetry.otlp_endpoint cannot be used for traces")
}

fn metric_exporter(endpoint: &str) -> anyhow::Result<MetricExporter> {
    MetricExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(signal_address(endpoint, "metrics"))
        .build()
        .context("telemetry.otlp_endpoint cannot be used for metrics")
}

/// The address for one kind of telemetry, below the endpoint. A query, such as a key, stays at the end.
fn signal_address(endpoint: &str, signal: &str) -> String {
    let (base, query) = match endpoint.split_once('?') {
        Some((base, query)) => (base, format!("?{query}")),
        None => (endpoint, String::new()),
    };
    format!("{}/v1/{signal}{query}", base.trim_end_matches('/'))
}

#[cfg(test)]
mod tests;
