//! What the JSON API shows of requests.

use infold_testkit::agent::Client;
use infold_testkit::model::{Fault, Script, Step};
use serde_json::{Value, json};

use crate::recorder::scene::{ASKED, Scene, folded_work, lines_of, plain_work};

fn sum(requests: &[Value], field: &str) -> u64 {
    requests.iter().map(|request| request["usage"][field].as_u64().unwrap_or(0)).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_is_shown_with_what_the_provider_counted() {
    for client in Client::ALL {
        let scene = Scene::start(plain_work()).await;
        scene.agent(client, "plain").await.work(ASKED).await.unwrap();
        let sent = scene.model.turns();
        let requests = scene.requests("plain", sent.len()).await;
        assert_eq!(requests.len(), sent.len(), "{client:?}");
        let provider = scene.model.totals();
        assert_eq!(sum(&requests, "cache_read_tokens"), provider.read_tokens, "{client:?}");
        let prompts = ["fresh_tokens", "cache_read_tokens", "cache_write_tokens"].map(|field| sum(&requests, field));
        assert_eq!(prompts.iter().sum::<u64>(), provider.total_tokens(), "{client:?}");

        for request in &requests {
            assert_eq!((&request["end"], &request["status"]), (&json!("completed"), &json!(200)), "{client:?}");
            assert_eq!((&request["edits"], &request["cache_miss"]), (&json!([]), &json!(null)), "{client:?}");
            assert_eq!(request["wanted"], request["sent"], "{client:?}");
            assert!(request["first_byte_ms"].as_u64() <= request["total_ms"].as_u64(), "{client:?}");
            assert!(request["usage"]["output_tokens"].as_u64() > Some(0), "{client:?}");
        }
        let last = requests.last().unwrap();
        let results = last["sent"]["results"].as_array().unwrap();
        assert_eq!(results[0]["name"], client.reads_with().0, "{client:?}: {results:?}");
        assert!(last["sent"]["tools"].as_array().unwrap().iter().any(|share| share["tokens"].as_u64() > Some(0)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fold_is_shown_by_thread_with_its_edits_and_what_it_saved() {
    for client in Client::ALL {
        let scene = Scene::start(folded_work()).await;
        scene.agent(client, "folded").await.work(ASKED).await.unwrap();
        let requests = scene.requests("folded", scene.model.turns().len()).await;
        let lines = lines_of(&requests);
        let in_branch = lines.iter().filter(|line| line.starts_with("branch:")).count();
        assert!(in_branch >= 6, "{client:?}: {lines:#?}");
        let branch = lines.iter().find(|line| line.starts_with("branch:")).unwrap();
        assert!(branch.contains("isolated") && branch.contains("brief"), "{client:?}: {lines:#?}");
        let last = lines.last().unwrap();
        assert!(last.starts_with("main:") && last.contains("folded"), "{client:?}: {lines:#?}");

        let last = requests.last().unwrap();
        assert!(last["saved_tokens"].as_u64() > Some(2_000), "{client:?}: {last}");
        let totals = scene.totals("folded").await;
        assert_eq!(totals["requests"], requests.len(), "{client:?}");
        assert!(totals["sent_tokens"].as_u64() < totals["wanted_tokens"].as_u64(), "{client:?}: {totals}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_the_client_changed_is_named_as_the_cause_of_a_miss() {
    let scene = Scene::start(plain_work().then([Step::text("Once more.")])).await;
    let mut agent = scene.agent(Client::ClaudeCode, "changed").await;
    agent.work(ASKED).await.unwrap();
    // The client clears the first of its results, as some do when their context fills up.
    let result = agent.transcript.iter_mut().find(|entry| entry.to_string().contains("tool_result")).unwrap();
    let cleared = result.to_string().replace("harbour_1_", "cleared_");
    *result = serde_json::from_str(&cleared).unwrap();
    agent.work("And again.").await.unwrap();

    // Six files, an answer, and one more. A request whose reasoning was refused on the way still counts as one.
    let requests = scene.requests("changed", 8).await;
    let causes: Vec<&str> = requests.iter().filter_map(|request| request["cache_miss"]["cause"].as_str()).collect();
    assert!(causes.iter().any(|cause| cause.starts_with("the client changed a result of Read")), "{causes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_refused_or_cut_are_shown_as_such() {
    let steps = [
        Step::failing(Fault::status(401)),
        Step::text("A long answer, of which only a part will come.").fault(Fault::CutAfter { bytes: 200 }),
        Step::text("Done."),
    ];
    let scene = Scene::start(Script::new(steps)).await;
    let mut agent = scene.agent(Client::ClaudeCode, "broken").await;
    agent.say(ASKED);
    for _ in 0..3 {
        // The turn may fail: how it ended is what the recorder shows.
        let _ = agent.turn().await;
    }
    let requests = scene.requests("broken", 3).await;
    let ends: Vec<(&Value, &Value)> = requests.iter().map(|request| (&request["end"], &request["status"])).collect();
    assert_eq!(
        ends,
        [(&json!("failed"), &json!(401)), (&json!("cut"), &json!(200)), (&json!("completed"), &json!(200))]
    );
    assert_eq!(scene.totals("broken").await["broken"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_is_there_after_an_orderly_end_and_a_new_start() {
    let mut scene = Scene::start(plain_work()).await;
    scene.agent(Client::Codex, "kept").await.work(ASKED).await.unwrap();
    let sent = scene.model.turns().len();
    scene.daemon.terminate().await.unwrap();
    scene.daemon.restart().await.unwrap();
    let list: Value =
        serde_json::from_str(&scene.prints(&["show", "kept", "--json", "--requests", "100"]).await).unwrap();
    assert_eq!(list["requests"].as_array().unwrap().len(), sent);
}
