//! What a request through the proxy costs: time on a processor, time to the first byte, memory; beside other
//! proxies, on the same machine and in the same run.
//!
//! Absolute times say as much about the machine as about the program. What can be compared across machines
//! are the ratios within one run, so those have targets too.

pub mod before;
mod load;
mod peers;
mod talk;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use infold_testkit::{Daemon, DaemonSetup};

use super::figures::Table;
use super::process::Process;
use super::turns;
use crate::renamed::SettingNames;
use crate::upstream::{RecordingUpstream, Retention};
use load::Size;
pub use load::{LoadWay, Target};
use peers::Peer;
pub use talk::Talk;
use xtask::workspace::Workspace;

/// What `cargo xtask bench proxy` takes.
#[derive(Debug, clap::Args)]
pub struct ProxyBenchArguments {
    /// Requests after which memory is read.
    #[arg(long, default_value_t = 10_000)]
    requests: usize,
    /// Measure infold alone.
    #[arg(long)]
    no_peers: bool,
    #[command(flatten)]
    pub turns: turns::TurnArguments,
}

const KIB: usize = 1 << 10;
/// Sizes of the sessions in which further requests are measured.
const SIZES: [Size; 3] = [
    Size { name: "2 KB", bytes: 2 * KIB, sessions: 50, turns: 6 },
    Size { name: "100 KB", bytes: 100 * KIB, sessions: 40, turns: 5 },
    Size { name: "500 KB", bytes: LARGEST_BYTES, sessions: 20, turns: 5 },
];
/// Peers get this fraction of the sessions: they are slower, so fewer measure them just as well.
const PEER_SESSIONS_SHARE: usize = 5;
const FIRST_REQUESTS: usize = 20;
const LARGEST_BYTES: usize = 500 * KIB;

const LARGEST_CPU_MS_MAX: f64 = 10.0;
/// The share of the best peer's processor time that infold may use.
const PEER_SHARE_MAX: f64 = 0.2;
const RESIDENT_MB_MAX: f64 = 60.0;
/// Memory after all requests may be this many times that after the first quarter of them.
const GROWTH_MAX: f64 = 1.1;
/// The thousandth request of a session may cost this many times the hundredth, for each of its bytes.
const LATE_BYTE_MAX: f64 = 1.2;
const LATE: usize = 1_000;
const EARLY: usize = 100;
const WINDOW: usize = 50;

/// Makes all measurements of the proxy; the exit code is a failure when a target is missed.
pub async fn run(workspace: &Workspace, program: &Path, arguments: &ProxyBenchArguments) -> Result<ExitCode> {
    let upstream = RecordingUpstream::start(Retention::None).await?;
    let mut table = Table::default();
    let direct = Target { url: format!("{}/v1/messages", upstream.base_url()), process: None };
    let (_daemon, infold) = start(program, &upstream).await?;
    let mut direct_ms = Vec::new();
    let mut infold_cpu_ms = Vec::new();
    for size in SIZES {
        let name = size.name;
        let without = load::going_on(&direct, size).await?;
        let with = load::going_on(&infold, size).await?;
        let added_ms = with.first_byte.median_ms() - without.first_byte.median_ms();
        direct_ms.push(without.first_byte.median_ms());
        infold_cpu_ms.push(with.cpu_ms);
        let what = format!("infold, {name}, processor time a request");
        if size.bytes == LARGEST_BYTES {
            table.hold(&what, with.cpu_ms, LARGEST_CPU_MS_MAX, " ms");
        } else {
            table.show(&what, format!("{:.2} ms", with.cpu_ms));
        }
        table.show(&format!("infold, {name}, added to the first byte, median"), format!("{added_ms:.2} ms"));
        eprintln!("infold, {name}: done");
    }
    let first = load::first_requests(&infold, "first", LARGEST_BYTES, FIRST_REQUESTS).await?;
    table.show("infold, 500 KB seen for the first time, processor time", format!("{:.2} ms", first.cpu_ms));
    late(&infold, &mut table).await?;
    drop(infold);

    memory(program, &upstream, arguments.requests, &mut table).await?;
    if !arguments.no_peers {
        beside_peers(workspace, &upstream, &direct_ms, &infold_cpu_ms, &mut table).await?;
    }
    Ok(table.finish())
}

/// Starts a daemon in front of a provider.
pub async fn start(program: &Path, upstream: &RecordingUpstream) -> Result<(Daemon, Target)> {
    let setup = DaemonSetup::new(program)
        .set("proxy.anthropic.upstream", upstream.base_url())
        .set(SettingNames::of(program)?.name("windows.models"), "[[\"*\", 1000000000]]");
    let daemon = setup.start().await?;
    let url = format!("{}/anthropic/v1/messages", daemon.base_url());
    let target = Target { url, process: Some(Process(daemon.pid()?)) };
    Ok((daemon, target))
}

/// Plays one session of a thousand requests: what the last ones cost for their size, against early ones.
async fn late(target: &Target, table: &mut Table) -> Result<()> {
    let way = LoadWay::new(target)?;
    let process = target.process.unwrap_or(Process(0));
    let mut talk = Talk::of_bytes("late".to_owned(), 0);
    let mut windows = Vec::new();
    let mut before_ms = process.cpu_ms()?;
    for request in 1..=LATE {
        talk.turn();
        way.send(&talk).await?;
        if request % WINDOW == 0 {
            let now_ms = process.cpu_ms()?;
            windows.push((request, talk.body().len(), (now_ms - before_ms) / WINDOW as f64));
            before_ms = now_ms;
        }
    }
    let find = |at: usize| windows.iter().find(|(request, ..)| *request == at).copied().unwrap_or((0, 1, f64::NAN));
    let ((_, early_bytes, early_ms), (_, late_bytes, late_ms)) = (find(EARLY), find(LATE));
    let slope = (late_ms - early_ms) / ((late_bytes - early_bytes) as f64 / (100 * KIB) as f64);
    for (request, bytes, ms) in [find(EARLY), find(LATE / 2), find(LATE)] {
        table.show(
            &format!("infold, request {request} of a session ({} KB), processor time", bytes / KIB),
            format!("{ms:.2} ms"),
        );
    }
    table.show("infold, each further 100 KB of a session", format!("{slope:.2} ms"));
    let growth = (late_ms / late_bytes as f64) / (early_ms / early_bytes as f64);
    table.hold("infold, a byte of request 1,000 against one of request 100", growth, LATE_BYTE_MAX, "");
    eprintln!("infold, a session of {LATE} requests: done");
    Ok(())
}

/// Sends many requests of many sessions: how much memory is used on the way and after them.
async fn memory(program: &Path, upstream: &RecordingUpstream, requests: usize, table: &mut Table) -> Result<()> {
    let (_daemon, target) = start(program, upstream).await?;
    let way = LoadWay::new(&target)?;
    let process = target.process.unwrap_or(Process(0));
    let mut resident_mb = Vec::new();
    let turns = 50;
    let mut sent = 0;
    for session in 0..requests.div_ceil(turns) {
        // Sessions begin small and large, as people's do.
        let bytes = [2 * KIB, 20 * KIB, 100 * KIB][session % 3];
        let mut talk = Talk::of_bytes(format!("memory-{session}"), bytes);
        for _ in 0..turns {
            talk.turn();
            way.send(&talk).await?;
            sent += 1;
            if sent % (requests / 4).max(1) == 0 {
                resident_mb.push(process.resident_mb()?);
            }
        }
    }
    let (first, last) =
        (resident_mb.first().copied().unwrap_or(f64::NAN), resident_mb.last().copied().unwrap_or(f64::NAN));
    table.hold(&format!("infold, memory (RSS) after {sent} requests"), last, RESIDENT_MB_MAX, " MB");
    table.hold("infold, memory after all, against after a quarter", last / first, GROWTH_MAX, "");
    eprintln!("infold, {sent} requests: done");
    Ok(())
}

async fn beside_peers(
    workspace: &Workspace,
    upstream: &RecordingUpstream,
    direct_ms: &[f64],
    infold_cpu_ms: &[f64],
    table: &mut Table,
) -> Result<()> {
    let mut best_ms = vec![f64::INFINITY; SIZES.len()];
    for peer in Peer::ALL {
        let running = match peer.start(workspace, &upstream.base_url()).await {
            Ok(running) => running,
            Err(error) => {
                table.show(&format!("{}: not measured", peer.name()), format!("{error:#}"));
                continue;
            }
        };
        let target = running.target();
        for (at, size) in SIZES.into_iter().enumerate() {
            let name = size.name;
            let fewer = Size { sessions: size.sessions / PEER_SESSIONS_SHARE, ..size };
            let cost = load::going_on(&target, fewer).await?;
            best_ms[at] = best_ms[at].min(cost.cpu_ms);
            let added_ms = cost.first_byte.median_ms() - direct_ms[at];
            table.show(&format!("{}, {name}, processor time a request", peer.name()), format!("{:.2} ms", cost.cpu_ms));
            table.show(
                &format!("{}, {name}, added to the first byte, median", peer.name()),
                format!("{added_ms:.2} ms"),
            );
        }
        let first = load::first_requests(&target, "first", LARGEST_BYTES, FIRST_REQUESTS / PEER_SESSIONS_SHARE).await?;
        table.show(
            &format!("{}, 500 KB seen for the first time, processor time", peer.name()),
            format!("{:.2} ms", first.cpu_ms),
        );
        let resident_mb = target.process.map_or(Ok(f64::NAN), Process::resident_mb)?;
        table.show(&format!("{}, memory (RSS) then", peer.name()), format!("{resident_mb:.0} MB"));
        eprintln!("{}: done", peer.name());
    }
    for (at, Size { name, .. }) in SIZES.into_iter().enumerate().filter(|(at, _)| best_ms[*at].is_finite()) {
        let share = infold_cpu_ms[at] / best_ms[at];
        table.hold(&format!("infold, {name}, processor time, of the best peer's"), share, PEER_SHARE_MAX, "");
    }
    Ok(())
}
