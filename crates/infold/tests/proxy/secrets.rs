//! Secrets in tool results: they reach neither the upstream, nor the store, nor a log.

use infold_testkit::agent::Client;
use infold_testkit::model::work::{Work, fold_branch, load_tools, open_branch, read_file};
use infold_testkit::model::{Script, Step};

use crate::proxy::scene::{ASKED, Scene};
use crate::support::{lines_about, secrets, whereabouts};

#[tokio::test(flavor = "multi_thread")]
async fn secrets_in_results_reach_neither_upstream_nor_store_nor_log() {
    for (seed, client) in (1..).zip(Client::ALL) {
        let planted = secrets(seed);
        let known = planted[0].text.clone();
        let steps = [load_tools(), read_file("/p/env.txt"), open_branch(&Work::reading("Look closer", [], ""))];
        let script = Script::new(steps).then([
            read_file("/p/long-env.txt"),
            fold_branch(&format!("The key is {known}.")),
            read_file("/p/env.txt"),
            Step::text("Done."),
        ]);
        let mut scene = Scene::start(script).await;
        let mut agent = scene.agent(client, "secrets").await;
        let texts: Vec<String> = planted.iter().map(|secret| format!("value = {}\n", secret.text)).collect();
        agent.file("/p/env.txt", &texts.concat());
        let long = lines_about("the harbour", 20_000) + &texts.concat() + &lines_about("the pier", 20_000);
        agent.file("/p/long-env.txt", &long);
        agent.work(ASKED).await.unwrap();

        for request in scene.model.requests() {
            let sent = String::from_utf8_lossy(&request.bytes).into_owned();
            // The model itself has written one of the secrets in its own call, so it knows that one already.
            let leaked: Vec<_> = planted.iter().filter(|secret| secret.is_in(&sent) && secret.text != known).collect();
            assert!(leaked.is_empty(), "{client:?}: {leaked:?} in\n{}", request.shape());
        }
        let turns = scene.turns();
        let shown = turns.iter().filter(|turn| turn.holds("[SECRET:")).count();
        assert!(shown > 0, "{client:?}: placeholders are where they were");
        let end = turns.last().unwrap();
        assert!(!planted[0].is_in(&String::from_utf8_lossy(&end.bytes)), "{client:?}:\n{}", end.shape());
        scene.daemon.terminate().await.unwrap();
        assert_eq!(whereabouts(&planted, &scene.daemon).unwrap(), Vec::<String>::new(), "{client:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_secret_gets_the_same_placeholder_for_ever() {
    let planted = secrets(7);
    let steps = [read_file("/p/env.txt"), read_file("/p/other.txt"), Step::text("Done."), Step::text("Yes.")];
    let mut scene = Scene::start(Script::new(steps)).await;
    let mut agent = scene.agent(Client::ClaudeCode, "placeholders").await;
    agent.file("/p/env.txt", &format!("TOKEN={}\n", planted[0].text));
    agent.file("/p/other.txt", &format!("token: {}\n", planted[0].text));
    agent.work(ASKED).await.unwrap();
    let placeholders = |text: &str| -> Vec<String> {
        text.split("[SECRET:").skip(1).filter_map(|rest| rest.split(']').next().map(str::to_owned)).collect()
    };
    let end = scene.turns().pop().unwrap();
    let found = placeholders(&String::from_utf8_lossy(&end.bytes));
    assert!(found.len() >= 2 && found.iter().all(|placeholder| *placeholder == found[0]), "{found:?}");

    scene.daemon.restart().await.unwrap();
    agent.reconnect(scene.daemon.base_url()).await.unwrap();
    agent.work("Go on.").await.unwrap();
    let later = scene.turns().pop().unwrap();
    assert_eq!(placeholders(&String::from_utf8_lossy(&later.bytes)), found);
}
