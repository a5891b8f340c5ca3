//! Several sessions at once, with ids and without.

use infold_testkit::agent::{Agent, Client};
use infold_testkit::model::work::{call, read_file};
use infold_testkit::model::{Decision, Received, Script, ShownKind, Step};
use serde_json::json;

use crate::proxy::scene::{Scene, marker, path};

/// A script for any number of sessions: what the model says depends on nothing but the request.
fn script() -> Script {
    Script::new((0..200).map(|_| Step::seeing(decide)))
}

/// Opens a branch named after what the person asked for, reads the files that it was asked to, and folds it.
fn decide(received: &Received) -> Decision {
    let shown = received.shown();
    let asked = shown.iter().rev().find_map(|piece| {
        let found = piece.text.split("berth ").nth(1).filter(|_| piece.kind == ShownKind::User)?;
        found.split('.').next()?.parse::<usize>().ok()
    });
    let Some(berth) = asked else { return Decision::Stuck("nobody names a berth".to_owned()) };
    let in_branch = shown.iter().any(|piece| piece.kind == ShownKind::User && piece.text.contains("branch_return"));
    let reads = shown.iter().filter(|piece| piece.kind == ShownKind::Result && piece.text.contains("harbour_")).count();
    let found = shown.iter().any(|piece| piece.text.contains(&format!("berth {berth} is free")));
    match (in_branch, reads, found) {
        (false, _, false) => {
            let arguments = json!({"session_id": "s", "description": format!("Look at berth {berth}.")});
            call(received, "branch_create", "Opening.", arguments)
        }
        (false, _, true) => Decision::Say(Step::text(&format!("Berth {berth} it is."))),
        (true, 0, _) => read_file(&path(berth)).decision(received),
        (true, _, _) => {
            let branch = received.own_branch().unwrap_or_default();
            let message = format!("berth {berth} is free");
            call(received, "branch_return", "Returning.", json!({"branch_id": branch, "message": message}))
        }
    }
}

async fn ask(mut agent: Agent, berth: usize) -> (usize, String) {
    (berth, agent.work(&format!("Please have a look at berth {berth}.")).await.unwrap())
}

fn check(scene: &Scene, berths: &[usize]) {
    for turn in scene.turns() {
        let mine: Vec<usize> = berths.iter().copied().filter(|berth| turn.holds(&format!("berth {berth}."))).collect();
        assert_eq!(mine.len(), 1, "a request is about one berth:\n{}", turn.shape());
        let others = berths.iter().filter(|berth| **berth != mine[0]);
        for other in others {
            assert!(!turn.holds(&marker(*other)), "berth {} sees berth {other}:\n{}", mine[0], turn.shape());
        }
        if turn.holds("is free") {
            assert!(!turn.holds(&marker(mine[0])), "{}", turn.shape());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sessions_at_once_do_not_see_each_other() {
    for client in Client::ALL {
        let scene = Scene::start(script()).await;
        let (one, other) = (scene.agent(client, "left").await, scene.agent(client, "right").await);
        let inline = infold_testkit::agent::Listing::Inline;
        let (one, other) = tokio::join!(ask(one.listing(inline), 1), ask(other.listing(inline), 2));
        assert_eq!(one.1, "Berth 1 it is.", "{client:?}");
        assert_eq!(other.1, "Berth 2 it is.", "{client:?}");
        check(&scene, &[1, 2]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_without_ids_are_distinguished_by_the_prefixes_of_their_conversations() {
    for client in Client::ALL {
        let scene = Scene::start(script()).await;
        let inline = infold_testkit::agent::Listing::Inline;
        let one = scene.agent(client, "").await.listing(inline).without_ids();
        let other = scene.agent(client, "").await.listing(inline).without_ids();
        let (one, other) = tokio::join!(ask(one, 3), ask(other, 4));
        assert_eq!((one.1.as_str(), other.1.as_str()), ("Berth 3 it is.", "Berth 4 it is."), "{client:?}");
        check(&scene, &[3, 4]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sessions_at_once_all_come_to_their_end() {
    let scene = Scene::start(script()).await;
    let mut asked = Vec::new();
    for berth in 1..=12 {
        let client = Client::ALL[berth % 3];
        let agent = scene.agent(client, &format!("session-{berth}")).await;
        asked.push(tokio::spawn(ask(agent.listing(infold_testkit::agent::Listing::Inline), berth)));
    }
    for task in asked {
        let (berth, said) = task.await.unwrap();
        assert_eq!(said, format!("Berth {berth} it is."));
    }
    check(&scene, &(1..=12).collect::<Vec<_>>());
}
