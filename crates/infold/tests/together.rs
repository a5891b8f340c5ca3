//! Several processes on one database at once, under load: two that serve stdio, the daemon, and people
//! who look with `infold show` and `infold sessions` all the while. Nothing fails, and in the end every
//! event is there, once, whoever follows the feed has received it, and each lesson is a memory, once.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use infold_testkit::{CallAnswer, Daemon, Era, McpHttp, McpStdio};
use serde_json::{Value, json};

use crate::support::{Program, infold};

/// Rounds that each worker makes. A round is two openings, two returns and a few looks.
const ROUNDS: usize = 25;

/// Workers: two over stdio, two over HTTP.
const WORKERS: usize = 4;

/// Settings of every process. All need the same, because limits are counted in the database that they share.
const SETTINGS: [&str; 3] = [
    "folding.max_branches_per_minute=100000",
    "folding.max_concurrent_per_session=1000",
    "folding.max_concurrent_per_instance=1000",
];

/// Events of one opening: created and activated.
const EVENTS_PER_OPENING: usize = 2;

/// A client that calls tools, over one of the transports.
enum Worker {
    Stdio(Box<McpStdio>),
    Http(McpHttp),
}

impl Worker {
    async fn call(&mut self, tool: &str, arguments: Value) -> Result<CallAnswer> {
        let answer = match self {
            Self::Stdio(client) => client.call(tool, arguments).await?,
            Self::Http(client) => client.call(tool, arguments).await?,
        };
        ensure!(answer.is_ok(), "{tool}: {}", answer.summary());
        Ok(answer)
    }

    /// Opens a branch of the main thread, looks at it, and folds it: in a session of its own, and in one
    /// that all workers share and so keep changing under each other.
    async fn round(&mut self, worker: usize, round: usize) -> Result<()> {
        for session in [format!("own-{worker}"), "shared".to_owned()] {
            let description = format!("worker {worker} round {round}");
            let open = json!({"session_id": session, "description": description, "parent_branch_id": "main"});
            let branch = self.call("branch_create", open).await?.text_field("branch_id");
            if session != "shared" {
                let status = self.call("branch_status", json!({"branch_id": branch})).await?;
                ensure!(status.text_field("description") == description, "{}", status.text);
            }
            let message = format!("done by {worker} in round {round}");
            // In the shared session each branch teaches something of its own, and all teach one thing.
            let lessons = match session.as_str() {
                "shared" => json!([own_lesson(worker, round), common_lesson()]),
                _ => json!([]),
            };
            let returning = json!({"branch_id": branch, "message": message, "lessons": lessons});
            let folded = self.call("branch_return", returning).await?;
            ensure!(folded.text_field("message") == message, "{}", folded.text);
        }
        Ok(())
    }

    async fn work(mut self, worker: usize) -> Result<()> {
        for round in 0..ROUNDS {
            self.round(worker, round).await.with_context(|| format!("worker {worker}, round {round}"))?;
        }
        if let Self::Stdio(client) = self {
            let status = client.close().await?;
            ensure!(status.success(), "a stdio server ended with {status}");
        }
        Ok(())
    }
}

/// What all branches of the shared session teach.
const COMMON: &str = "The release notes are written by hand";

fn common_lesson() -> Value {
    json!({"title": COMMON, "lesson": "Nothing makes the release notes: write them in NOTES.md before the tag is set."})
}

/// What one branch of the shared session teaches: words that no other lesson has.
fn own_lesson(worker: usize, round: usize) -> Value {
    let word = |place: usize| {
        let mut number = (worker * ROUNDS + round) * 7 + place + 1_000;
        let mut word = String::new();
        while number > 0 {
            word.push_str(["ba", "de", "fi", "go", "lu", "ma", "ne", "ri", "so", "tu"][number % 10]);
            number /= 10;
        }
        word
    };
    let words: Vec<String> = (0..7).map(word).collect();
    json!({"title": words[..3].join(" "), "lesson": words[3..].join(" ")})
}

/// Waits until everything that ended was learnt from, and checks that each lesson is there once.
async fn check_lessons(program: &Program) -> Result<()> {
    let waiting = "SELECT count(*) FROM memory_lessons";
    let learning = async {
        while program.database()?.number(waiting)? > 0 {
            tokio::time::sleep(crate::support::POLL).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(crate::support::PATIENCE, learning).await.context("lessons are left")??;
    let list = program.api.get("/api/v1/memories?limit=500").await?.with_status(200)?;
    let memories = list["memories"].as_array().context("a list of memories")?;
    let mut titles: Vec<&str> = memories.iter().filter_map(|memory| memory["title"].as_str()).collect();
    titles.sort_unstable();
    let mut wanted: Vec<String> = (0..WORKERS)
        .flat_map(|worker| (0..ROUNDS).map(move |round| own_lesson(worker, round)))
        .filter_map(|lesson| lesson["title"].as_str().map(str::to_owned))
        .collect();
    wanted.push(COMMON.to_owned());
    wanted.sort_unstable();
    assert_eq!(titles, wanted, "each lesson is there, once");
    Ok(())
}

/// Runs a command that looks, again and again until the work is done, and returns how often.
async fn watch(daemon: &Daemon, arguments: &[&str], done: &AtomicBool) -> Result<usize> {
    let mut looks = 0;
    while !done.load(Ordering::Relaxed) {
        let output = daemon.program(arguments).arg("--json").output().await?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success() && said.is_empty(), "{arguments:?} ended with {}: {said}", output.status);
        let _: Value = serde_json::from_slice(&output.stdout).with_context(|| format!("{arguments:?}"))?;
        looks += 1;
    }
    Ok(looks)
}

async fn workers(program: &Program) -> Result<Vec<Worker>> {
    let binary = env!("CARGO_BIN_EXE_infold").as_ref();
    let (home, data) = (program.daemon.home(), program.daemon.data());
    let http = program.mcp.http();
    Ok(vec![
        Worker::Stdio(Box::new(McpStdio::start(binary, &home, data, &SETTINGS, Era::Legacy).await?)),
        Worker::Stdio(Box::new(McpStdio::start(binary, &home, data, &SETTINGS, Era::Modern).await?)),
        Worker::Http(McpHttp::connect_with(http.clone(), program.daemon.base_url(), Era::Legacy).await?),
        Worker::Http(McpHttp::connect_with(http.clone(), program.daemon.base_url(), Era::Modern).await?),
    ])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_work_on_one_database_and_no_event_is_lost() -> Result<()> {
    let setup = SETTINGS
        .iter()
        .filter_map(|setting| setting.split_once('='))
        .fold(infold(), |setup, (key, value)| setup.set(key, value));
    let program = Program::start(setup).await?;
    // There has to be something to look at from the first moment on.
    let first = program.open("shared", "The first").await?;
    program.fold(&first, "Done.").await?;

    let openings = WORKERS * ROUNDS;
    // Started, opened and folded; and in a worker's own session a look at the branch, counted in it.
    let in_own = 1 + ROUNDS * (EVENTS_PER_OPENING + 1 + 1);
    let in_shared = 1 + (openings + 1) * (EVENTS_PER_OPENING + 1);
    let in_all = WORKERS * in_own + in_shared;

    let done = AtomicBool::new(false);
    let working = async {
        let mut at_work = tokio::task::JoinSet::new();
        for (number, worker) in workers(&program).await?.into_iter().enumerate() {
            at_work.spawn(worker.work(number));
        }
        let mut outcome = Ok(());
        while let Some(worked) = at_work.join_next().await {
            outcome = outcome.and(worked?);
        }
        done.store(true, Ordering::Relaxed);
        outcome
    };
    let following = program.api.stream_until("/api/v1/events?after=0", |events| events.len() >= in_all);
    let showing = watch(&program.daemon, &["show", "shared"], &done);
    let listing = watch(&program.daemon, &["sessions"], &done);
    let (worked, followed, shown, listed) = tokio::join!(working, following, showing, listing);
    worked?;
    let (followed, shown, listed) = (followed?, shown?, listed?);
    eprintln!("{in_all} events of {} calls; shown {shown} times, listed {listed} times", WORKERS * ROUNDS * 5);
    assert!(shown > 3 && listed > 3, "people looked while there was work");

    let database = program.database()?;
    assert_eq!(database.number("SELECT count(*) FROM events")?, i64::try_from(in_all)?);
    assert_eq!(database.number("SELECT count(*) FROM branches WHERE open = 1")?, 0);
    assert_eq!(
        database.number("SELECT count(*) FROM events WHERE status IS NOT NULL")?,
        i64::try_from(2 * openings + 1)?
    );
    let gaps = "SELECT session_id FROM events GROUP BY session_id
                HAVING min(version) <> 1 OR max(version) <> count(*) OR count(DISTINCT version) <> count(*)";
    assert_eq!(database.rows(gaps)?, Vec::<String>::new(), "versions go from 1 without a gap");
    let behind =
        "SELECT id FROM sessions WHERE version <> (SELECT count(*) FROM events WHERE session_id = sessions.id)";
    assert_eq!(database.rows(behind)?, Vec::<String>::new(), "each session is as old as its log");
    assert_eq!(database.rows("PRAGMA integrity_check")?, ["ok"]);

    check_lessons(&program).await?;
    let received: Vec<u64> = followed.iter().filter_map(|record| record["id"].as_u64()).collect();
    assert!(received.is_sorted(), "the feed has an order");
    let stored: BTreeSet<u64> =
        database.rows("SELECT id FROM events")?.iter().filter_map(|id| id.parse().ok()).collect();
    assert_eq!(received.len(), stored.len(), "and tells everything once");
    assert_eq!(received.into_iter().collect::<BTreeSet<u64>>(), stored);
    let said = program.daemon.stderr();
    assert!(!said.contains("\"level\":\"ERROR\"") && !said.contains("\"level\":\"WARN\""), "{said}");
    Ok(())
}
