//! Losing power on all servers at once, while sessions are worked on. Each server runs under a tracer; of its files nothing is left
//! but what it had synced. With the documents' `sync_interval: always` everything that was acknowledged is there afterwards, for
//! machines that were there and for a new one. With the servers' default it is not, and machines that have seen it say so.
//!
//! The daemons are killed at the same moment, and their indexes stay as they are: what a power loss does to infold's own file
//! is shown by `power_loss`. Needs `strace`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use infold_testkit::nats::NatsSetup;
use infold_testkit::{Daemon, DaemonSetup, Era, McpHttp};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::machines::Machines;

const DAEMONS: usize = 3;
/// How many openings and folds are acknowledged before the kernel writes back what servers wrote, and before the power fails.
const WRITTEN_BACK_AFTER: usize = 30;
const POWER_FAILS_AFTER: usize = 120;
/// How long that may take.
const WORK_MAX: Duration = Duration::from_secs(60);
/// A pause between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// How each branch was when that was last acknowledged: `true` for folded.
type Branches = BTreeMap<String, bool>;

fn setup(setup: DaemonSetup) -> DaemonSetup {
    setup.set("folding.max_branches_per_minute", 1_000_000).set("folding.max_concurrent_per_session", 10_000)
}

/// Opens branches and folds every other one, until the servers are gone.
async fn work(url: String, number: usize, acknowledged: Arc<Mutex<Branches>>) -> Option<()> {
    let client = McpHttp::connect(&url, Era::Modern).await.ok()?;
    let opening = json!({"session_id": session(number), "description": "work", "parent_branch_id": "main"});
    for round in 0.. {
        let opened = client.call("branch_create", opening.clone()).await.ok().filter(|answer| answer.is_ok())?;
        let branch = opened.text_field("branch_id");
        acknowledged.lock().await.insert(branch.clone(), false);
        if round % 2 == 0 {
            let folded = client.call("branch_return", json!({"branch_id": branch, "message": "done"})).await;
            folded.ok().filter(|answer| answer.is_ok())?;
            acknowledged.lock().await.insert(branch, true);
        }
    }
    None
}

fn session(number: usize) -> String {
    format!("power-{number}")
}

/// How many openings and folds that is.
fn operations(branches: &Branches) -> usize {
    branches.len() + branches.values().filter(|folded| **folded).count()
}

/// What the kernel does with what servers do not sync, before the power fails.
#[derive(PartialEq, Eq)]
enum Kernel {
    KeepsAllInMemory,
    WritesBackOnce,
}

async fn until_acknowledged(acknowledged: &Mutex<Branches>, operations_min: usize) {
    let begun = Instant::now();
    while operations(&*acknowledged.lock().await) < operations_min {
        assert!(begun.elapsed() < WORK_MAX, "only {} acknowledged", operations(&*acknowledged.lock().await));
        tokio::time::sleep(PAUSE).await;
    }
}

/// Has machines work until enough was acknowledged, and takes the power from servers and machines while they do.
/// Returns them with the servers started again, and what was acknowledged.
async fn lose_power(servers: NatsSetup, kernel: Kernel) -> Option<(Machines, Branches)> {
    let cluster = servers.traced().start_cluster(3).await.unwrap()?;
    let mut machines = Machines::on(cluster, DAEMONS, setup).await;
    let acknowledged = Arc::new(Mutex::new(Branches::new()));
    let urls = machines.daemons.iter().map(|daemon| daemon.base_url().to_owned());
    let workers: Vec<_> =
        urls.enumerate().map(|(number, url)| tokio::spawn(work(url, number, Arc::clone(&acknowledged)))).collect();
    until_acknowledged(&acknowledged, WRITTEN_BACK_AFTER).await;
    if kernel == Kernel::WritesBackOnce {
        machines.cluster.write_back().unwrap();
    }
    until_acknowledged(&acknowledged, POWER_FAILS_AFTER).await;

    machines.cluster.lose_power().unwrap();
    for daemon in &mut machines.daemons {
        daemon.kill9().await.unwrap();
    }
    for worker in workers {
        worker.await.unwrap();
    }
    for node in 0..3 {
        machines.cluster.restart(node).unwrap();
    }
    machines.cluster.until_ready().await.unwrap();
    let acknowledged = acknowledged.lock().await.clone();
    Some((machines, acknowledged))
}

/// What a machine says of all sessions. It says nothing that is older than what was acknowledged to others.
async fn listed(daemon: &Daemon) -> Branches {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut branches = Branches::new();
    for number in 0..DAEMONS {
        let url = format!("{}/api/v1/sessions/{}/branches", daemon.base_url(), session(number));
        let mut offset = Some(0);
        while let Some(from) = offset {
            let answer = http.get(format!("{url}?offset={from}")).send().await.unwrap();
            if answer.status() == StatusCode::NOT_FOUND {
                break;
            }
            let page: Value = answer.error_for_status().unwrap().json().await.unwrap();
            let on_page = page["branches"].as_array().unwrap().iter();
            branches.extend(
                on_page.map(|branch| (branch["branch_id"].as_str().unwrap().to_owned(), branch["status"] != "active")),
            );
            offset = page["next_offset"].as_u64();
        }
    }
    branches
}

/// The openings and ends that were acknowledged and are not there. An end may be there that was not acknowledged any more.
fn lost(acknowledged: &Branches, found: &Branches) -> Vec<String> {
    let openings = acknowledged.keys().filter(|branch| !found.contains_key(*branch));
    let ends = acknowledged.iter().filter(|(branch, folded)| **folded && found.get(*branch) != Some(&true));
    openings
        .map(|branch| format!("opening of {branch}"))
        .chain(ends.map(|(branch, _)| format!("end of {branch}")))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_always_sync_have_what_was_acknowledged_after_a_power_loss() {
    let Some((mut machines, acknowledged)) = lose_power(NatsSetup::default(), Kernel::KeepsAllInMemory).await else {
        return;
    };
    for daemon in &mut machines.daemons {
        daemon.restart().await.unwrap();
    }
    machines.add(&setup).await;

    assert_eq!(machines.daemons.len(), DAEMONS + 1);
    for daemon in &machines.daemons {
        let lost = lost(&acknowledged, &listed(daemon).await);
        assert!(lost.is_empty(), "of {} operations these are lost: {lost:?}", operations(&acknowledged));
    }
    println!("figures: {} operations acknowledged and none lost with the power", operations(&acknowledged));
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_sync_later_lose_what_was_acknowledged_in_a_power_loss_and_machines_say_so() {
    // Without this the servers would have forgotten that there was a log, which is easier to notice.
    let (servers, kernel) = (NatsSetup::default().sync_by_default(), Kernel::WritesBackOnce);
    let Some((mut machines, acknowledged)) = lose_power(servers, kernel).await else { return };
    for daemon in &mut machines.daemons {
        let refused = format!("{:#}", daemon.restart().await.unwrap_err());
        for words in ["ends at", "docs/cluster.md"] {
            assert!(refused.contains(words), "{words:?} is not in {refused:?}");
        }
    }
    machines.add(&setup).await;

    let lost = lost(&acknowledged, &listed(machines.daemons.last().unwrap()).await);
    assert!(!lost.is_empty(), "nothing was lost where it should have been, so the tests here are blind");
    println!("figures: {} operations acknowledged, {} lost", operations(&acknowledged), lost.len());
}
