//! Daemons that are killed in mid-session, and stores that are lost.

use infold_testkit::agent::{Agent, Client};
use infold_testkit::model::work::{Work, branch_work, load_tools, open_branch, read_file};
use infold_testkit::model::{Script, Step};

use crate::proxy::scene::{ASKED, Scene, end_of, marker, path, read_in_branch, upstream};
use crate::support::infold;

const FOUND: &str = "Both files are about harbours.";

fn script() -> Script {
    let mut steps = vec![read_file("/p/long.txt")];
    steps.extend(branch_work(&Work::reading("Read three files", (1..=3).map(path), FOUND)));
    steps.extend([read_file(&path(5)), Step::text("Done."), Step::text("Yes."), Step::text("Yes.")]);
    Script::new(steps)
}

fn long() -> String {
    (0..1_500).map(|line| format!("entry {line}: the harbour is quiet\n")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_daemon_plans_the_next_request_to_the_same_bytes() {
    for client in Client::ALL {
        let mut scene = Scene::start(script()).await;
        let mut agent = scene.agent(client, "killed").await;
        agent.file("/p/long.txt", &long());
        agent.say(ASKED);
        for here in ["file-02", "file-05"] {
            let said = agent.until(|said| said.text.contains(here)).await.unwrap();
            agent.answer(&said).await.unwrap();
            let before = scene.sent_next(&agent).await;
            scene.restart(&mut agent).await;
            let after = scene.sent_next(&agent).await;
            assert_eq!(before, after, "{client:?} at {here}");
            if here == "file-02" {
                assert!(after.contains(&marker(1)) && !after.contains(ASKED), "{client:?}: it is the branch's thread");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_daemon_on_the_same_store_plans_the_same_bytes() {
    for client in Client::ALL {
        let scene = Scene::start(script()).await;
        let mut agent = scene.agent(client, "two-daemons").await;
        agent.file("/p/long.txt", &long());
        agent.say(ASKED);
        let other = upstream(infold(), scene.model.base_url()).data(scene.daemon.data()).start().await.unwrap();
        let mut daemons = [scene.daemon.base_url(), other.base_url()].into_iter().cycle();
        for here in ["file-02", "file-05"] {
            let said = agent.until(|said| said.text.contains(here)).await.unwrap();
            agent.answer(&said).await.unwrap();
            let before = scene.sent_next(&agent).await;
            agent.reconnect(daemons.nth(1).unwrap()).await.unwrap();
            assert_eq!(scene.sent_next(&agent).await, before, "{client:?} at {here}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_daemon_still_knows_a_fold_by_force() {
    let work = Work::reading("Read many files", [], FOUND).budget_tokens(2_000);
    let mut steps = vec![load_tools(), open_branch(&work)];
    steps.extend((1..=8).map(|number| read_in_branch(number, "The branch is over.")));
    steps.extend([Step::text("Yes."), Step::text("Yes.")]);
    let mut scene = Scene::with(Script::new(steps), |setup| setup.set("proxy.shape", "false")).await;
    let mut agent = scene.agent(Client::ClaudeCode, "killed-forced").await;
    assert_eq!(agent.work(ASKED).await.unwrap(), "The branch is over.");
    agent.say("And now?");
    let before = scene.sent_next(&agent).await;
    assert!(before.contains("was cut short") && !before.contains(&end_of(1)));
    scene.restart(&mut agent).await;
    assert_eq!(scene.sent_next(&agent).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_gone_and_folds_by_a_call_give_the_same_bytes() {
    for client in Client::ALL {
        let mut steps = branch_work(&Work::reading("Read three files", (1..=3).map(path), FOUND));
        steps.extend([read_file(&path(5)), Step::text("Done."), Step::text("Yes."), Step::text("Yes.")]);
        let mut scene = Scene::start(Script::new(steps)).await;
        let mut agent = scene.agent(client, "store-gone").await;
        agent.work(ASKED).await.unwrap();
        agent.say("Is that all?");
        let before = scene.sent_next(&agent).await;
        assert!(before.contains(FOUND) && !before.contains(&marker(1)), "{client:?}");

        lose_store(&mut scene, &mut agent).await;
        assert_eq!(scene.sent_next(&agent).await, before, "{client:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_gone_and_what_only_it_knew_goes_through_without_reasoning() {
    let work = Work::reading("Read many files", [], FOUND).budget_tokens(2_000);
    let mut steps = vec![load_tools(), open_branch(&work)];
    steps.extend((1..=8).map(|number| read_in_branch(number, "The branch is over.")));
    steps.extend([Step::text("Yes.").reasoning("hm"), Step::text("Yes."), Step::text("Yes.")]);
    let mut scene = Scene::with(Script::new(steps), |setup| setup.set("proxy.shape", "false")).await;
    let mut agent = scene.agent(Client::ClaudeCode, "forced-gone").await;
    agent.work(ASKED).await.unwrap();
    agent.work("And now?").await.unwrap();
    lose_store(&mut scene, &mut agent).await;
    agent.say("Still there?");
    // The model refuses reasoning that was made on another prefix: none may be left.
    let sent = scene.sent_next(&agent).await;
    assert!(sent.contains(ASKED) && sent.contains("Still there?"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_gone_while_a_branch_is_open_and_it_goes_on() {
    for client in Client::ALL {
        let mut steps = branch_work(&Work::reading("Read three files", (1..=3).map(path), FOUND));
        // The request is sent twice at the place where the store is lost.
        steps.splice(4..4, [read_file(&path(3))]);
        steps.push(Step::text("Done."));
        let mut scene = Scene::start(Script::new(steps)).await;
        let mut agent = scene.agent(client, "adopted").await;
        agent.say(ASKED);
        let said = agent.until(|said| said.text.contains("file-02")).await.unwrap();
        agent.answer(&said).await.unwrap();
        let before = scene.sent_next(&agent).await;
        lose_store(&mut scene, &mut agent).await;
        agent.go_on().await.unwrap();
        let turns = scene.turns();
        let after = turns.iter().rfind(|turn| turn.holds(&marker(2)) && !turn.holds(&marker(3))).unwrap();
        assert_eq!(String::from_utf8_lossy(&after.bytes), before, "{client:?}: the branch's view is the same");
        let end = turns.last().unwrap();
        assert!(end.holds(ASKED) && end.holds(FOUND) && !end.holds(&marker(1)), "{client:?}:\n{}", end.shape());
    }
}

/// Kills the daemon, deletes its database, and starts it again. Its keys stay: they are in a file of their own.
async fn lose_store(scene: &mut Scene, agent: &mut Agent) {
    scene.daemon.kill9().await.unwrap();
    let mut removed = 0;
    for entry in std::fs::read_dir(scene.daemon.data()).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("infold.db") {
            std::fs::remove_file(entry.path()).unwrap();
            removed += 1;
        }
    }
    assert!(removed > 0, "there was a store to lose");
    scene.daemon.restart().await.unwrap();
    agent.reconnect(scene.daemon.base_url()).await.unwrap();
}
