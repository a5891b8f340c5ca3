//! The agent is killed, wherever it is, and goes on: nothing that was recorded is lost or done twice, and the model is sent
//! what it would have been sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use infold_testkit::Seed;
use infold_testkit::model::{Decision, Fault, Received, Script, Step};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::scene::{ASKED, Scene, calls, ended, newest_words, normalised, opening, returning, signal};

/// A command that leaves one line each time that it runs.
fn leaving(mark: &str) -> Step {
    calls(vec![("shell", json!({"command": format!("echo {mark} >> done.txt; echo left {mark}")}))])
}

/// What the model says to a request: it follows from the request alone, so that it is the same after a kill.
fn answer(received: &Received) -> Decision {
    let newest = newest_words(received);
    let holds = |words: &str| newest.contains(words);
    Decision::Say(if holds("Write the summary") || received.tool_count() == 0 {
        Step::text("The work so far: three marks were left.")
    } else if holds("compact_context") && holds("after_tokens") || holds("\"before_tokens\"") {
        leaving("four")
    } else if holds("left four") {
        Step::text("All is done.")
    } else if holds("Task: inner work") {
        leaving("inner")
    } else if holds("left inner") {
        returning("the inner work is done")
    } else if holds("Task: second work") {
        returning("the second work is done")
    } else if holds("work is done") {
        calls(vec![("compact_context", json!({}))])
    } else if holds("left one") {
        calls(vec![
            ("shell", json!({"command": "echo two >> done.txt; echo left two"})),
            ("shell", json!({"command": "echo three >> done.txt; echo left three"})),
            ("read", json!({"path": "long.txt"})),
        ])
    } else if holds("left three") {
        opening(&[("inner work", "Leave a mark."), ("second work", "Only say so.")])
    } else if holds(ASKED) {
        leaving("one")
    } else {
        return Decision::Stuck(format!("no answer to: {newest}"));
    })
}

/// A scene whose model stalls at its `stall_at`-th request, counted from 1, and never again.
async fn scene(stall_at: Arc<AtomicUsize>) -> Scene {
    let seen = AtomicUsize::new(0);
    let step = Step::seeing(move |received| {
        if seen.fetch_add(1, Ordering::SeqCst) + 1 == stall_at.load(Ordering::SeqCst) {
            return Decision::Say(Step::failing(Fault::StallAfter { bytes: 0 }));
        }
        answer(received)
    });
    let script = Script::new(std::iter::repeat_n(step.clone(), 100)).aside("", step);
    let scene = Scene::start(script).await;
    scene.write("long.txt", &"a line of a file that is read in the middle of the work\n".repeat(150));
    scene
}

fn marks(scene: &Scene) -> Vec<String> {
    let text = std::fs::read_to_string(scene.file("done.txt")).unwrap_or_default();
    let mut marks: Vec<String> = text.lines().map(str::to_owned).collect();
    marks.sort();
    marks
}

const ALL_MARKS: [&str; 5] = ["four", "inner", "one", "three", "two"];

/// The requests of the main thread as they are compared: the newest one holds everything before it.
fn last_request(scene: &Scene) -> String {
    let broken: Vec<String> = scene.model.broken();
    assert_eq!(broken, Vec::<String>::new());
    let last = scene.model.turns().pop().unwrap();
    let text = normalised(&last).replace(&scene.home().display().to_string(), "HOME");
    // What a compaction counts depends on the ids of branches, whose tokens differ; and commands take their time.
    let counted = ["[Compacted: ", " tokens became ", "before_tokens\\\":", "after_tokens\\\":", "[exit status 0, "];
    counted.into_iter().fold(text, |text, words| without_numbers_behind(&text, words))
}

/// A text without the numbers that come right behind these words.
fn without_numbers_behind(text: &str, words: &str) -> String {
    let mut parts = text.split(words);
    let first = parts.next().unwrap_or_default().to_owned();
    let rest =
        parts.map(|part| part.trim_start_matches(|letter: char| letter.is_ascii_digit() || ",.".contains(letter)));
    rest.fold(first, |text, part| format!("{text}{words}#{part}"))
}

/// Records that count: how a run ended is none of them.
fn records(scene: &Scene) -> Vec<Value> {
    scene.log().into_iter().filter(|record| record["happened"] != "finished").collect()
}

/// The ids of calls that have a result, of a log.
fn answered(log: &[Value]) -> Vec<String> {
    let results = log.iter().filter(|record| record["happened"] == "result");
    results.map(|record| record["entry"]["call"].as_str().unwrap().to_owned()).collect()
}

async fn session_of(scene: &Scene) -> String {
    let rows = crate::support::Database::look(&scene.data()).unwrap();
    rows.rows("SELECT name FROM sessions WHERE id IN (SELECT session_id FROM agent_log)").unwrap().remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enh_6_a_run_that_is_killed_at_any_request_goes_on_as_if_nothing_had_happened() {
    let whole = scene(Arc::default()).await;
    let ran = whole.exec(&["--approval", "all", ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "All is done.");
    assert_eq!(marks(&whole), ALL_MARKS);
    assert!(!ran.of_kind("compacted").is_empty(), "{}", ran.stdout);
    let (requests, wanted, all) = (whole.model.requests().len(), last_request(&whole), records(&whole).len());
    assert!(requests >= 8, "{requests}");

    for kill_at in 1..=requests {
        let scene = scene(Arc::new(AtomicUsize::new(kill_at))).await;
        let child = scene.begin(&["--approval", "all", ASKED]);
        let sent = async {
            while scene.model.requests().len() < kill_at {
                tokio::time::sleep(crate::support::POLL).await;
            }
            // Branches work side by side: what the others do meanwhile may come to its end or not.
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        tokio::time::timeout(crate::support::PATIENCE, sent).await.unwrap();
        signal(&child, Signal::KILL);
        ended(child).await;
        let before = records(&scene);
        let session = session_of(&scene).await;

        let ran = scene.exec(&["--approval", "all", "--resume", &session]).await;
        assert_eq!(ran.finished(0)["answer"], "All is done.", "killed at {kill_at}");
        let after = records(&scene);
        assert_eq!(before[..], after[..before.len()], "killed at {kill_at}: what was recorded stays");
        assert_eq!(after.len(), all, "killed at {kill_at}");
        check_marks(&scene, &before, &format!("killed at {kill_at}"));
        let got = last_request(&scene);
        assert!(got == wanted, "killed at {kill_at}:\n{}", difference(&wanted, &got));
    }
}

/// Checks that each command ran, and none twice whose result was recorded. One that was under way when the agent was killed
/// may have run once before.
fn check_marks(scene: &Scene, before: &[Value], when: &str) {
    let marks = marks(scene);
    for mark in ALL_MARKS {
        let times = marks.iter().filter(|left| *left == mark).count();
        let left = format!("left {mark}");
        let is_recorded =
            before.iter().any(|record| record["happened"] == "result" && record.to_string().contains(&left));
        // A command that was under way may come to its end after the kill, and is run again.
        let most = if is_recorded { 1 } else { 2 };
        assert!((1..=most).contains(&times), "{when}: {mark} was left {times} times");
    }
}

/// The first lines in which two texts differ.
fn difference(wanted: &str, got: &str) -> String {
    let lines = wanted.lines().zip(got.lines()).enumerate().filter(|(_, (wanted, got))| wanted != got);
    let lines = lines.take(5).map(|(at, (wanted, got))| format!("{at}: - {wanted}\n{at}: + {got}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_killed_at_any_moment_loses_nothing_that_was_recorded() {
    const KILLS: usize = 12;
    let seed = Seed::announce("cargo test -p infold --test program agent::kills").unwrap();
    let mut rng = seed.rng(0);
    let whole = scene(Arc::default()).await;
    let began = std::time::Instant::now();
    whole.exec(&["--approval", "all", ASKED]).await.finished(0);
    let took_micros = usize::try_from(began.elapsed().as_micros()).unwrap();
    for round in 0..KILLS {
        let scene = scene(Arc::default()).await;
        let child = scene.begin(&["--approval", "all", ASKED]);
        tokio::time::sleep(Duration::from_micros((took_micros / 5 + rng.below(took_micros)) as u64)).await;
        if child.id().is_some() {
            signal(&child, Signal::KILL);
        }
        ended(child).await;
        let before = records(&scene);
        if before.is_empty() {
            continue;
        }
        let session = session_of(&scene).await;
        let ran = scene.exec(&["--approval", "all", "--resume", &session]).await;
        if before.iter().any(|record| record.to_string().contains("All is done.")) {
            assert_eq!(ran.code, 3, "round {round}: there is nothing left to do: {ran:?}");
            continue;
        }
        assert_eq!(ran.finished(0)["answer"], "All is done.", "round {round}");
        let after = records(&scene);
        assert_eq!(before[..], after[..before.len()], "round {round}");
        let mut calls = answered(&after);
        let count = calls.len();
        calls.sort();
        calls.dedup();
        assert_eq!(calls.len(), count, "round {round}: a call has one result");
        check_marks(&scene, &before, &format!("round {round}"));
    }
}
