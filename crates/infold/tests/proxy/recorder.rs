//! What the flight recorder says of a session: what the provider reported, what was edited, what was saved.

use infold_testkit::agent::Client;
use infold_testkit::model::work::{Work, branch_work, read_file};
use infold_testkit::model::{Cached, Script, Step};
use serde_json::Value;

use crate::proxy::scene::{ASKED, Scene, path};
use crate::support::{PATIENCE, POLL};

fn script() -> Script {
    let mut steps = vec![read_file(&path(7))];
    steps.extend(branch_work(&Work::reading("Read four files", (1..=4).map(path), "Found.")));
    steps.push(Step::text("Done."));
    Script::new(steps)
}

/// Waits until so many requests of the session are recorded, which happens after their answers, and returns them.
async fn recorded(scene: &Scene, session: &str, count: usize) -> Value {
    let api = scene.api();
    let asking = async {
        loop {
            let list = api.get(&format!("/api/v1/requests?session_id={session}&limit=200")).await.unwrap();
            let list = list.with_status(200).unwrap();
            if list["requests"].as_array().is_some_and(|requests| requests.len() >= count) {
                return list;
            }
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_provider_reports_is_recorded_for_every_request() {
    for client in Client::ALL {
        let scene = Scene::start(script()).await;
        scene.agent(client, "recorded").await.work(ASKED).await.unwrap();
        let turns = scene.turns();
        let list = recorded(&scene, "recorded", turns.len()).await;
        let requests = list["requests"].as_array().unwrap();
        assert_eq!(requests.len(), turns.len(), "{client:?}");
        for (request, turn) in requests.iter().zip(&turns) {
            let figure = |name: &str| request["usage"][name].as_u64().unwrap_or_default();
            let Cached { read_tokens, fresh_tokens, .. } = turn.cache;
            let written = turn.cache.written_tokens();
            let wanted = (read_tokens, written, fresh_tokens);
            let got = (figure("cache_read_tokens"), figure("cache_write_tokens"), figure("fresh_tokens"));
            assert_eq!(got, wanted, "{client:?}: {request}");
        }
        let totals = &list["request_totals"];
        assert!(totals["saved_tokens"].as_u64() > Some(0), "{client:?}: {totals}");
        assert!(totals["edited"].as_u64() > Some(0), "{client:?}: {totals}");
        assert_eq!(totals["broken"], 0, "{client:?}: {totals}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn infold_show_tells_the_same() {
    let scene = Scene::start(script()).await;
    scene.agent(Client::ClaudeCode, "shown").await.work(ASKED).await.unwrap();
    let turns = scene.turns().len();
    recorded(&scene, "shown", turns).await;
    for arguments in [&["show", "shown"][..], &["show", "shown", "--json"]] {
        let output = scene.daemon.program(arguments).output().await.unwrap();
        let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {complained}");
        assert!(said.contains("folded") || said.contains("hid "), "{arguments:?} says why it edited: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_provider_does_not_report_is_estimated_and_said_to_be() {
    for client in Client::ALL {
        let scene = Scene::start(script().without_usage()).await;
        scene.agent(client, "uncounted").await.work(ASKED).await.unwrap();
        let turns = scene.turns().len();
        let list = recorded(&scene, "uncounted", turns).await;
        for request in list["requests"].as_array().unwrap() {
            assert!(request["usage"].is_null(), "{client:?}: {request}");
            let estimated = |name: &str| request["estimated_usage"][name].as_u64();
            assert!(estimated("output_tokens") > Some(0), "{client:?}: {request}");
            let sent_tokens = request["sent"]["total"].as_u64().unwrap();
            // Each share of the breakdown is rounded up.
            let apart = estimated("fresh_tokens").unwrap().abs_diff(sent_tokens);
            assert!(apart * 100 <= sent_tokens, "{client:?}: {request}");
        }
        assert_eq!(list["request_totals"]["unreported"].as_u64(), Some(turns as u64), "{client:?}");
        for arguments in [&["show", "uncounted"][..], &["top", "--once"]] {
            let output = scene.daemon.program(arguments).output().await.unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(
                said.contains("the provider reported no tokens; infold estimates"),
                "{client:?} {arguments:?}: {said}"
            );
        }
    }
}
