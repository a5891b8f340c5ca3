//! Faults while sessions are worked on: nothing that was acknowledged is lost on any machine, no branch ends twice, all
//! machines end with the same, and work goes on soon after each fault.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use infold_testkit::nats::NatsCluster;
use infold_testkit::{Daemon, Era, McpHttp, Rng, Seed};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::machines::{Machines, STREAM};
use crate::support::Database;

/// Faults of the short form; `INFOLD_CLUSTER_FAULTS` asks for more.
const FAULTS: usize = 6;
/// How long a fault lasts at most, and how long work may rest after one.
const FAULT_MS_MAX: usize = 4_000;
const BACK_WITHIN: Duration = Duration::from_secs(15);
/// How long one call may take before its client gives it up.
const CALL_MAX: Duration = Duration::from_secs(40);
/// A pause between two tries.
const PAUSE: Duration = Duration::from_millis(50);
const DAEMONS: usize = 3;

/// What was acknowledged to clients.
#[derive(Default)]
struct Acknowledged {
    opened: Vec<String>,
    folded: Vec<String>,
}

/// A client that opens and folds until it is stopped. Its daemon may be started again under another address.
struct Worker {
    number: usize,
    url: Arc<Mutex<String>>,
    done: Arc<Mutex<Acknowledged>>,
    stop: Arc<AtomicBool>,
    /// When something was last acknowledged.
    last: Arc<Mutex<Instant>>,
}

impl Worker {
    async fn work(self) {
        for round in 0.. {
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            // Every other branch is in a session that all workers share.
            let session = if round % 2 == 0 { "shared".to_owned() } else { format!("own-{}", self.number) };
            if self.round(&session).await.is_none() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Opens a branch and folds it. `None` as soon as something was not acknowledged.
    async fn round(&self, session: &str) -> Option<()> {
        let opening = json!({"session_id": session, "description": "work", "parent_branch_id": "main"});
        let branch = self.call("branch_create", opening).await?["branch_id"].as_str()?.to_owned();
        self.done.lock().await.opened.push(branch.clone());
        self.call("branch_return", json!({"branch_id": branch, "message": "done"})).await?;
        self.done.lock().await.folded.push(branch);
        Some(())
    }

    async fn call(&self, tool: &str, arguments: Value) -> Option<Value> {
        let url = self.url.lock().await.clone();
        let calling = async {
            let client = McpHttp::connect(&url, Era::Modern).await.ok()?;
            let answer = client.call(tool, arguments).await.ok()?;
            if answer.is_ok() { answer.structured } else { None }
        };
        let answer = tokio::time::timeout(CALL_MAX, calling).await.ok().flatten()?;
        *self.last.lock().await = Instant::now();
        Some(answer)
    }
}

/// What can go wrong.
#[derive(Debug, Clone, Copy)]
enum Fault {
    KillServer,
    KillLeader,
    Part,
    Pause,
    KillDaemon,
}

const KINDS: [Fault; 5] = [Fault::KillServer, Fault::KillLeader, Fault::Part, Fault::Pause, Fault::KillDaemon];

/// Lets one fault happen and puts it right after a while.
async fn suffer(fault: Fault, cluster: &mut NatsCluster, daemons: &mut [(Daemon, Arc<Mutex<String>>)], rng: &mut Rng) {
    let node = rng.below(DAEMONS);
    let lasting = Duration::from_millis(500 + rng.below(FAULT_MS_MAX) as u64);
    match fault {
        Fault::KillServer | Fault::KillLeader => {
            let leader = cluster.leader_of(STREAM).await.filter(|_| matches!(fault, Fault::KillLeader));
            let node = leader.unwrap_or(node);
            cluster.kill(node).unwrap();
            tokio::time::sleep(lasting).await;
            cluster.restart(node).unwrap();
        }
        Fault::Part => {
            cluster.partition(node).unwrap();
            tokio::time::sleep(lasting).await;
            cluster.heal(node).unwrap();
        }
        Fault::Pause => {
            cluster.pause(node).unwrap();
            tokio::time::sleep(lasting).await;
            cluster.resume(node).unwrap();
        }
        Fault::KillDaemon => {
            let (daemon, url) = &mut daemons[node];
            daemon.kill9().await.unwrap();
            daemon.restart().await.unwrap();
            *url.lock().await = daemon.base_url().to_owned();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_faults_on_every_machine() {
    let Some(machines) = Machines::start(DAEMONS, |setup| {
        let setup = setup.set("folding.max_branches_per_minute", 1_000_000);
        // Little enough for bases to be made, and the log to be trimmed, while servers fail.
        setup.set("folding.max_concurrent_per_session", 10_000).set("store.nats.trim_bytes", 65_536)
    })
    .await
    else {
        return;
    };
    let seed = Seed::announce("cargo test -p infold --test program -- cluster::faults").unwrap();
    let mut rng = seed.rng(0);
    let (mut cluster, folder) = (machines.cluster, machines.folder);
    let url = |daemon: &Daemon| Arc::new(Mutex::new(daemon.base_url().to_owned()));
    let mut daemons: Vec<_> = machines
        .daemons
        .into_iter()
        .map(|daemon| {
            let url = url(&daemon);
            (daemon, url)
        })
        .collect();

    let (done, stop) = (Arc::new(Mutex::new(Acknowledged::default())), Arc::new(AtomicBool::new(false)));
    let lasts: Vec<_> = daemons.iter().map(|_| Arc::new(Mutex::new(Instant::now()))).collect();
    let workers: Vec<JoinHandle<()>> = daemons
        .iter()
        .zip(&lasts)
        .enumerate()
        .map(|(number, ((_, url), last))| {
            let (url, done, stop, last) = (Arc::clone(url), Arc::clone(&done), Arc::clone(&stop), Arc::clone(last));
            tokio::spawn(Worker { number, url, done, stop, last }.work())
        })
        .collect();

    let faults = std::env::var("INFOLD_CLUSTER_FAULTS").ok().and_then(|count| count.parse().ok()).unwrap_or(FAULTS);
    let mut slowest = Duration::ZERO;
    for number in 0..faults {
        let fault = KINDS[rng.below(KINDS.len())];
        suffer(fault, &mut cluster, &mut daemons, &mut rng).await;
        let healed = Instant::now();
        for last in &lasts {
            while *last.lock().await < healed {
                assert!(healed.elapsed() < BACK_WITHIN, "fault {number}, {fault:?}:\n{}", cluster.log(0));
                tokio::time::sleep(PAUSE).await;
            }
        }
        slowest = slowest.max(healed.elapsed());
    }
    stop.store(true, Ordering::SeqCst);
    for worker in workers {
        worker.await.unwrap();
    }
    let done = done.lock().await;
    println!(
        "figures: {faults} faults, {} openings and {} folds acknowledged, work went on at the latest {:.1} s after a fault",
        done.opened.len(),
        done.folded.len(),
        slowest.as_secs_f64()
    );
    assert!(done.folded.len() > 10, "work went on");
    check(&daemons, &done).await;
    drop(folder);
}

/// Every machine has everything, once, and all have the same.
async fn check(daemons: &[(Daemon, Arc<Mutex<String>>)], done: &Acknowledged) {
    let begun = Instant::now();
    // What a client gave up may still be on its way.
    while !all_have_the_same(daemons).await {
        assert!(begun.elapsed() < BACK_WITHIN, "the machines differ");
        tokio::time::sleep(PAUSE).await;
    }
    for (daemon, _) in daemons {
        let index = Database::look(&daemon.data().join("cluster")).unwrap();
        let sql = "SELECT branch, count(*) FROM events WHERE generation IS NOT NULL GROUP BY branch, generation";
        let ends: BTreeSet<String> = index.rows(sql).unwrap().into_iter().collect();
        assert!(ends.iter().all(|end| end.ends_with(" 1")), "a branch ended twice: {ends:?}");
        for branch in &done.folded {
            assert!(ends.contains(&format!("{branch} 1")), "the end of {branch} is lost");
        }
        let known: BTreeSet<String> = index.rows("SELECT id FROM branches").unwrap().into_iter().collect();
        assert!(done.opened.iter().all(|branch| known.contains(branch)), "an opening is lost");
    }
}

async fn all_have_the_same(daemons: &[(Daemon, Arc<Mutex<String>>)]) -> bool {
    let mut states = Vec::new();
    for (daemon, _) in daemons {
        // A look that decides brings the index up to date. It must not be a call of a tool: those are counted.
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let looked = http.get(format!("{}/api/v1/sessions/shared", daemon.base_url())).send().await;
        assert!(looked.unwrap().status().is_success());
        let index = Database::look(&daemon.data().join("cluster")).unwrap();
        let rows = |sql: &str| index.rows(sql).unwrap();
        states.push((rows("SELECT * FROM sessions ORDER BY id"), rows("SELECT * FROM events ORDER BY id")));
    }
    states.windows(2).all(|pair| pair[0] == pair[1])
}
