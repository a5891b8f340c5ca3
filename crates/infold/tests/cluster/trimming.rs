//! The log is kept short while machines work with it.

use std::fs;
use std::time::Instant;

use async_nats::jetstream;
use infold_testkit::nats::NatsServer;
use infold_testkit::{Daemon, Era, McpHttp, TempFolder};
use serde_json::json;

use super::machines::{STREAM, connected, infold_command};
use crate::support::{PATIENCE, roomy};

/// Opens and folds this many branches. Returns the last one's id.
async fn work(daemon: &Daemon, rounds: usize) -> String {
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await.unwrap();
    let mut branch = String::new();
    for _ in 0..rounds {
        let opening = json!({"session_id": "kept", "description": "look around", "parent_branch_id": "main"});
        branch = client.call("branch_create", opening).await.unwrap().text_field("branch_id");
        let folding = json!({"branch_id": branch, "message": "seen"});
        assert!(client.call("branch_return", folding).await.unwrap().is_ok());
    }
    branch
}

/// Waits until a stream is as it should be.
async fn until(context: &jetstream::Context, name: &str, is_so: impl Fn(&jetstream::stream::State) -> bool) {
    let begun = Instant::now();
    loop {
        let state = context.get_stream(name).await.ok().map(|stream| stream.cached_info().state.clone());
        if state.as_ref().is_some_and(&is_so) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{name}: {state:?}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_entries_are_removed_and_a_new_machine_begins_from_a_base() {
    let Some(server) = NatsServer::start().await.unwrap() else { return };
    let folder = TempFolder::new().unwrap();
    let password = folder.join("password");
    fs::write(&password, server.password()).unwrap();
    let setup = |name: &str| {
        let setup = connected(roomy(), &[server.client_url()], &password).data(folder.join(name));
        setup.set("store.nats.replicas", 1).set("store.nats.trim_bytes", 4_096)
    };
    let context = jetstream::new(server.client().await.unwrap());
    let mut first = setup("first").start().await.unwrap();
    // What has become long is trimmed at the start, and later every ten minutes.
    work(&first, 20).await;
    first.terminate().await.unwrap();
    first.restart().await.unwrap();
    until(&context, &format!("{STREAM}_BASE"), |state| state.messages >= 2).await;
    work(&first, 40).await;
    first.terminate().await.unwrap();
    first.restart().await.unwrap();
    until(&context, STREAM, |state| state.first_sequence > 1).await;
    let branch = work(&first, 1).await;

    let key = first.data().join("cluster/infold.key");
    let second = folder.join("second");
    let taken = ["store", "key", "--from", key.to_str().unwrap(), "--data", second.to_str().unwrap()];
    assert!(infold_command(&taken).status.success());
    let second = setup("second").start().await.unwrap();
    let client = McpHttp::connect(second.base_url(), Era::Modern).await.unwrap();
    let status = client.call("branch_status", json!({"branch_id": branch})).await.unwrap();
    assert_eq!(status.text_field("status"), "completed", "{}", status.summary());
}
