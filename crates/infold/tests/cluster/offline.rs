//! Work while the servers are away: it is refused, with what to do, and afterwards nothing is lost and nothing is there twice.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Instant;

use infold_testkit::TempFolder;
use infold_testkit::nats::NatsServer;
use serde_json::{Value, json};

use super::machines::{bare_infold, connected};
use crate::support::{Database, PATIENCE, POLL, Program, roomy};

/// Calls that are under way when the servers go.
const CALLS: usize = 24;

fn opening(name: &str) -> Value {
    json!({"session_id": "s", "description": name, "parent_branch_id": "main", "idempotency_key": name})
}

#[test]
fn without_servers_every_command_says_so_and_what_to_do() {
    let folder = TempFolder::new().unwrap();
    let data = folder.join("data");
    // An agent that says when it runs.
    let agent = folder.join("claude");
    fs::write(&agent, "#!/bin/sh\necho started >&2\n").unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["mcp"], &["run"]] {
        let mut arguments = command.to_vec();
        arguments.extend(["--data", data.to_str().unwrap()]);
        for setting in [
            "store.backend=nats",
            "store.nats.sync=trust",
            "store.nats.servers=[\"nats://127.0.0.1:1\"]",
            "store.nats.timeout_ms=1000",
        ] {
            arguments.extend(["--set", setting]);
        }
        // What follows an agent's name is the agent's.
        arguments.extend((command == ["run"]).then_some("claude"));
        let infold = &mut bare_infold();
        let said = infold.args(&arguments).env("PATH", &path).env("HOME", folder.path()).output().unwrap();
        let text = String::from_utf8_lossy(&said.stderr);
        assert!(!said.status.success(), "{command:?}: {text}");
        for words in ["cannot be reached", "store.backend = \"sqlite\""] {
            assert!(text.contains(words), "{command:?} does not say {words:?}: {text}");
        }
        assert!(!text.contains("started"), "the agent runs without its state: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_is_nowhere_and_what_is_repeated_is_there_once() {
    let Some(mut server) = NatsServer::start().await.unwrap() else { return };
    let folder = TempFolder::new().unwrap();
    let password = folder.join("password");
    fs::write(&password, server.password()).unwrap();
    let setup = connected(roomy(), &[server.client_url()], &password)
        .set("store.nats.replicas", 1)
        .set("store.nats.timeout_ms", 2_000)
        .set("folding.max_concurrent_per_session", 1_000);
    let program = Arc::new(Program::start(setup).await.unwrap());
    program.done("branch_create", opening("before")).await.unwrap();

    let calls: Vec<_> = (0..CALLS)
        .map(|number| {
            let program = Arc::clone(&program);
            tokio::spawn(async move { program.call("branch_create", opening(&format!("call-{number}"))).await })
        })
        .collect();
    server.kill().unwrap();
    let mut acknowledged = Vec::new();
    for (number, call) in calls.into_iter().enumerate() {
        let answer = call.await.unwrap().unwrap();
        if answer.is_ok() {
            acknowledged.push((number, answer.text_field("branch_id")));
        }
    }
    let refused = program.call("branch_create", opening("offline")).await.unwrap();
    assert!(refused.summary().contains("cluster_unreachable"), "{}", refused.summary());

    server.restart().await.unwrap();
    let begun = Instant::now();
    while !program.call("branch_create", opening("after")).await.unwrap().is_ok() {
        assert!(begun.elapsed() < PATIENCE, "it does not go on");
        tokio::time::sleep(POLL).await;
    }
    for number in 0..CALLS {
        let again = program.done("branch_create", opening(&format!("call-{number}"))).await.unwrap();
        let first = acknowledged.iter().find(|(acknowledged, _)| *acknowledged == number);
        assert!(first.is_none_or(|(_, branch)| again["branch_id"] == json!(branch)), "call {number} is there twice");
    }
    let index = Database::look(&program.daemon.data().join("cluster")).unwrap();
    assert_eq!(index.number("SELECT count(*) FROM branches").unwrap(), CALLS as i64 + 2);
}
