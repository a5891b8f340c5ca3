//! Kills the daemon in the middle of its work, again and again, on one data folder.
//!
//! Several clients open, fold and roll back branches, each with an idempotency key, until the daemon
//! dies under them. After the restart each client repeats the one call that it got no answer to, with
//! the same key, and then everything it knows must be there exactly once: every branch, its state, and
//! the message it returned, and the lesson that it brought. A crash proves nothing about syncing; that is what `power_loss` is for.
//!
//! `INFOLD_KILLS` says how often; `SEED` repeats a run.

mod actor;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use infold_testkit::{Daemon, DaemonSetup, Era, McpHttp, Rng, Seed, TempFolder};
use tokio::task::JoinSet;

use actor::{Actor, Finished};

/// How often the daemon is killed unless the environment says otherwise.
const KILLS: usize = 500;

/// Clients that work at once.
const ACTORS: usize = 6;

/// Calls that are made before the daemon is killed, at most.
const CALLS_MAX: usize = 60;

/// Lives of the daemon that a session spans before its client starts a new one.
const LIVES_PER_SESSION: usize = 5;

/// The longest time between the last call that is waited for and the kill.
const DELAY_MICROS_MAX: usize = 6_000;

/// The pause between two counts of the calls.
const POLL: Duration = Duration::from_micros(200);

/// How long a life may take until enough calls were made. Far longer than any should.
const LIFE_TIMEOUT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_or_doubled_when_the_daemon_is_killed() -> Result<()> {
    let seed = Seed::announce("cargo test -p infold --test crashes kill::")?;
    let outcome = kill_again_and_again(&seed).await;
    seed.explain(outcome)
}

async fn kill_again_and_again(seed: &Seed) -> Result<()> {
    let kills = kills()?;
    let mut rng = seed.rng(0);
    // A crash leaves what was written with the kernel, so a disk would only make this slower.
    let folder = TempFolder::in_memory()?;
    let mut daemon = start(&folder).await?;
    let http = reqwest::Client::builder().no_proxy().build()?;
    let mut actors: Vec<Actor> = (0..ACTORS).map(|number| Actor::new(number, seed.rng(1 + number as u64))).collect();
    let mut finished: Vec<Finished> = Vec::new();

    for life in 0..kills {
        let lived = one_life(&mut daemon, &http, actors, &mut rng).await;
        let outcome = async {
            let lived = lived?;
            daemon.restart().await?;
            check_all(&daemon, &http, lived).await
        };
        actors = outcome.await.with_context(|| format!("life {life}; the daemon said:\n{}", daemon.stderr()))?;
        if (life + 1) % LIVES_PER_SESSION == 0 {
            finished.extend(actors.iter_mut().map(Actor::start_new_session));
        }
    }

    finished.extend(actors.iter_mut().map(Actor::start_new_session));
    let client = McpHttp::connect_with(http, daemon.base_url(), Era::Modern).await?;
    for session in &finished {
        session.check(&client).await.context("when everything was looked at again in the end")?;
    }
    let lessons = check_lessons(&daemon, &finished).await.context("when all was learnt in the end")?;
    let answered: usize = actors.iter().map(|actor| actor.answered).sum();
    let repeated: usize = actors.iter().map(|actor| actor.repeated).sum();
    println!(
        "figures: {kills} kills, {answered} calls acknowledged, {repeated} without an answer and repeated, {lessons} lessons learnt once"
    );
    if repeated == 0 {
        bail!("no kill met a call under way, so nothing was tested");
    }
    Ok(())
}

/// Waits until all ends were learnt from, and compares the memories with the lessons that were acknowledged.
async fn check_lessons(daemon: &Daemon, finished: &[Finished]) -> Result<usize> {
    let database = rusqlite::Connection::open(daemon.data().join("infold.db"))?;
    let count = |sql: &str, title: &str| database.query_row(sql, [title], |row| row.get::<_, i64>(0));
    let learnt = async {
        while count("SELECT count(*) FROM outbox WHERE ?1 = ''", "")? > 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(LIFE_TIMEOUT, learnt).await.context("ends wait to be learnt from")??;
    let titles: Vec<String> = finished.iter().flat_map(Finished::lessons).collect();
    for title in &titles {
        let there = count("SELECT count(*) FROM memories WHERE content LIKE '%\"' || ?1 || '\"%'", title)?;
        if there != 1 {
            bail!("the lesson {title:?} was acknowledged once and is there {there} times");
        }
    }
    Ok(titles.len())
}

/// How often to kill.
fn kills() -> Result<usize> {
    match std::env::var("INFOLD_KILLS") {
        Ok(text) => text.parse().with_context(|| format!("INFOLD_KILLS must be a number, not {text:?}")),
        Err(_) => Ok(KILLS),
    }
}

/// Starts a daemon whose limits the test does not reach: branches stay open over many lives.
async fn start(folder: &TempFolder) -> Result<Daemon> {
    DaemonSetup::new(env!("CARGO_BIN_EXE_infold"))
        .data(folder.join("data"))
        .set("folding.max_branches_per_minute", 1_000_000)
        .set("folding.max_concurrent_per_session", 100_000)
        .set("folding.max_concurrent_per_instance", 1_000_000)
        .set("folding.max_budget", actor::BUDGET_TOKENS)
        .set("folding.max_timeout_seconds", actor::TIMEOUT_SECONDS)
        .start()
        .await
}

/// Lets all actors work until the daemon is killed, which is after a random number of calls.
async fn one_life(
    daemon: &mut Daemon,
    http: &reqwest::Client,
    actors: Vec<Actor>,
    rng: &mut Rng,
) -> Result<Vec<Actor>> {
    let calls = Arc::new(AtomicUsize::new(0));
    let mut working = JoinSet::new();
    for mut actor in actors {
        let client = McpHttp::connect_with(http.clone(), daemon.base_url(), actor.era()).await?;
        let calls = Arc::clone(&calls);
        working.spawn(async move { actor.work(&client, &calls).await.map(|()| actor) });
    }

    let calls_before_kill = rng.below(CALLS_MAX) + 1;
    let delay = Duration::from_micros(rng.below(DELAY_MICROS_MAX) as u64);
    let enough = async {
        while calls.load(Ordering::Relaxed) < calls_before_kill {
            tokio::time::sleep(POLL).await;
        }
        tokio::time::sleep(delay).await;
    };
    // An actor that stops early was refused; what it says is in its result.
    let stopped = async {
        match working.join_next().await {
            Some(result) => result.map_err(anyhow::Error::from).flatten().map(drop),
            None => Ok(()),
        }
    };
    tokio::select! {
        () = enough => {}
        result = stopped => {
            result?;
            bail!("a client lost its connection before the daemon was killed");
        }
        () = tokio::time::sleep(LIFE_TIMEOUT) => bail!("no {calls_before_kill} calls within {LIFE_TIMEOUT:?}"),
    }
    daemon.kill9().await?;

    all(working).await
}

/// Lets every actor repeat the call that it got no answer to, and check what it knows.
async fn check_all(daemon: &Daemon, http: &reqwest::Client, actors: Vec<Actor>) -> Result<Vec<Actor>> {
    let mut checking = JoinSet::new();
    for mut actor in actors {
        let http = http.clone();
        let base_url = daemon.base_url().to_owned();
        checking.spawn(async move {
            let client = McpHttp::connect_with(http, &base_url, actor.era()).await?;
            actor.repeat_unanswered(&client).await?;
            actor.check(&client).await?;
            anyhow::Ok(actor)
        });
    }
    all(checking).await
}

/// Waits until all actors are done, and returns them in their order.
async fn all(mut running: JoinSet<Result<Actor>>) -> Result<Vec<Actor>> {
    let mut actors = Vec::new();
    while let Some(result) = running.join_next().await {
        actors.push(result??);
    }
    actors.sort_by_key(|actor| actor.number);
    Ok(actors)
}
