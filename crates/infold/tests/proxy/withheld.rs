//! Results that cannot be searched for secrets: the model learns that they were withheld and what to do, and the
//! session goes on, now and later.

use infold_testkit::TempFolder;
use infold_testkit::agent::Client;
use infold_testkit::model::work::read_file;
use infold_testkit::model::{Script, Step};

use crate::proxy::scene::{ASKED, Scene, path, upstream};
use crate::support::{infold, lines_about, secrets, whereabouts};

const WITHHELD: &str = "[infold withheld ";

fn script() -> Script {
    let steps = [read_file("/p/odd.txt"), read_file(&path(1)), Step::text("Done."), Step::text("Yes.")];
    Script::new(steps)
}

/// What the model was sent last.
fn last_sent(scene: &Scene) -> String {
    String::from_utf8(scene.model.requests().pop().unwrap().bytes).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_is_too_long_to_be_searched_is_withheld_and_stays_so() {
    for client in Client::ALL {
        let folder = TempFolder::new().unwrap();
        let data = folder.join("data");
        let mut scene = Scene::with(script(), |setup| setup.data(&data).set("scrub.max_bytes", 65_536)).await;
        let mut agent = scene.agent(client, "long").await;
        let planted = secrets(11);
        agent.file("/p/odd.txt", &format!("{}{}", lines_about("the harbour", 70_000), planted[0].text));
        assert_eq!(agent.work(ASKED).await.unwrap(), "Done.", "{client:?}");
        let before = last_sent(&scene);
        assert!(before.contains(WITHHELD) && before.contains("ask for less at a time"), "{client:?}: {before}");
        assert!(!before.contains("the harbour said"), "{client:?}");

        // It was decided once: a later daemon that could search it shows the same.
        scene.daemon.terminate().await.unwrap();
        scene.daemon = upstream(infold().data(&data), scene.model.base_url()).start().await.unwrap();
        agent.reconnect(scene.daemon.base_url()).await.unwrap();
        assert_eq!(agent.work("Go on.").await.unwrap(), "Yes.", "{client:?}");
        assert!(last_sent(&scene).contains(WITHHELD), "{client:?}");
        assert_eq!(scene.model.broken(), Vec::<String>::new(), "{client:?}");
        scene.daemon.terminate().await.unwrap();
        assert_eq!(whereabouts(&planted[..1], &scene.daemon).unwrap(), Vec::<String>::new(), "{client:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scrubber_that_breaks_down_or_stalls_withholds_results_and_the_session_lives() {
    for (client, fault) in [(Client::ClaudeCode, "panic"), (Client::Codex, "panic"), (Client::OpenCode, "stall")] {
        let mut scene = Scene::with(script(), |setup| {
            setup.set("testing.scrub_fault", fault).set("scrub.timeout_ms", 100).set("scrub.max_bytes", 65_536)
        })
        .await;
        let mut agent = scene.agent(client, "broken").await;
        let planted = secrets(12);
        agent.file("/p/odd.txt", &format!("token = {}\n", planted[0].text));
        assert_eq!(agent.work(ASKED).await.unwrap(), "Done.", "{client:?} {fault}");
        for request in scene.model.requests() {
            let sent = String::from_utf8(request.bytes).unwrap();
            assert!(!planted[0].is_in(&sent), "{client:?} {fault}: {sent}");
        }
        assert!(last_sent(&scene).matches(WITHHELD).count() >= 2, "{client:?} {fault}: {}", last_sent(&scene));
        scene.daemon.terminate().await.unwrap();
        assert_eq!(whereabouts(&planted[..1], &scene.daemon).unwrap(), Vec::<String>::new(), "{client:?} {fault}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_scrubber_nothing_is_sent() {
    let scene = Scene::with(script(), |setup| setup.set("testing.scrub_fault", "missing")).await;
    let mut agent = scene.agent(Client::OpenCode, "missing").await;
    let refused = agent.work(ASKED).await.unwrap_err().to_string();
    assert!(refused.contains("503") && refused.contains("infold doctor"), "{refused}");
}
