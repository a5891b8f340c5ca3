//! A session that is worked on from several machines.

use infold_testkit::agent::{Agent, Client};
use infold_testkit::model::work::{Work, branch_work, read_file};
use infold_testkit::model::{Model, Script, Step};
use infold_testkit::{Era, McpHttp};
use serde_json::json;

use super::machines::Machines;
use crate::proxy::scene::{ASKED, marker, path, put_files, upstream};
use crate::support::lines_about;

/// A file that is replaced by a reference.
const LONG: &str = "/p/long.txt";
const FOUND: &str = "Nothing in these files is called.";

fn script() -> Script {
    let work = Work::reading("Read four files", (1..=4).map(path), FOUND).budget_tokens(30_000);
    let mut steps = vec![read_file(&path(11)), read_file(LONG)];
    steps.extend(branch_work(&work));
    steps.push(read_file(&path(12)));
    steps.push(Step::text("Nothing calls them."));
    Script::new(steps)
}

/// Plays the script; `daemons` take turns. Returns what the model was sent, with ids made equal.
async fn played(model: &Model, client: Client, daemons: &[String]) -> Vec<String> {
    let session = format!("moving-{client:?}");
    let mut agent = Agent::through(client, &daemons[0], &session).await.unwrap();
    put_files(&mut agent);
    agent.file(LONG, &lines_about("the harbour", 60_000));
    agent.say(ASKED);
    for turn in 0.. {
        agent.reconnect(&daemons[turn % daemons.len()]).await.unwrap();
        let said = agent.turn().await.unwrap();
        if said.calls.is_empty() {
            break;
        }
        // Its tools are called on yet another machine.
        agent.reconnect(&daemons[(turn + 1) % daemons.len()]).await.unwrap();
        agent.answer(&said).await.unwrap();
    }
    assert_eq!(model.broken(), Vec::<String>::new());
    let turns = model.turns().into_iter().filter(|turn| turn.session == session);
    turns.map(|turn| without_ids(&String::from_utf8_lossy(&turn.bytes))).collect()
}

/// Branch ids and times are made anew in each run, and the model's seals and call ids follow from them.
fn without_ids(body: &str) -> String {
    let ids =
        regex::Regex::new(r"(br|res)_[0-9a-f-]{36}|seal1\.[0-9a-f.]+|(toolu|call|fc|rs|msg|tsc|chatcmpl)_[0-9a-f]+|\d{4}-\d\d-\d\dT[0-9:.]+Z").unwrap();
    ids.replace_all(body, "ID").into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_moves_between_three_machines_sends_the_same_bytes() {
    let model = Model::start(script()).await.unwrap();
    let Some(machines) = Machines::start(3, |setup| upstream(setup, model.base_url())).await else { return };
    let urls: Vec<String> = machines.daemons.iter().map(|daemon| daemon.base_url().to_owned()).collect();
    let alone = Model::start(script()).await.unwrap();
    let daemon = upstream(crate::support::roomy(), alone.base_url()).start().await.unwrap();
    for client in Client::ALL {
        let moved = played(&model, client, &urls).await;
        let last = moved.last().unwrap();
        assert!(last.contains(FOUND) && last.contains("read_result") && !last.contains(&marker(1)), "{last}");

        let stayed = played(&alone, client, &[daemon.base_url().to_owned()]).await;
        assert_eq!(moved.len(), stayed.len());
        for (turn, (moved, stayed)) in moved.iter().zip(&stayed).enumerate() {
            assert_same(&format!("{client:?}, request {turn}"), moved, stayed);
        }
    }
}

fn assert_same(what: &str, moved: &str, stayed: &str) {
    let same = moved.bytes().zip(stayed.bytes()).take_while(|(one, other)| one == other).count();
    let from = |body: &str| {
        String::from_utf8_lossy(&body.as_bytes()[same.saturating_sub(80)..]).chars().take(400).collect::<String>()
    };
    assert!(moved == stayed, "{what}\nmoved:  {}\nstayed: {}", from(moved), from(stayed));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_machine_opens_another_folds_and_all_say_the_same() {
    let Some(machines) = Machines::start(3, |setup| setup).await else { return };
    let mut clients = Vec::new();
    for daemon in &machines.daemons {
        clients.push(McpHttp::connect(daemon.base_url(), Era::Modern).await.unwrap());
    }
    let opening = json!({"session_id": "shared", "description": "look around"});
    let opened = clients[0].call("branch_create", opening).await.unwrap();
    let branch = opened.text_field("branch_id");
    let folding = json!({"branch_id": branch, "message": "seen"});
    let folded = clients[1].call("branch_return", folding.clone()).await.unwrap();
    assert!(folded.is_ok(), "{}", folded.summary());
    let again = clients[2].call("branch_return", folding).await.unwrap();
    assert!(!again.is_ok(), "a branch ends once: {}", again.summary());
    for client in &clients {
        let status = client.call("branch_status", json!({"branch_id": branch})).await.unwrap();
        assert_eq!(status.text_field("status"), "completed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_was_removed_is_made_anew() {
    let Some(mut machines) = Machines::start(2, |setup| setup).await else { return };
    let client = McpHttp::connect(machines.daemons[0].base_url(), Era::Modern).await.unwrap();
    let opening = json!({"session_id": "kept", "description": "look around"});
    let branch = client.call("branch_create", opening).await.unwrap().text_field("branch_id");
    machines.daemons[1].kill9().await.unwrap();
    for name in ["infold.db", "infold.db-wal", "infold.db-shm"] {
        let _ = std::fs::remove_file(machines.data(1).join("cluster").join(name));
    }
    machines.daemons[1].restart().await.unwrap();
    let second = McpHttp::connect(machines.daemons[1].base_url(), Era::Modern).await.unwrap();
    let status = second.call("branch_status", json!({"branch_id": branch})).await.unwrap();
    assert_eq!(status.text_field("status"), "active", "{}", status.summary());
}
