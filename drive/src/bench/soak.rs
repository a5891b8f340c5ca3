//! Many mixed requests through the proxy, small and very large: memory has to stay flat, and what the largest ones took
//! has to be given back.
//!
//! The very large bodies are all in the first half. After each half the daemon is left alone for a while before its
//! memory is read: while it works, what it is just working on is in there too. Readings on the way are only shown.

mod bodies;

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use infold_testkit::Seed;
use tokio::task::JoinSet;
use xtask::workspace::Workspace;

use super::figures::Table;
use super::process::Process;
use super::proxy::{LoadWay, start};
use crate::upstream::{RecordingUpstream, Retention};
use bodies::SoakClient;

/// What `cargo xtask bench soak` takes.
#[derive(Debug, clap::Args)]
pub struct SoakArguments {
    /// Requests in all.
    #[arg(long, default_value_t = 200_000)]
    requests: usize,
    /// Requests that are under way at once.
    #[arg(long, default_value_t = 4)]
    at_once: usize,
    /// The largest body, in MB.
    #[arg(long, default_value_t = 30)]
    largest_mb: usize,
    /// How long the daemon is left alone after each half, before its memory is read.
    #[arg(long, default_value_t = 20)]
    rest_seconds: u64,
}

/// How often memory is read on the way.
const READINGS: usize = 20;
/// Very large bodies among the first half of all requests.
const LARGE_BODIES: usize = 40;
/// How much memory may grow in the second half, in percent.
const GROWTH_PERCENT_MAX: f64 = 5.0;
/// The memory that may be left some time after the largest body.
const RESTED_MB_MAX: f64 = 80.0;
/// Where the figures go, below the folder for what is built.
const REPORT: &str = "soak.md";

/// What the clients share.
struct Soak {
    requests: usize,
    at_once: usize,
    rest: Duration,
    largest_bytes: usize,
    process: Process,
    way: LoadWay,
    begun: AtomicUsize,
    done: AtomicUsize,
    readings: Mutex<Vec<MemoryReading>>,
}

/// The memory after a number of requests.
#[derive(Debug, Clone, Copy)]
struct MemoryReading {
    requests: usize,
    resident_mb: f64,
}

/// Sends the requests and judges the memory; the exit code is a failure when a target is missed.
pub async fn run(workspace: &Workspace, program: &Path, arguments: &SoakArguments) -> Result<ExitCode> {
    let seed = Seed::announce(&format!("cargo xtask bench soak --requests {}", arguments.requests))?;
    let upstream = RecordingUpstream::start(Retention::None).await?;
    let (daemon, target) = start(program, &upstream).await?;
    let process = target.process.context("the daemon has no process")?;
    let idle_mb = process.resident_mb()?;
    let soak = Arc::new(Soak {
        requests: arguments.requests,
        at_once: arguments.at_once.max(1),
        rest: Duration::from_secs(arguments.rest_seconds),
        largest_bytes: arguments.largest_mb << 20,
        process,
        way: LoadWay::new(&target)?,
        begun: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        readings: Mutex::default(),
    });

    let began = Instant::now();
    let mut rested_mb = Vec::new();
    for half in [1, 2] {
        let rested = soak.run_half(half, &seed).await;
        rested_mb.push(seed.explain(rested).with_context(|| format!("the daemon said:\n{}", daemon.stderr()))?);
    }
    let seconds = began.elapsed().as_secs_f64();

    let readings = soak.readings.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut table = Table::default();
    table.show("requests", format!("{} in {seconds:.0} s", arguments.requests));
    table.show("memory (RSS) before the first", format!("{idle_mb:.1} MB"));
    let largest_mb = readings.iter().map(|reading| reading.resident_mb).fold(0.0, f64::max);
    table.show("memory, largest reading", format!("{largest_mb:.1} MB"));
    let [first_mb, last_mb] = [0, 1].map(|half| rested_mb.get(half).copied().unwrap_or(f64::NAN));
    let rest = format!("{} s after", arguments.rest_seconds);
    table.hold(&format!("memory {rest} the first half"), first_mb, RESTED_MB_MAX, " MB");
    table.hold(&format!("memory {rest} the second half"), last_mb, RESTED_MB_MAX, " MB");
    table.hold("growth in the second half", (last_mb / first_mb - 1.0) * 100.0, GROWTH_PERCENT_MAX, " %");
    let report = workspace.target().join(REPORT);
    std::fs::write(&report, markdown(&table, &readings)).with_context(|| report.display().to_string())?;
    println!("{}", table.markdown());
    println!(
        "figures: {idle_mb:.1} MB before, {first_mb:.1} MB after the first half with its large bodies, {last_mb:.1} MB \
         after the second"
    );
    eprintln!("written to {}", report.display());
    Ok(table.verdict())
}

impl Soak {
    /// Sends half of the requests, by several clients at once. Returns the memory that is left some time afterwards.
    async fn run_half(self: &Arc<Self>, half: usize, seed: &Seed) -> Result<f64> {
        let until = self.requests * half / 2;
        self.begun.store(self.done.load(Ordering::Relaxed), Ordering::Relaxed);
        let mut clients = JoinSet::new();
        for number in 0..self.at_once {
            let number = half * self.at_once + number;
            let (soak, rng) = (Arc::clone(self), seed.rng(number as u64));
            clients.spawn(async move { soak.send_all(SoakClient::new(number, rng), until).await });
        }
        while let Some(sent) = clients.join_next().await {
            sent??;
        }
        tokio::time::sleep(self.rest).await;
        self.process.resident_mb()
    }

    /// Sends requests until all clients together have sent enough.
    async fn send_all(&self, mut client: SoakClient, until: usize) -> Result<()> {
        let large_every = (self.requests / 2 / LARGE_BODIES).max(1);
        loop {
            let at = self.begun.fetch_add(1, Ordering::Relaxed);
            if at >= until {
                return Ok(());
            }
            let is_large = at % large_every == large_every / 2 && at < self.requests / 2;
            let (session, body) = if is_large { client.large(self.largest_bytes) } else { client.next() };
            self.way.send_body(&session, body).await.with_context(|| format!("request {at} of session {session}"))?;
            self.read_memory()?;
        }
    }

    fn read_memory(&self) -> Result<()> {
        let requests = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if requests.is_multiple_of((self.requests / READINGS).max(1)) {
            let reading = MemoryReading { requests, resident_mb: self.process.resident_mb()? };
            self.readings.lock().unwrap_or_else(PoisonError::into_inner).push(reading);
            eprintln!("{requests} requests: {:.1} MB", reading.resident_mb);
        }
        Ok(())
    }
}

/// The table of figures, and every reading on the way.
fn markdown(table: &Table, readings: &[MemoryReading]) -> String {
    let mut text = format!("{}\n| requests | memory (RSS) |\n|---|---|\n", table.markdown());
    for MemoryReading { requests, resident_mb } in readings {
        text.push_str(&format!("| {requests} | {resident_mb:.1} MB |\n"));
    }
    text
}
