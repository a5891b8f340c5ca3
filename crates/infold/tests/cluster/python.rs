//! What the ordinary NATS client for Python sees of a project: the subjects and documents that `docs/cluster.md` names.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use futures::StreamExt;
use infold_testkit::nats::NATS_USER;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::machines::Machines;
use crate::support::{PATIENCE, Program};

/// The last document of each step is about how the session is.
const STATE: &str = "meta.session_state";
const PYTHON: &str = ".tools/venv/bin/python";

/// The interpreter with the client; `None`, with a message, where it is not installed, which is a failure in CI.
fn python() -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PYTHON);
    let is_ready = std::process::Command::new(&python).args(["-c", "import nats"]).output();
    if is_ready.is_ok_and(|done| done.status.success()) {
        return Some(python);
    }
    assert!(std::env::var("CI").is_err(), "{PYTHON} with nats-py is missing, and CI must have it");
    println!("skipped: {PYTHON} with nats-py is missing; `cargo xtask test` installs it");
    None
}

/// A Python program that watches documents.
struct Watcher {
    lines: Lines<BufReader<ChildStdout>>,
    _program: Child,
}

impl Watcher {
    /// Starts to watch subjects. What was published before is not shown.
    async fn start(python: &Path, machines: &Machines, subjects: &str) -> Self {
        let password = machines.folder.join("watcher-password");
        fs::write(&password, machines.cluster.password()).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests-clients/nats_watcher.py");
        let mut program = Command::new(python)
            .arg(script)
            .args(["--server", &machines.cluster.client_urls()[0], "--user", NATS_USER, "--password-file"])
            .arg(&password)
            .args(["--subjects", subjects])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut watcher = Self { lines: BufReader::new(program.stdout.take().unwrap()).lines(), _program: program };
        assert_eq!(watcher.line().await, "ready");
        watcher
    }

    async fn line(&mut self) -> String {
        tokio::time::timeout(PATIENCE, self.lines.next_line()).await.unwrap().unwrap().unwrap()
    }

    /// The documents up to the next one about how the session is, each with what its subject names behind the session.
    async fn step(&mut self, session: &str) -> Vec<(String, Value)> {
        let mut seen: Vec<(String, Value)> = Vec::new();
        while seen.last().is_none_or(|(about, _)| about != STATE) {
            let mut said: Value = serde_json::from_str(&self.line().await).unwrap();
            let parts: Vec<String> = said["subject"].as_str().unwrap().splitn(5, '.').map(str::to_owned).collect();
            assert_eq!((parts[0].as_str(), parts[1].as_str(), parts[3].as_str()), ("sessions", "local", session));
            seen.push((parts[4].clone(), said["document"].take()));
        }
        seen
    }
}

/// The hash of a project, as the documents of a session in it name it.
async fn project_hash(machines: &Machines, program: &Program, project: &str) -> String {
    let watcher = machines.cluster.client().await.unwrap();
    let mut states = watcher.subscribe(format!("sessions.*.*.*.{STATE}")).await.unwrap();
    watcher.flush().await.unwrap();
    let opening = json!({"description": "Look", "prompt": "Around", "project_path": project, "session_id": "before"});
    program.done("context_branch", opening).await.unwrap();
    let state = tokio::time::timeout(PATIENCE, states.next()).await.unwrap().unwrap();
    state.subject.split('.').nth(2).unwrap().to_owned()
}

/// Whether a field has a value of the right kind.
type IsRight = fn(&Value) -> bool;

/// Asserts that a document has these fields, each with a value of the kind that is shown.
fn assert_fields(document: &Value, fields: &[(&str, IsRight)]) {
    for (name, is_right) in fields {
        assert!(document.get(name).is_some_and(is_right), "{name} in {document}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_client_that_watches_a_project_sees_its_documents_in_order() {
    let Some(python) = python() else { return };
    let Some(mut machines) = Machines::start(2, |setup| setup).await else { return };
    let programs = machines.programs().await;
    let hash = project_hash(&machines, &programs[0], "/srv/app").await;
    let mut watcher = Watcher::start(&python, &machines, &format!("sessions.local.{hash}.>")).await;
    // Of another project, which is not watched.
    programs[1].open("elsewhere", "look around").await.unwrap();

    let session = "watched";
    let mut opening = json!({"description": "Search the logs", "prompt": "Use grep", "project_path": "/srv/app"});
    opening["session_id"] = json!(session);
    let opened = programs[0].done("context_branch", opening).await.unwrap();
    let branch = opened["branch_id"].as_str().unwrap();
    let mut seen = watcher.step(session).await;
    programs[1].record(session, json!({"tool_name": "grep", "content": "three lines"})).await.unwrap();
    seen.extend(watcher.step(session).await);
    let returning = json!({"message": "Found three patterns", "project_path": "/srv/app", "session_id": session});
    programs[0].done("context_return", returning).await.unwrap();
    seen.extend(watcher.step(session).await);
    let subjects: Vec<&str> = seen.iter().map(|(about, _)| about.as_str()).collect();
    let of_branch = format!("branches.{branch}");
    assert_eq!(
        subjects,
        [
            &of_branch,
            "events.branch.created",
            STATE,
            "events.operation.completed",
            STATE,
            &of_branch,
            "events.branch.folded",
            STATE
        ]
    );
    check_documents(&seen, session, branch);
}

/// Checks every field that the documents are promised to have.
fn check_documents(seen: &[(String, Value)], session: &str, branch: &str) {
    let document = |at: usize| &seen[at].1;
    let active = document(0);
    assert_eq!((&active["id"], &active["status"]), (&json!(branch), &json!("active")));
    assert_eq!((&active["description"], &active["prompt"]), (&json!("Search the logs"), &json!("Use grep")));
    assert_fields(
        active,
        &[("parent_id", Value::is_null), ("created_at", Value::is_string), ("tokens", Value::is_u64)],
    );
    for (at, event) in [(1, "branch.created"), (3, "operation.completed"), (6, "branch.folded")] {
        assert_eq!((&document(at)["event"], &document(at)["branch_id"]), (&json!(event), &json!(branch)));
    }
    let folded = document(5);
    assert_eq!((&folded["id"], &folded["status"]), (&json!(branch), &json!("folded")));
    assert_eq!(folded["summary"], "Found three patterns");
    assert_fields(folded, &[("folded_at", Value::is_string), ("tokens_folded", Value::is_u64)]);
    for (at, now, depth) in [(2, json!(branch), 1), (7, Value::Null, 0)] {
        let state = document(at);
        assert_eq!(
            (&state["session_id"], &state["active_branch_id"], &state["branch_depth"]),
            (&json!(session), &now, &json!(depth))
        );
        assert_fields(state, &[("total_tokens", Value::is_u64)]);
    }
}
