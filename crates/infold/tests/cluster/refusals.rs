//! Clusters that cannot be used, and what is said then. Nothing is half done, and it recovers by itself.

use std::fs;
use std::process::Output;
use std::time::Instant;

use infold_testkit::nats::{NATS_USER, NatsServer, NatsSetup};
use infold_testkit::{Era, McpHttp, Rng, TempFolder};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::machines::{Machines, connected, infold_command};
use crate::support::{Database, PATIENCE, POLL, Program, infold};

/// How many results are handed in at most until a server is full.
const FILLINGS_MAX: usize = 100;

/// What the program says about the state of a cluster of one server, with these settings in place of others.
fn status(server: &NatsServer, folder: &TempFolder, settings: &[&str]) -> Output {
    let password = folder.join("password");
    fs::write(&password, server.password()).unwrap();
    let (servers, data) = (format!("store.nats.servers=[\"{}\"]", server.client_url()), folder.join("data"));
    let password = format!("store.nats.password_file={}", password.display());
    let user = format!("store.nats.user={NATS_USER}");
    let usual = [
        "store.backend=nats",
        &servers,
        &password,
        &user,
        "store.nats.replicas=1",
        "store.nats.create=true",
        "store.nats.sync=trust",
        "store.nats.timeout_ms=2000",
    ];
    let mut arguments = vec!["store", "status", "--data", data.to_str().unwrap()];
    for setting in usual.iter().chain(settings) {
        arguments.extend(["--set", setting]);
    }
    infold_command(&arguments)
}

/// Asserts that it was refused, and with which words.
fn assert_refused(said: &Output, words: &[&str]) {
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(!said.status.success(), "{text}");
    for words in words {
        assert!(text.contains(words), "{words:?} is not in {text:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_cluster_is_said_with_what_to_do() {
    let Some(server) = NatsServer::start().await.unwrap() else { return };
    let folder = TempFolder::new().unwrap();
    assert_refused(&status(&server, &folder, &["store.nats.create=false"]), &["does not exist", "store.nats.create"]);
    assert_refused(&status(&server, &folder, &["store.nats.sync=require"]), &["nothing shows", "store.nats.monitors"]);
    let nobody = "store.nats.servers=[\"nats://127.0.0.1:1\"]";
    assert_refused(&status(&server, &folder, &[nobody]), &["cannot be reached", "store.backend"]);
    assert_refused(&status(&server, &folder, &["store.nats.user=somebody"]), &["authorization violation"]);

    let exposed = "store.nats.servers=[\"nats://infold:hunter2@127.0.0.1:1\"]";
    let said = status(&server, &folder, &[exposed]);
    assert_refused(&said, &["has a password in it", "store.nats.password_file"]);
    assert!(!String::from_utf8_lossy(&said.stderr).contains("hunter2"));

    let client = server.client().await.unwrap();
    let context = async_nats::jetstream::new(client);
    let of_others = |name: &str, allow_direct: bool| async_nats::jetstream::stream::Config {
        name: name.to_owned(),
        subjects: vec![format!("{name}.>")],
        allow_direct,
        ..Default::default()
    };
    context.create_stream(of_others("THEIRS", false)).await.unwrap();
    let theirs = status(&server, &folder, &["store.nats.stream=THEIRS", "store.nats.subjects=theirs"]);
    assert_refused(&theirs, &["another program", "store.nats.stream"]);

    assert!(status(&server, &folder, &[]).status.success());
    let mut config = context.get_stream("INFOLD").await.unwrap().cached_info().config.clone();
    config.allow_direct = true;
    context.update_stream(&config).await.unwrap();
    assert_refused(&status(&server, &folder, &[]), &["allow_direct", "nats stream edit INFOLD"]);
    config.allow_direct = false;
    context.update_stream(&config).await.unwrap();
    assert!(status(&server, &folder, &[]).status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_without_jetstream_or_room_are_named() {
    let Some(plain) = NatsSetup::default().without_jetstream().start_server().await.unwrap() else { return };
    let folder = TempFolder::new().unwrap();
    assert_refused(&status(&plain, &folder, &[]), &["JetStream"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_servers_are_gone_nothing_is_recorded_and_afterwards_it_goes_on() {
    let Some(mut machines) = Machines::start(1, |setup| setup.set("store.nats.timeout_ms", 3_000)).await else {
        return;
    };
    let client = McpHttp::connect(machines.daemons[0].base_url(), Era::Modern).await.unwrap();
    let open = |name: &str| json!({"session_id": name, "description": "look around"});
    assert!(client.call("branch_create", open("before")).await.unwrap().is_ok());
    // Without two of three nothing can be acknowledged.
    machines.cluster.kill(0).unwrap();
    machines.cluster.kill(1).unwrap();
    let refused = client.call("branch_create", open("meanwhile")).await.unwrap();
    assert!(!refused.is_ok(), "{}", refused.summary());
    assert!(refused.summary().contains("cluster"), "{}", refused.summary());
    machines.cluster.restart(0).unwrap();
    machines.cluster.restart(1).unwrap();
    machines.cluster.until_ready().await.unwrap();
    let mut opened = client.call("branch_create", open("after")).await.unwrap();
    for _ in 0..10 {
        if opened.is_ok() {
            break;
        }
        opened = client.call("branch_create", open("after")).await.unwrap();
    }
    assert!(opened.is_ok(), "{}", opened.summary());
}

/// A server that says which version it is, and is nothing more.
async fn server_of_version(version: &str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    let info = json!({
        "server_id": "OLD", "server_name": "old", "version": version, "go": "go1", "host": "127.0.0.1", "port": 4222,
        "headers": true, "max_payload": 1_048_576, "proto": 1, "client_id": 1, "jetstream": true,
    });
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.write_all(format!("INFO {info}\r\n").as_bytes()).await.unwrap();
            let mut read = [0; 4096];
            // Whatever a client says, it is answered as if it had asked whether anybody is there.
            while stream.read(&mut read).await.is_ok_and(|count| count > 0) {
                if stream.write_all(b"PONG\r\n").await.is_err() {
                    break;
                }
            }
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_server_is_refused_with_the_version_that_is_needed() {
    let Some(server) = NatsServer::start().await.unwrap() else { return };
    let folder = TempFolder::new().unwrap();
    let old = format!("store.nats.servers=[\"{}\"]", server_of_version("2.9.10").await);
    assert_refused(&status(&server, &folder, &[&old]), &["2.9.10", "too old", "2.12 or newer"]);
    assert!(status(&server, &folder, &[]).status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_stream_takes_nothing_and_goes_on_when_there_is_room() {
    let Some(server) = NatsServer::start().await.unwrap() else { return };
    let folder = TempFolder::new().unwrap();
    let password = folder.join("password");
    fs::write(&password, server.password()).unwrap();
    let setup = connected(infold(), &[server.client_url()], &password).set("store.nats.replicas", 1);
    let program = Program::start(setup.set("store.nats.timeout_ms", 3_000)).await.unwrap();
    program.open("before", "look around").await.unwrap();

    let context = async_nats::jetstream::new(server.client().await.unwrap());
    let info = context.get_stream("INFOLD").await.unwrap().cached_info().clone();
    let room = |bytes: u64| async_nats::jetstream::stream::Config {
        max_bytes: i64::try_from(info.state.bytes + bytes).unwrap(),
        ..info.config.clone()
    };
    context.update_stream(room(1)).await.unwrap();
    let opening = json!({"session_id": "meanwhile", "description": "look around"});
    let refused = program.call("branch_create", opening.clone()).await.unwrap();
    assert!(refused.summary().contains("takes no more entries"), "{}", refused.summary());
    assert!(refused.summary().contains("more room"), "{}", refused.summary());
    // An answer needs a place in the log too.
    let unanswered = program.api.get("/api/v1/sessions/meanwhile").await.unwrap();
    assert!(unanswered.text.contains("takes no more entries"), "{}", unanswered.text);

    context.update_stream(room(10_000_000)).await.unwrap();
    assert_eq!(program.api.get("/api/v1/sessions/meanwhile").await.unwrap().status, 404);
    program.done("branch_create", opening).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_full_refuses_until_it_has_more_room_and_keeps_what_it_acknowledged() {
    let setup = NatsSetup::default().file_store_bytes_max(400_000);
    let Some(mut server) = setup.start_server().await.unwrap() else { return };
    let folder = TempFolder::new().unwrap();
    let password = folder.join("password");
    fs::write(&password, server.password()).unwrap();
    let setup = connected(infold(), &[server.client_url()], &password).set("store.nats.replicas", 1);
    let program = Program::start(setup.set("store.nats.timeout_ms", 3_000)).await.unwrap();
    let branch = program.open("kept", "look around").await.unwrap();

    // Results that cannot be packed, until there is no room.
    let mut rng = Rng::new(7);
    let mut stored = Vec::new();
    let refused = loop {
        let noise: String = (0..2_000).map(|_| format!("{:016x}", rng.next_u64())).collect();
        let result = json!({"tool_name": "noise", "content": format!("filling-{} {noise}", stored.len())});
        let answer = program.api.post("/api/v1/sessions/filled/results", &result).await.unwrap();
        if answer.status != 200 {
            break answer.text;
        }
        stored.push(answer.body["ref_id"].as_str().unwrap().to_owned());
        assert!(stored.len() < FILLINGS_MAX, "it is never full");
    };
    let folding = json!({"branch_id": branch, "message": "seen"});
    let unfolded = program.call("branch_return", folding.clone()).await.unwrap().summary();
    let unseen = program.api.get("/api/v1/sessions/kept").await.unwrap().text;
    for said in [refused, unfolded, unseen] {
        assert!(said.contains("takes no more entries") && said.contains("max_file_store"), "{said}");
    }

    server.kill().unwrap();
    server.set_file_store_bytes_max(100_000_000).unwrap();
    server.restart().await.unwrap();
    let begun = Instant::now();
    while !program.call("branch_return", folding.clone()).await.unwrap().is_ok() {
        assert!(begun.elapsed() < PATIENCE, "it does not go on");
        tokio::time::sleep(POLL).await;
    }
    assert_eq!(program.look_at(&branch).await.unwrap()["status"], "completed");
    for (number, kept) in stored.iter().enumerate() {
        let read = program.api.get(&format!("/api/v1/results/{kept}")).await.unwrap();
        assert!(read.text.contains(&format!("filling-{number} ")), "{kept} is not there: {}", read.text);
    }
    let index = Database::look(&program.daemon.data().join("cluster")).unwrap();
    assert_eq!(index.number("SELECT count(*) FROM tool_result_blobs").unwrap(), stored.len() as i64);
}
