//! Faults while sessions are worked on: nothing that was acknowledged is lost on any machine, nothing is there twice, what clients saw
//! of a session is linearisable, agents behind the proxies come to their end, all machines end with the same, and work goes on
//! soon after each fault.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use infold_testkit::agent::Client;
use infold_testkit::model::Model;
use infold_testkit::nats::NatsCluster;
use infold_testkit::{Daemon, Era, McpHttp, Rng, Seed};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::agents::{self, Wanderer, assert_folded};
use super::history::{Act, Observed, is_linearisable};
use super::machines::{Machines, STREAM};
use crate::proxy::scene::upstream;
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
/// After how many branches workers go on to another session that they share.
const BRANCHES_OF_SESSION: usize = 10;
/// How many of each agent's last sessions are looked at in the end.
const SESSIONS_LOOKED_AT: usize = 3;

/// What was acknowledged to clients.
#[derive(Default)]
struct Acknowledged {
    opened: Vec<String>,
    folded: Vec<String>,
    /// How many branches were opened and folded in each session in which calls are repeated.
    repeated: BTreeMap<String, usize>,
    /// What was seen of each session that workers share.
    histories: BTreeMap<String, Vec<Observed>>,
}

/// A daemon as clients know it.
struct Machine {
    /// It may be started again under another address.
    url: std::sync::Mutex<String>,
    /// When something was last acknowledged there.
    last: Mutex<Instant>,
}

impl Machine {
    fn of(daemon: &Daemon) -> Self {
        Self { url: std::sync::Mutex::new(daemon.base_url().to_owned()), last: Mutex::new(Instant::now()) }
    }

    fn url(&self) -> String {
        self.url.lock().unwrap().clone()
    }
}

/// What all workers have in common.
#[derive(Clone)]
struct Common {
    machines: Arc<Vec<Machine>>,
    done: Arc<Mutex<Acknowledged>>,
    stop: Arc<AtomicBool>,
    /// How many branches of shared sessions were begun.
    begun: Arc<AtomicUsize>,
    http: reqwest::Client,
    start: Instant,
}

/// A client that opens and folds until it is stopped.
struct Worker {
    /// Its own number, and that of the machine that it works on when it does not go round them.
    number: usize,
    common: Common,
}

impl Worker {
    async fn work(self) {
        for round in 0.. {
            if self.common.stop.load(Ordering::SeqCst) {
                return;
            }
            // Every other branch is in a session that all workers share.
            if round % 2 == 1 {
                self.round(&format!("own-{}", self.number), round).await;
                continue;
            }
            let number = self.common.begun.fetch_add(1, Ordering::SeqCst) / BRANCHES_OF_SESSION;
            if self.watched_round(&format!("shared-{number}")).await.is_none() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Opens a branch and folds it, each with a key and as often as it takes until it is acknowledged.
    async fn round(&self, session: &str, round: usize) {
        let (opening, folding) = (format!("open {round}"), format!("fold {round}"));
        let arguments = json!({"session_id": session, "description": "work", "parent_branch_id": "main"});
        let opened = self.repeat("branch_create", arguments, &opening).await;
        let branch = opened["branch_id"].as_str().unwrap().to_owned();
        self.common.done.lock().await.opened.push(branch.clone());
        self.repeat("branch_return", json!({"branch_id": branch, "message": "done"}), &folding).await;
        let mut done = self.common.done.lock().await;
        done.folded.push(branch);
        *done.repeated.entry(session.to_owned()).or_default() += 1;
    }

    /// Calls one machine after the other until one of them acknowledges.
    async fn repeat(&self, tool: &str, mut arguments: Value, key: &str) -> Value {
        arguments["idempotency_key"] = json!(key);
        for further in 0.. {
            if let Some(answer) = self.call(further, tool, arguments.clone()).await {
                return answer;
            }
            tokio::time::sleep(PAUSE).await;
        }
        unreachable!("it is repeated for ever")
    }

    /// The same, each at another machine than the one before, with a look at the session in between: a machine that has
    /// just written knows how the session is, and another one may not. What was called and answered, and when, is noted.
    async fn watched_round(&self, session: &str) -> Option<()> {
        let opening = json!({"session_id": session, "description": "work", "parent_branch_id": "main"});
        let called = self.now();
        let branch = self.call(0, "branch_create", opening).await?["branch_id"].as_str()?.to_owned();
        self.note(session, Act::Opened(branch.clone()), called, Some(self.now())).await;
        self.common.done.lock().await.opened.push(branch.clone());
        self.look(1, session).await;
        let called = self.now();
        let folded = self.call(2, "branch_return", json!({"branch_id": branch, "message": "done"})).await;
        let answered = folded.is_some().then(|| self.now());
        self.note(session, Act::Folded(branch.clone()), called, answered).await;
        self.look(1, session).await;
        self.look(0, session).await;
        folded?;
        self.common.done.lock().await.folded.push(branch);
        Some(())
    }

    /// A machine, counted from the worker's own one.
    fn machine(&self, further: usize) -> &Machine {
        &self.common.machines[(self.number + further) % DAEMONS]
    }

    /// Lists the branches of a session. That changes nothing.
    async fn look(&self, further: usize, session: &str) -> Option<()> {
        let url = format!("{}/api/v1/sessions/{session}/branches", self.machine(further).url());
        let called = self.now();
        let answer = self.common.http.get(url).send().await.ok()?.error_for_status().ok()?;
        let listed: Value = answer.json().await.ok()?;
        let answered = self.now();
        let branches = listed["branches"]
            .as_array()
            .unwrap()
            .iter()
            .map(|branch| (branch["branch_id"].as_str().unwrap().to_owned(), branch["status"] != "active"));
        self.note(session, Act::Listed(branches.collect()), called, Some(answered)).await;
        Some(())
    }

    fn now(&self) -> u64 {
        u64::try_from(self.common.start.elapsed().as_nanos()).unwrap()
    }

    async fn note(&self, session: &str, act: Act, called: u64, answered: Option<u64>) {
        let mut done = self.common.done.lock().await;
        done.histories.entry(session.to_owned()).or_default().push(Observed { act, called, answered });
    }

    async fn call(&self, further: usize, tool: &str, arguments: Value) -> Option<Value> {
        let machine = self.machine(further);
        let url = machine.url();
        let calling = async {
            let era = if self.number.is_multiple_of(2) { Era::Modern } else { Era::Legacy };
            let client = McpHttp::connect_with(self.common.http.clone(), &url, era).await.ok()?;
            let answer = client.call(tool, arguments).await.ok()?;
            if answer.is_ok() { answer.structured } else { None }
        };
        let answer = tokio::time::timeout(CALL_MAX, calling).await.ok().flatten()?;
        *machine.last.lock().await = Instant::now();
        Some(answer)
    }
}

/// An agent that works on one session after the other, each turn through another machine, until it is stopped. Returns how many
/// there were, and the last ones.
async fn wander(number: usize, common: Common) -> (usize, Vec<Wanderer>) {
    let mut done = Vec::new();
    let mut at = number;
    for round in 0.. {
        if common.stop.load(Ordering::SeqCst) {
            done.drain(..done.len().saturating_sub(SESSIONS_LOOKED_AT));
            return (round, done);
        }
        let session = format!("agent-{number}-{round}");
        let mut next = || {
            at += 1;
            common.machines[at % DAEMONS].url()
        };
        let Some(mut agent) = Wanderer::start(Client::ALL[number], &next(), &session).await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        assert!(agent.work(next).await, "{session} does not come to its end:\n{}", agent.seen());
        done.push(agent);
    }
    unreachable!("it goes on until it is stopped")
}

/// What can go wrong.
#[derive(Debug, Clone, Copy)]
enum Fault {
    KillServer,
    KillLeader,
    Part,
    Pause,
    SlowDisk,
    KillDaemon,
}

const KINDS: [Fault; 6] =
    [Fault::KillServer, Fault::KillLeader, Fault::Part, Fault::Pause, Fault::SlowDisk, Fault::KillDaemon];

/// Lets one fault happen and puts it right after a while.
async fn suffer(fault: Fault, cluster: &mut NatsCluster, daemons: &mut [Daemon], machines: &[Machine], rng: &mut Rng) {
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
        Fault::SlowDisk => {
            cluster.slow_disk(node).unwrap();
            tokio::time::sleep(lasting).await;
            cluster.usual_disk(node).unwrap();
        }
        Fault::KillDaemon => {
            let daemon = &mut daemons[node];
            daemon.kill9().await.unwrap();
            daemon.restart().await.unwrap();
            *machines[node].url.lock().unwrap() = daemon.base_url().to_owned();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_faults_on_every_machine() {
    let model = Model::start(agents::script()).await.unwrap();
    let Some(machines) = Machines::start(DAEMONS, |setup| {
        let setup = upstream(setup, model.base_url()).set("folding.max_branches_per_minute", 1_000_000);
        // Little enough for bases to be made, and the log to be trimmed, while servers fail.
        setup.set("folding.max_concurrent_per_session", 10_000).set("store.nats.trim_bytes", 65_536)
    })
    .await
    else {
        return;
    };
    let seed = Seed::announce("cargo test -p infold --test program -- cluster::faults").unwrap();
    let mut rng = seed.rng(0);
    let (mut cluster, mut daemons, folder) = (machines.cluster, machines.daemons, machines.folder);
    let common = Common {
        machines: Arc::new(daemons.iter().map(Machine::of).collect()),
        done: Arc::default(),
        stop: Arc::default(),
        begun: Arc::default(),
        http: reqwest::Client::builder().no_proxy().timeout(CALL_MAX).build().unwrap(),
        start: Instant::now(),
    };
    let workers: Vec<JoinHandle<()>> =
        (0..DAEMONS).map(|number| tokio::spawn(Worker { number, common: common.clone() }.work())).collect();
    let wanderers: Vec<_> = (0..DAEMONS).map(|number| tokio::spawn(wander(number, common.clone()))).collect();

    let faults = std::env::var("INFOLD_CLUSTER_FAULTS").ok().and_then(|count| count.parse().ok()).unwrap_or(FAULTS);
    let mut slowest = Duration::ZERO;
    for number in 0..faults {
        let fault = KINDS[rng.below(KINDS.len())];
        suffer(fault, &mut cluster, &mut daemons, &common.machines, &mut rng).await;
        let healed = Instant::now();
        for machine in common.machines.iter() {
            while *machine.last.lock().await < healed {
                assert!(healed.elapsed() < BACK_WITHIN, "fault {number}, {fault:?}:\n{}", cluster.log(0));
                tokio::time::sleep(PAUSE).await;
            }
        }
        slowest = slowest.max(healed.elapsed());
    }
    common.stop.store(true, Ordering::SeqCst);
    for worker in workers {
        worker.await.unwrap();
    }
    let (mut sessions, mut agents) = (0, Vec::new());
    for wanderer in wanderers {
        let (count, last) = wanderer.await.unwrap();
        sessions += count;
        agents.extend(last);
    }
    let done = common.done.lock().await;
    judge(&done, faults, slowest);
    check(&daemons, &done).await;
    println!("figures: {sessions} sessions of agents, {} requests, broken: {:?}", model.turns().len(), model.broken());
    for agent in &mut agents {
        agent.say_more();
        for daemon in &daemons {
            assert_folded(&agent.sent_next(daemon.base_url(), &model).await);
        }
    }
    drop(folder);
}

/// Says what was seen, and whether it can have been so.
fn judge(done: &Acknowledged, faults: usize, slowest: Duration) {
    println!(
        "figures: {faults} faults, {} openings and {} folds acknowledged, {} sessions with {} acts linearisable, work went on at \
         the latest {:.1} s after a fault",
        done.opened.len(),
        done.folded.len(),
        done.histories.len(),
        done.histories.values().map(Vec::len).sum::<usize>(),
        slowest.as_secs_f64()
    );
    assert!(done.folded.len() > 10, "work went on");
    for (session, history) in &done.histories {
        assert!(is_linearisable(history), "{session}: {history:#?}");
    }
}

/// Every machine has everything, once, and all have the same.
async fn check(daemons: &[Daemon], done: &Acknowledged) {
    let begun = Instant::now();
    // What a client gave up may still be on its way.
    while !all_have_the_same(daemons).await {
        assert!(begun.elapsed() < BACK_WITHIN, "the machines differ");
        tokio::time::sleep(PAUSE).await;
    }
    for daemon in daemons {
        let index = Database::look(&daemon.data().join("cluster")).unwrap();
        let sql = "SELECT branch, count(*) FROM events WHERE generation IS NOT NULL GROUP BY branch, generation";
        let ends: BTreeSet<String> = index.rows(sql).unwrap().into_iter().collect();
        assert!(ends.iter().all(|end| end.ends_with(" 1")), "a branch ended twice: {ends:?}");
        for branch in &done.folded {
            assert!(ends.contains(&format!("{branch} 1")), "the end of {branch} is lost");
        }
        let known: BTreeSet<String> = index.rows("SELECT id FROM branches").unwrap().into_iter().collect();
        assert!(done.opened.iter().all(|branch| known.contains(branch)), "an opening is lost");
        for (session, count) in &done.repeated {
            let sql = format!("SELECT count(*) FROM branches WHERE session_id = 'local/{session}'");
            let branches = index.number(&sql).unwrap();
            assert_eq!(usize::try_from(branches).unwrap(), *count, "branches of {session}, each opened with a key");
        }
    }
}

async fn all_have_the_same(daemons: &[Daemon]) -> bool {
    let mut states = Vec::new();
    for daemon in daemons {
        // A look that decides brings the index up to date. It must not be a call of a tool: those are counted.
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let looked = http.get(format!("{}/api/v1/sessions/shared-0", daemon.base_url())).send().await;
        assert!(looked.unwrap().status().is_success());
        let index = Database::look(&daemon.data().join("cluster")).unwrap();
        let rows = |sql: &str| index.rows(sql).unwrap();
        states.push((rows("SELECT * FROM sessions ORDER BY id"), rows("SELECT * FROM events ORDER BY id")));
    }
    states.windows(2).all(|pair| pair[0] == pair[1])
}
