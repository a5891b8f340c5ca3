//! Secrets that come in on any machine are in no message of any stream, in no object and in no file of a server.

use std::collections::BTreeSet;
use std::io::Read;
use std::time::Instant;

use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use futures::{StreamExt, TryStreamExt};
use infold_testkit::agent::{Agent, Client};
use infold_testkit::model::work::{Work, branch_work};
use infold_testkit::model::{Model, Script, Step};
use memchr::memmem;
use serde_json::json;

use super::machines::Machines;
use crate::proxy::scene::upstream;
use crate::support::{Database, PATIENCE, POLL, Program, Secret, files_below, lines_about, secrets};

/// What every packed text begins with.
const PACKED: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// How deep something packed may lie in something packed: a text in a row of an entry.
const DEPTH_MAX: usize = 3;
/// Files that an agent reads.
const SHORT: &str = "/p/short.txt";
const LONG: &str = "/p/long.txt";
/// What has no secret in it must be found, or the search finds nothing.
const PLAIN: &str = "quitewellvisible";

/// Adds those of the texts that bytes have in them, as they are or packed.
fn look<'a>(bytes: &[u8], texts: &[&'a str], depth: usize, seen: &mut BTreeSet<&'a str>) {
    seen.extend(texts.iter().filter(|text| memmem::find(bytes, text.as_bytes()).is_some()));
    if depth >= DEPTH_MAX {
        return;
    }
    for at in memmem::find_iter(bytes, PACKED) {
        let mut unpacked = Vec::new();
        // What only looks packed, or is cut off, gives as much as could be read of it.
        if let Ok(decoder) = zstd::stream::read::Decoder::new(&bytes[at..]) {
            let _ = decoder.single_frame().read_to_end(&mut unpacked);
        }
        look(&unpacked, texts, depth + 1, seen);
    }
}

/// Sends secrets in every way that a tool takes text, on both machines.
async fn plant(planted: &[Secret], one: &Program, other: &Program) {
    let text: String = planted.iter().map(|secret| format!("The {} one is {}.\n", secret.kind, secret.text)).collect();
    let long = format!("{}{text}{}", lines_about(PLAIN, 9_000), lines_about("after", 9_000));
    let opening = json!({
        "session_id": "s", "description": format!("{PLAIN} {}", planted[0].text), "prompt": text, "budget": 32_768,
        "idempotency_key": format!("key {}", planted[3].text),
    });
    let opened = one.done("branch_create", opening).await.unwrap();
    for (program, result) in [
        (one, json!({"tool_name": "cat", "content": text, "arguments": {"path": planted[2].text, "body": text}})),
        (other, json!({"tool_name": "cat", "content": long, "call_id": "c-1"})),
        (other, json!({"tool_name": format!("tool-{}", planted[2].text), "content": PLAIN})),
    ] {
        program.record("s", result).await.unwrap();
    }
    other.fold(opened["branch_id"].as_str().unwrap(), &format!("{PLAIN}: {text}")).await.unwrap();
    let opening = json!({"project_path": format!("/p/{}", planted[4].text), "description": PLAIN, "prompt": text});
    other.done("context_branch", opening.clone()).await.unwrap();
    let returning = json!({"project_path": opening["project_path"], "message": text});
    one.done("context_return", returning).await.unwrap();
}

/// Has an agent come upon secrets, behind the proxies of both machines.
async fn plant_behind_proxies(planted: &[Secret], one: &Program, other: &Program) {
    let text: String = planted.iter().map(|secret| format!("the {} one: {}\n", secret.kind, secret.text)).collect();
    let mut agent = Agent::through(Client::ClaudeCode, one.daemon.base_url(), "agent").await.unwrap();
    agent.file(SHORT, &text);
    agent.file(LONG, &format!("{}{text}{}", lines_about("the harbour", 50_000), lines_about("after", 10_000)));
    agent.say(&format!("Look around: {}", planted[0].text));
    for turn in 0.. {
        agent.reconnect([one, other][turn % 2].daemon.base_url()).await.unwrap();
        let said = agent.turn().await.unwrap();
        if said.calls.is_empty() {
            break;
        }
        agent.answer(&said).await.unwrap();
    }
}

/// A model that reads both files in a branch, and returns the secrets that it was asked with.
fn careless(planted: &[Secret]) -> Script {
    let message = format!("{PLAIN}: {}", planted[1].text);
    let work = Work::reading(&format!("{PLAIN} {}", planted[2].text), [SHORT, LONG].map(str::to_owned), &message);
    Script::new(branch_work(&work)).then([Step::text(&format!("It is {}.", planted[3].text))])
}

/// Every message that the servers keep, with its subject and headers.
async fn messages(client: async_nats::Client) -> Vec<(String, Vec<u8>)> {
    let context = async_nats::jetstream::new(client);
    let names: Vec<String> = context.stream_names().try_collect().await.unwrap();
    let mut all = Vec::new();
    for name in names {
        let mut stream = context.get_stream(&name).await.unwrap();
        let count = usize::try_from(stream.info().await.unwrap().state.messages).unwrap();
        let config = pull::OrderedConfig { deliver_policy: DeliverPolicy::All, ..Default::default() };
        let consumer = stream.create_consumer(config).await.unwrap();
        let mut read = consumer.messages().await.unwrap().take(count);
        while let Some(message) = read.try_next().await.unwrap() {
            let mut bytes = format!("{} {:?} ", message.subject, message.headers).into_bytes();
            bytes.extend_from_slice(&message.payload);
            all.push((format!("message {name} {}", message.subject), bytes));
        }
    }
    all
}

/// Where texts are: in messages, in the servers' files, and in what machines keep.
async fn places<'a>(texts: &[&'a str], machines: &Machines, programs: &[Program]) -> Vec<(&'a str, String)> {
    let mut held = messages(machines.cluster.client().await.unwrap()).await;
    for folder in [machines.cluster.folder(), machines.folder.path()] {
        for file in files_below(folder).unwrap() {
            // Servers remove files of their own as they like.
            held.extend(std::fs::read(&file).ok().map(|bytes| (format!("file {}", file.display()), bytes)));
        }
    }
    for program in programs {
        for (table, rows) in Database::look(&program.daemon.data().join("cluster")).unwrap().contents().unwrap() {
            held.push((format!("table {table}"), rows.join("\n").into_bytes()));
        }
    }
    let mut found = Vec::new();
    for (place, bytes) in held {
        let mut seen = BTreeSet::new();
        look(&bytes, texts, 0, &mut seen);
        found.extend(seen.into_iter().map(|text| (text, place.clone())));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_in_no_message_object_or_file_of_the_servers() {
    let planted = secrets(16);
    let model = Model::start(careless(&planted)).await.unwrap();
    let change = |setup| upstream(setup, model.base_url()).set("telemetry.log_level", "trace");
    let Some(mut machines) = Machines::start(2, change).await else { return };
    let programs = machines.programs().await;
    plant(&planted, &programs[0], &programs[1]).await;
    plant_behind_proxies(&planted, &programs[0], &programs[1]).await;
    until_documented(&machines).await;

    let mut texts: Vec<&str> = planted.iter().map(Secret::core).collect();
    texts.push(PLAIN);
    let (plain, secret): (Vec<_>, Vec<_>) =
        places(&texts, &machines, &programs).await.into_iter().partition(|(text, _)| *text == PLAIN);
    let agents = "message INFOLD_STATE sessions.local.no-project.agent.";
    let places =
        ["message INFOLD infold.", "message INFOLD_STATE sessions.", agents, "/store/jetstream/", "table branches"];
    for place in places {
        assert!(plain.iter().any(|(_, seen)| seen.contains(place)), "nothing at all is seen in {place}: {plain:?}");
    }
    assert_eq!(secret, Vec::new());
}

/// Waits until what other programs can watch has come to the folds in all three sessions.
async fn until_documented(machines: &Machines) {
    let context = async_nats::jetstream::new(machines.cluster.client().await.unwrap());
    let stream = context.get_stream("INFOLD_STATE").await.unwrap();
    let begun = Instant::now();
    loop {
        let folded = stream.info_with_subjects("sessions.*.*.*.events.branch.folded").await.unwrap();
        if folded.try_collect::<Vec<_>>().await.unwrap().len() == 3 {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "the folds are not seen");
        tokio::time::sleep(POLL).await;
    }
}
