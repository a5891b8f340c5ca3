//! What a call of another server's tool through the gateway costs: bytes of the list, time, memory; beside other
//! gateways, with the same backend and in the same run.
//!
//! The gateways take turns, so that a busy moment of the machine falls on all of them.

mod backend;
mod beside;
mod called;
mod peers;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use infold_testkit::{Daemon, DaemonSetup, Era, McpHttp};
use serde_json::Value;

use super::figures::{Latencies, Table};
use super::process::Process;
pub use backend::serve_stdio as serve_backend;
use backend::{HttpBackend, LONG_BYTES, LONG_ID};
use called::CalledGateway;
use peers::{BackendWay, GatewayPeer, RunningPeer};
use xtask::workspace::Workspace;

/// What `cargo xtask bench gateway` takes.
#[derive(Debug, clap::Args)]
pub struct GatewayBenchArguments {
    /// Calls through infold; other gateways get a quarter of them.
    #[arg(long, default_value_t = 4_000)]
    calls: usize,
    /// Measure infold alone.
    #[arg(long)]
    no_peers: bool,
    /// Measure only what bad servers cost the good one beside them.
    #[arg(long)]
    beside: bool,
}

/// Calls that one gateway gets before it is the next one's turn.
const TURN_CALLS: usize = 20;
/// Calls of a peer in its turn: they are slower, so fewer measure them just as well.
const PEER_TURN_CALLS: usize = 5;
/// The backend itself, and infold.
const OURS: usize = 2;
/// Turns of each gateway before anything is counted.
const WARM_UP_TURNS: usize = 10;
/// Calls before memory is read.
const MEMORY_CALLS: usize = 500;
/// Beside each kind of bad server there are as many calls as in this part of all.
const BESIDE_PART: usize = 4;
const USUAL_ID: &str = "17";
const INFOLD: &str = "infold";

const ADDED_BYTES_MAX: f64 = 3_277.0;
const LIST_BYTES_MAX: f64 = 8_192.0;
const ADDED_MS_MAX: f64 = 0.25;
const LONG_PEAK_MB_MAX: f64 = 160.0;

/// Makes all measurements of the gateway; the exit code is a failure when a target is missed.
pub async fn run(workspace: &Workspace, program: &Path, arguments: &GatewayBenchArguments) -> Result<ExitCode> {
    let backend = HttpBackend::start().await?;
    let over_http = BackendWay::Http(backend.base_url());
    let wanted: &[GatewayPeer] = if arguments.no_peers { &[] } else { &GatewayPeer::ALL };
    let mut table = Table::default();
    if arguments.beside {
        beside::run(program, &over_http, arguments.calls / BESIDE_PART, &mut table).await?;
        return Ok(table.finish());
    }
    list_bytes(program, &over_http, &mut table).await?;

    let direct = CalledGateway::connect("direct", &backend.base_url(), None).await?;
    table.show("no gateway, list of 60 tools", format!("{} bytes", direct.list_bytes));
    let (daemon, mut infold) = start(program, &over_http).await?;
    infold.count_in_session().await?;
    let peers = start_peers(workspace, wanted, &over_http, &mut table).await;
    for RunningPeer { called, .. } in &peers {
        table.show(&format!("{}, list of 60 tools", called.name), format!("{} bytes", called.list_bytes));
    }
    let mut all = vec![&direct, &infold];
    all.extend(peers.iter().map(|peer| &peer.called));
    calls(&all, arguments.calls, &mut table).await?;

    long_result(&infold, &mut table, "5 MB, offloaded").await?;
    infold.count_nowhere();
    let shown = long_result(&infold, &mut table, "5 MB, whole").await?;
    table.hold("infold, most memory (RSS) at 5 MB results", shown, LONG_PEAK_MB_MAX, " MB");
    for RunningPeer { called, .. } in &peers {
        long_result(called, &mut table, "5 MB, whole").await?;
    }
    drop((daemon, peers));

    memory(workspace, program, wanted, &mut table).await?;
    beside::run(program, &over_http, arguments.calls / BESIDE_PART, &mut table).await?;
    Ok(table.finish())
}

/// Starts a daemon in front of the backend, with room for no tool in its list.
async fn start(program: &Path, backend: &BackendWay) -> Result<(Daemon, CalledGateway)> {
    connected(with_backend(DaemonSetup::new(program), backend)).await
}

/// Starts a daemon, and connects to it.
async fn connected(setup: DaemonSetup) -> Result<(Daemon, CalledGateway)> {
    let daemon = setup.start().await?;
    let process = Process(daemon.pid()?);
    let called = CalledGateway::connect(INFOLD, daemon.base_url(), Some(process)).await;
    let called = called.with_context(|| format!("the daemon said:\n{}", daemon.stderr()))?;
    Ok((daemon, called))
}

fn with_backend(setup: DaemonSetup, backend: &BackendWay) -> DaemonSetup {
    with_servers(setup, backend, &[])
}

/// A daemon with the backend and these servers behind it.
fn with_servers(setup: DaemonSetup, backend: &BackendWay, others: &[String]) -> DaemonSetup {
    let entry = match backend {
        BackendWay::Http(url) => format!(r#"{{ name = "code", url = "{url}/mcp" }}"#),
        BackendWay::Stdio(program) => {
            format!(r#"{{ name = "code", command = "{}", args = ["backend"] }}"#, program.display())
        }
    };
    let servers = [std::slice::from_ref(&entry), others].concat().join(", ");
    setup.set("gateway.list_wait_ms", 20_000).set("gateway.servers", format!("[{servers}]"))
}

async fn start_peers(
    workspace: &Workspace,
    wanted: &[GatewayPeer],
    backend: &BackendWay,
    table: &mut Table,
) -> Vec<RunningPeer> {
    let mut running = Vec::new();
    for peer in wanted {
        match peer.start(workspace, backend).await {
            Ok(peer) => running.push(peer),
            Err(error) => table.show(&format!("{}: not measured", peer.name()), format!("{error:#}")),
        }
    }
    running
}

/// Measures the list that a model gets under `infold run`, with the gateway and without it.
async fn list_bytes(program: &Path, backend: &BackendWay, table: &mut Table) -> Result<()> {
    let setup = || DaemonSetup::new(program).set("mcp.tools", r#"["lean"]"#).set("mcp.session", "proxy");
    let mut lengths = Vec::new();
    for setup in [setup(), with_backend(setup(), backend)] {
        let daemon = setup.start().await?;
        let tools = McpHttp::connect(daemon.base_url(), Era::Modern).await?.list_tools().await?;
        lengths.push(Value::Array(tools).to_string().len() as f64);
    }
    let [without, with] = lengths[..] else { return Ok(()) };
    table.hold("infold run, bytes that the gateway adds to the list, 60 tools", with - without, ADDED_BYTES_MAX, "");
    table.hold("infold run, bytes of the whole list", with, LIST_BYTES_MAX, "");
    Ok(())
}

/// Has all of them answer calls in turns: what each adds to the time of the first, which is the backend itself.
async fn calls(all: &[&CalledGateway], calls: usize, table: &mut Table) -> Result<()> {
    let mut durations: Vec<Vec<Duration>> = vec![Vec::new(); all.len()];
    let mut before_ms = vec![0.0; all.len()];
    for turn in 0..WARM_UP_TURNS + calls.div_ceil(TURN_CALLS) {
        for (at, gateway) in all.iter().enumerate() {
            if turn == WARM_UP_TURNS {
                durations[at].clear();
                before_ms[at] = gateway.process.map_or(Ok(0.0), Process::cpu_ms)?;
            }
            let turn_calls = if at < OURS { TURN_CALLS } else { PEER_TURN_CALLS };
            for _ in 0..turn_calls {
                durations[at].push(gateway.call(USUAL_ID).await?.1);
            }
        }
    }
    let latencies: Vec<Latencies> = durations.into_iter().map(Latencies::new).collect();
    let (direct, gateways) = latencies.split_first().context("nothing was called")?;
    table.show("no gateway, a call of 1 KB, p50 and p99", both(direct.median_ms(), direct.percentile_ms(99.0)));
    for ((gateway, latencies), before_ms) in all.iter().zip(&latencies).zip(before_ms).skip(1) {
        let name = gateway.name;
        let added = latencies.median_ms() - direct.median_ms();
        let added_late = latencies.percentile_ms(99.0) - direct.percentile_ms(99.0);
        if name == INFOLD {
            table.hold("infold, added to a call of 1 KB, p50", added, ADDED_MS_MAX, " ms");
            table.show("infold, added to a call of 1 KB, p99", format!("{added_late:.2} ms"));
        } else {
            table.show(&format!("{name}, added to a call of 1 KB, p50 and p99"), both(added, added_late));
        }
        let cpu_ms = gateway.process.map_or(Ok(0.0), Process::cpu_ms)? - before_ms;
        let each_ms = cpu_ms / latencies.count() as f64;
        table.show(&format!("{name}, processor time a call"), format!("{each_ms:.2} ms"));
    }
    eprintln!("{calls} calls of the backend and {} gateways: done", gateways.len());
    Ok(())
}

fn both(p50_ms: f64, p99_ms: f64) -> String {
    format!("{p50_ms:.2}, {p99_ms:.2} ms")
}

/// Calls for a very long result, and returns the most memory that the gateway has used until then.
async fn long_result(gateway: &CalledGateway, table: &mut Table, what: &str) -> Result<f64> {
    let before_mb = gateway.process.map_or(Ok(0.0), Process::peak_mb)?;
    let (answer, took) = gateway.call(LONG_ID).await?;
    let peak_mb = gateway.process.map_or(Ok(0.0), Process::peak_mb)?;
    let is_whole = answer.text.len() >= LONG_BYTES;
    ensure!(is_whole || answer.text.contains("ref_id="), "{}: the result of 5 MB did not come through", gateway.name);
    table.show(
        &format!("{}, a result of {what}: bytes, time, most memory before and after", gateway.name),
        format!("{}, {:.0} ms, {before_mb:.0}, {peak_mb:.0} MB", answer.text.len(), took.as_secs_f64() * 1_000.0),
    );
    Ok(peak_mb)
}

/// Reads the memory of each gateway with the backend as its child, after some calls.
async fn memory(workspace: &Workspace, program: &Path, wanted: &[GatewayPeer], table: &mut Table) -> Result<()> {
    let as_child = BackendWay::Stdio(std::env::current_exe()?);
    let (_daemon, mut infold) = start(program, &as_child).await?;
    infold.count_in_session().await?;
    let peers = start_peers(workspace, wanted, &as_child, table).await;
    for gateway in std::iter::once(&infold).chain(peers.iter().map(|peer| &peer.called)) {
        let mut durations = Vec::new();
        for _ in 0..MEMORY_CALLS {
            durations.push(gateway.call(USUAL_ID).await?.1);
        }
        let resident_mb = gateway.process.map_or(Ok(f64::NAN), Process::resident_mb)?;
        let p50_ms = Latencies::new(durations).median_ms();
        table.show(
            &format!("{}, backend as a child: memory (RSS) of both, a call's p50", gateway.name),
            format!("{resident_mb:.0} MB, {p50_ms:.2} ms"),
        );
    }
    Ok(())
}
