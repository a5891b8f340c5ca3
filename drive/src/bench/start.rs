//! How long the daemon takes to become ready, and how much memory it idles in.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use infold_testkit::{Daemon, DaemonSetup};

use super::figures::{Latencies, Table};
use super::process::resident_mb;

/// Starts that the median is taken of, each on a data folder that was not there before.
const STARTS: usize = 20;

/// How long the daemon is left alone before its memory is read, so that starting is over.
const IDLE_BEFORE_READING: Duration = Duration::from_secs(3);

const READY_MS_MAX: f64 = 300.0;
const IDLE_MB_MAX: f64 = 30.0;

/// Makes both measurements; the exit code is a failure when a target is missed.
pub async fn run(program: &Path) -> Result<ExitCode> {
    let mut durations = Vec::new();
    let mut last: Option<Daemon> = None;
    for _ in 0..STARTS {
        drop(last.take());
        let started = Instant::now();
        let daemon = DaemonSetup::new(program).start().await?;
        durations.push(started.elapsed());
        last = Some(daemon);
    }
    let daemon = last.context("the daemon was never started")?;
    tokio::time::sleep(IDLE_BEFORE_READING).await;
    let idle_mb = resident_mb(daemon.pid()?)?;

    let ready = Latencies::new(durations);
    let mut table = Table::default();
    table.hold(&format!("ready, median of {STARTS} cold starts"), ready.median_ms(), READY_MS_MAX, " ms");
    table.show("ready, slowest", format!("{:.2} ms", ready.percentile_ms(100.0)));
    table.hold("idle memory (RSS)", idle_mb, IDLE_MB_MAX, " MB");
    Ok(table.finish())
}
