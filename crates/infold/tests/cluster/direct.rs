//! Why a log that answers reads from any server (`allow_direct`) is refused: such reads miss what was acknowledged. And that
//! infold's own do not, even if the server that a machine is connected to is frozen.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::{self, stream};
use infold_testkit::nats::NatsCluster;
use infold_testkit::{Era, McpHttp, TempFolder};
use serde_json::json;

use super::history::{Act, Observed, is_linearisable};
use super::machines::{connected, infold_command};
use crate::support::roomy;

const STREAM: &str = "REGISTERS";
/// How often a server is parted until it answers.
const TRIES_MAX: usize = 20;
/// How long it is waited for.
const ANSWER_MAX: Duration = Duration::from_secs(1);

async fn made(client: Client) {
    let config = stream::Config {
        name: STREAM.to_owned(),
        subjects: vec!["registers.*".to_owned()],
        num_replicas: 3,
        allow_direct: true,
        ..Default::default()
    };
    jetstream::new(client).create_stream(config).await.unwrap();
}

/// What a server that is parted from the others says is in a register that was just written; `None` if it says nothing.
async fn read_parted(cluster: &mut NatsCluster, (leader, parted): (usize, usize), subject: &str) -> Option<String> {
    let (writer, reader) = (cluster.client_of(leader).await.unwrap(), cluster.client_of(parted).await.unwrap());
    let write = async |value: &'static str| {
        jetstream::new(writer.clone()).publish(subject.to_owned(), value.into()).await.unwrap().await.unwrap();
    };
    write("before").await;
    cluster.disconnect(parted).unwrap();
    write("after").await;
    let asked = reader.request(format!("$JS.API.DIRECT.GET.{STREAM}.{subject}"), "".into());
    let answer = tokio::time::timeout(ANSWER_MAX, asked).await.ok().and_then(Result::ok);
    cluster.heal(parted).unwrap();
    cluster.until_ready().await.unwrap();
    answer.and_then(|answer| String::from_utf8(answer.payload.to_vec()).ok()).filter(|value| !value.is_empty())
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_that_any_server_answers_miss_what_was_acknowledged() {
    let Some(mut cluster) = NatsCluster::start(3).await.unwrap() else { return };
    made(cluster.client().await.unwrap()).await;
    let mut value = None;
    // A server answers such reads only some seconds after it has the stream.
    for number in 0..TRIES_MAX {
        let leader = cluster.until_leader(STREAM).await.unwrap();
        value = read_parted(&mut cluster, (leader, (leader + 1) % 3), &format!("registers.{number}")).await;
        if value.is_some() {
            break;
        }
    }
    // The first value is written down as an open branch, and the second as its end.
    let branch = "register".to_owned();
    let listed = BTreeMap::from([(branch.clone(), value.unwrap() == "after")]);
    let acts = [Act::Opened(branch.clone()), Act::Folded(branch), Act::Listed(listed)];
    let one_by_one = (0..).zip(acts).map(|(at, act)| Observed { act, called: 2 * at, answered: Some(2 * at + 1) });
    assert!(!is_linearisable(&one_by_one.collect::<Vec<_>>()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_whose_server_is_frozen_answers_nothing_old() {
    let Some(mut cluster) = NatsCluster::start(3).await.unwrap() else { return };
    let folder = TempFolder::new().unwrap();
    let password = folder.join("password");
    fs::write(&password, cluster.password()).unwrap();
    let (urls, second) = (cluster.client_urls(), folder.join("second"));
    let first = connected(roomy(), &urls[..2], &password).data(folder.join("first")).start().await.unwrap();
    let key = first.data().join("cluster/infold.key");
    let taken = ["store", "key", "--from", key.to_str().unwrap(), "--data", second.to_str().unwrap()];
    assert!(infold_command(&taken).status.success());
    let second = connected(roomy(), &urls[2..], &password).data(second).start().await.unwrap();
    let client = McpHttp::connect(first.base_url(), Era::Modern).await.unwrap();
    let opening = json!({"session_id": "s", "description": "look around"});
    let branch = client.call("branch_create", opening).await.unwrap().text_field("branch_id");
    let listed = async |daemon: &infold_testkit::Daemon| -> serde_json::Value {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let answer = http.get(format!("{}/api/v1/sessions/s/branches", daemon.base_url())).send().await.unwrap();
        answer.error_for_status().unwrap().json().await.unwrap()
    };
    assert_eq!(listed(&second).await["active_branches"], 1);

    // The second machine receives nothing until it has found another server.
    cluster.pause(2).unwrap();
    let folded = client.call("branch_return", json!({"branch_id": branch, "message": "seen"})).await.unwrap();
    assert!(folded.is_ok(), "{}", folded.summary());
    assert_eq!(listed(&second).await["active_branches"], 0);
    cluster.resume(2).unwrap();
}
