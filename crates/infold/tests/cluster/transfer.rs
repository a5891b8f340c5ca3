//! Moving everything from a machine's own file into the cluster, and from there into another machine's file, with kills in
//! the middle of it: a copy goes on where it was, and what is there at the end is what was there at the beginning.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures::StreamExt;
use infold_testkit::{Era, McpHttp};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use super::machines::{Machines, infold_command, undisturbed};
use crate::support::roomy;

/// Sessions of the short form; `INFOLD_MOVE_SESSIONS` asks for more.
const SESSIONS: usize = 600;
/// How many sessions are made at once.
const AT_ONCE: usize = 16;
/// At which part of all rows the copy is killed, in percent.
const KILLED_AT: [i64; 2] = [5, 30];
/// How long a copy may take to come to where it is killed.
const COMES_WITHIN: Duration = Duration::from_secs(600);
/// How often a copy that was over before it could be killed is begun anew.
const BEGUN_MAX: usize = 5;
/// What is counted to see how far a copy has come.
const ROWS: &str = "SELECT (SELECT count(*) FROM sessions) + (SELECT count(*) FROM events)";

/// A machine that moves its state.
struct Mover {
    data: PathBuf,
    settings: Vec<String>,
}

impl Mover {
    fn new(machines: &Machines, data: PathBuf) -> Self {
        Self { data, settings: machines.settings() }
    }

    fn arguments(&self, words: &[&str]) -> Vec<String> {
        let words = words.iter().map(|word| (*word).to_owned());
        let data = ["--data".to_owned(), self.data.display().to_string()];
        words.chain(data).chain(self.settings.iter().cloned()).collect()
    }

    /// Runs a command to its end.
    fn run(&self, words: &[&str]) -> Value {
        let arguments = self.arguments(words);
        let said = infold_command(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(said.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said.stderr));
        serde_json::from_slice(&said.stdout).unwrap()
    }

    fn begin(&self, words: &[&str]) -> Child {
        let mut command = undisturbed(Command::new(env!("CARGO_BIN_EXE_infold")));
        command.args(self.arguments(words)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Begins to move, and kills the program when the file that it writes has so many rows. Whether it came to that before
    /// it was done.
    fn kill_at(&self, to: &str, rows: i64) -> bool {
        let file = self.data.join(if to == "nats" { "cluster/infold.db" } else { "infold.db" });
        let mut program = self.begin(&["store", "move", "--to", to]);
        let until = Instant::now() + COMES_WITHIN;
        while counted(&file).is_none_or(|found| found < rows) {
            assert!(Instant::now() < until, "the copy does not come to {rows} rows");
            if program.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        program.kill().unwrap();
        program.wait().unwrap();
        true
    }

    /// Moves with kills in between. Returns what the last run says, and the rows that were there after each kill.
    fn move_with_kills(&self, to: &str, rows: i64) -> (Value, Vec<i64>) {
        let file = self.data.join(if to == "nats" { "cluster/infold.db" } else { "infold.db" });
        let mut left = Vec::new();
        for percent in KILLED_AT {
            assert!(self.kill_at(to, rows * percent / 100), "the copy was over before it could be killed");
            left.push(counted(&file).unwrap());
        }
        (self.run(&["store", "move", "--to", to, "--json"]), left)
    }

    fn digest(&self, backend: &str) -> String {
        let backend = format!("store.backend={backend}");
        self.run(&["store", "status", "--json", "--set", &backend])["digest"].as_str().unwrap().to_owned()
    }
}

/// How many rows a database has of what is counted; `None` if it is not there yet.
fn counted(file: &Path) -> Option<i64> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    connection.query_row(ROWS, [], |row| row.get(0)).ok()
}

/// Makes sessions in a machine's own file, each with a branch that was folded and one that is open.
async fn make_sessions(data: &Path, count: usize) {
    let mut daemon = roomy()
        .data(data)
        .set("store.synchronous", "normal")
        .set("folding.max_branches_per_minute", 1_000_000)
        .set("folding.max_concurrent_per_instance", 1_000_000)
        .start()
        .await
        .unwrap();
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await.unwrap();
    let making = futures::stream::iter(0..count).map(|number| make_session(&client, number)).buffer_unordered(AT_ONCE);
    making.for_each(|()| std::future::ready(())).await;
    daemon.terminate().await.unwrap();
}

async fn make_session(client: &McpHttp, number: usize) {
    let session = format!("session-{number}");
    let opening = json!({"session_id": session, "description": format!("look at part {number}")});
    let opened = client.call("branch_create", opening).await.unwrap();
    assert!(opened.is_ok(), "{}", opened.summary());
    let branch = opened.structured.unwrap()["branch_id"].clone();
    let folding = json!({"branch_id": branch, "message": format!("part {number} is as it should be")});
    assert!(client.call("branch_return", folding).await.unwrap().is_ok());
    let again = json!({"session_id": session, "description": "look again"});
    assert!(client.call("branch_create", again).await.unwrap().is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_is_killed_goes_on_and_ends_with_the_same_on_both_sides() {
    let Some(machines) = Machines::start(0, |setup| setup).await else { return };
    let sessions = std::env::var("INFOLD_MOVE_SESSIONS").map_or(SESSIONS, |count| count.parse().unwrap());
    let (first, second) = (machines.folder.join("first"), machines.folder.join("second"));
    make_sessions(&first, sessions).await;
    let rows = counted(&first.join("infold.db")).unwrap();
    let (first, second) = (Mover::new(&machines, first), Mover::new(&machines, second));
    let digest = first.digest("sqlite");

    let began = Instant::now();
    let (said, left) = first.move_with_kills("nats", rows);
    assert!(left.iter().all(|left| *left < rows), "{left:?} of {rows} were there after the kills");
    assert!(said["written"].as_u64() < said["rows"].as_u64(), "nothing was there already: {said}");
    assert_eq!((said["digest"].as_str(), first.digest("nats").as_str()), (Some(digest.as_str()), digest.as_str()));
    let there = began.elapsed();

    // Another machine takes it from the cluster into a file of its own.
    let key = first.data.join("cluster/infold.key");
    second.run(&["store", "key", "--json", "--from", key.to_str().unwrap()]);
    let began = Instant::now();
    for begun in 1.. {
        assert!(begun <= BEGUN_MAX, "the copy is always over before it can be killed");
        let mut all_killed = true;
        for percent in KILLED_AT {
            all_killed &= second.kill_at("sqlite", rows * percent / 100);
        }
        let left = counted(&second.data.join("infold.db")).unwrap();
        if all_killed && left < rows {
            break;
        }
        for name in ["infold.db", "infold.db-wal", "infold.db-shm"] {
            let _ = std::fs::remove_file(second.data.join(name));
        }
    }
    let said = second.run(&["store", "move", "--to", "sqlite", "--json"]);
    assert!(said["written"].as_u64() < said["rows"].as_u64(), "nothing was there already: {said}");
    assert_eq!((said["digest"].as_str(), second.digest("sqlite").as_str()), (Some(digest.as_str()), digest.as_str()));
    let back = began.elapsed();
    println!(
        "figures: {sessions} sessions, {} rows: {:.1} s into the cluster, {:.1} s back, with two kills each",
        said["rows"],
        there.as_secs_f64(),
        back.as_secs_f64()
    );
}
