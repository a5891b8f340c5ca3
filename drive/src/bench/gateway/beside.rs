//! What a bad server costs its neighbour: the same calls, of a daemon that has only the good server and of one that has a bad
//! one beside it, which is called all the while. The two take turns, so that a busy moment of the machine, and what the bad
//! server's own processes use of it, falls on both.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use infold_testkit::misbehave::{CANARY, Misbehaviour, TOOL};
use infold_testkit::{Daemon, DaemonSetup, Era, McpHttp};
use serde_json::json;
use tokio::task::JoinHandle;

use super::called::CalledGateway;
use super::peers::BackendWay;
use super::{TURN_CALLS, USUAL_ID, WARM_UP_TURNS, connected, with_servers};
use crate::bench::figures::{Latencies, Table};

/// How many times slower the slowest hundredth of calls may be.
const RATIO_MAX: f64 = 2.0;
/// How long a bad server has for a call.
const BAD_TIMEOUT_MS: u64 = 1_000;

/// The kinds that go on doing harm, and none for comparison.
const KINDS: [Option<Misbehaviour>; 11] = [
    None,
    Some(Misbehaviour::Floods),
    Some(Misbehaviour::Relists),
    Some(Misbehaviour::Hangs),
    Some(Misbehaviour::Garbage),
    Some(Misbehaviour::Giant),
    Some(Misbehaviour::Bulky),
    Some(Misbehaviour::Deep),
    Some(Misbehaviour::Answers),
    Some(Misbehaviour::CrashesInCall),
    Some(Misbehaviour::Noisy),
];

/// Calls of a bad server, one after another until this is dropped.
struct BadCalls(JoinHandle<()>);

impl BadCalls {
    fn start(daemon: &Daemon, kind: Misbehaviour) -> Self {
        let base_url = daemon.base_url().to_owned();
        Self(tokio::spawn(async move {
            let Ok(client) = McpHttp::connect(&base_url, Era::Modern).await else { return };
            loop {
                let target = json!({ "name": format!("{}/{TOOL}", kind.name()), "arguments": {} });
                // Whatever becomes of it: the good server is measured.
                let _ = client.call("tool_call", target).await;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }))
    }
}

impl Drop for BadCalls {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Measures the good server's calls beside each kind of bad one.
pub async fn run(program: &Path, backend: &BackendWay, calls: usize, table: &mut Table) -> Result<()> {
    let (_calm_daemon, calm) = connected(with_servers(DaemonSetup::new(program), backend, &[])).await?;
    for kind in KINDS {
        let bad: Vec<String> = kind.iter().map(|kind| entry(*kind)).collect();
        let (daemon, troubled) = connected(with_servers(DaemonSetup::new(program), backend, &bad)).await?;
        let _calling = kind.map(|kind| BadCalls::start(&daemon, kind));
        let [without, with] = take_turns([&calm, &troubled], calls).await?;
        let name = kind.map_or_else(|| "nobody".to_owned(), Misbehaviour::name);
        let ratio = |percent: f64| with.percentile_ms(percent) / without.percentile_ms(percent);
        table.show(&format!("a call beside {name}, p50"), format!("{:.2}×", ratio(50.0)));
        table.hold(&format!("a call beside {name}, p99"), ratio(99.0), RATIO_MAX, "×");
    }
    Ok(())
}

fn entry(kind: Misbehaviour) -> String {
    // A string of JSON is one of TOML.
    let script = json!(kind.script());
    format!(
        r#"{{ name = "{}", command = "sh", args = ["-c", {script}], env = {{ {CANARY} = "none" }}, timeout_ms = {BAD_TIMEOUT_MS} }}"#,
        kind.name()
    )
}

async fn take_turns(both: [&CalledGateway; 2], calls: usize) -> Result<[Latencies; 2]> {
    let mut durations = [Vec::new(), Vec::new()];
    for turn in 0..WARM_UP_TURNS + calls.div_ceil(TURN_CALLS) {
        for (gateway, durations) in both.iter().zip(&mut durations) {
            for _ in 0..TURN_CALLS {
                let took = gateway.call(USUAL_ID).await?.1;
                if turn >= WARM_UP_TURNS {
                    durations.push(took);
                }
            }
        }
    }
    Ok(durations.map(Latencies::new))
}
