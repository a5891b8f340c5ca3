//! Two teams on the same servers, each with an account of its own, as the configurations of `docs/cluster` show it.

use std::fs;

use futures::StreamExt;
use infold_testkit::TempFolder;
use infold_testkit::nats::{NATS_OTHER_USER, NatsServer};
use serde_json::json;

use super::machines::connected;
use crate::support::{PATIENCE, Program, infold};

#[tokio::test(flavor = "multi_thread")]
async fn one_teams_credentials_show_nothing_of_another_teams_state() {
    let Some(server) = NatsServer::start().await.unwrap() else { return };
    let folder = TempFolder::new().unwrap();
    let password = |name: &str, text: &str| {
        fs::write(folder.join(name), text).unwrap();
        folder.join(name)
    };
    let setup = |password: &std::path::Path| {
        connected(infold(), &[server.client_url()], password).set("store.nats.replicas", 1)
    };
    let first = Program::start(setup(&password("one", server.password()))).await.unwrap();

    // The other team listens to everything that it can.
    let stranger = server.other_client().await.unwrap();
    let mut received = stranger.subscribe(">").await.unwrap();
    stranger.flush().await.unwrap();
    first.open("ours", "Nobody else's business").await.unwrap();
    stranger.publish("the.end", "".into()).await.unwrap();
    let next = tokio::time::timeout(PATIENCE, received.next()).await.unwrap().unwrap();
    assert_eq!(next.subject.as_str(), "the.end", "nothing was received before what it said itself");

    // It asks for everything that it could ask for.
    let streams = async_nats::jetstream::new(stranger.clone());
    assert_eq!(streams.stream_names().count().await, 0);
    let message = json!({"seq": 1}).to_string();
    let new_consumer = json!({"stream_name": "INFOLD", "config": {"ack_policy": "none"}}).to_string();
    for (question, body) in [
        ("STREAM.INFO.INFOLD", ""),
        ("STREAM.INFO.INFOLD_STATE", ""),
        ("STREAM.MSG.GET.INFOLD", &message),
        ("STREAM.SNAPSHOT.INFOLD", r#"{"deliver_subject": "mine"}"#),
        ("STREAM.PURGE.INFOLD", ""),
        ("STREAM.DELETE.INFOLD", ""),
        ("CONSUMER.CREATE.INFOLD", &new_consumer),
    ] {
        let answer = stranger.request(format!("$JS.API.{question}"), body.to_owned().into()).await.unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&answer.payload).unwrap();
        assert_eq!(answer["error"]["description"], "stream not found", "{question}: {answer}");
    }

    // What it writes under the same names is its own, and neither team sees the other's sessions.
    let own = setup(&password("two", server.other_password())).set("store.nats.user", NATS_OTHER_USER);
    let second = Program::start(own).await.unwrap();
    second.open("theirs", "Nor anybody else's").await.unwrap();
    for (program, hidden, shown) in [(&first, "theirs", "ours"), (&second, "ours", "theirs")] {
        let status = async |session| program.api.get(&format!("/api/v1/sessions/{session}")).await.unwrap().status;
        assert_eq!((status(hidden).await, status(shown).await), (404, 200));
    }
}
