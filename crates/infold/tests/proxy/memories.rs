//! Memories on the wire: the model of a branch gets them once, in its brief, and the same bytes for ever.

use infold_testkit::agent::Client;
use infold_testkit::model::work::{Work, branch_work, read_file};
use infold_testkit::model::{Received, Script, Step};
use infold_testkit::{Era, McpHttp};
use serde_json::json;

use crate::proxy::scene::{ASKED, Scene, marker, path};

const FOUND: &str = "All three files are about harbours.";
const TASK: &str = "Read three harbour files";
const LESSON: &str = "The harbour files are generated, so mend the generator and never the files themselves.";

fn script() -> Script {
    let mut steps = branch_work(&Work::reading(TASK, (1..=3).map(path), FOUND));
    // One request is sent three times: the model says the same each time.
    steps.splice(4..4, [read_file(&path(3)), read_file(&path(3))]);
    steps.push(Step::text("Done."));
    Script::new(steps)
}

/// A scene in whose store there is a memory that has to do with the script's branch.
async fn scene() -> Scene {
    let scene = Scene::start(script()).await;
    let mcp = McpHttp::connect(scene.daemon.base_url(), Era::Modern).await.unwrap();
    let lesson = json!({"title": "Reading the harbour files", "lesson": LESSON});
    let kept = mcp.call("memory_record", lesson).await.unwrap();
    assert!(kept.is_ok(), "{}", kept.summary());
    scene
}

/// The quotation in a request, as the model reads it.
fn quotation(turn: &Received) -> String {
    let texts: Vec<String> = turn.shown().iter().map(|piece| piece.text.clone()).collect();
    let brief = texts.iter().find(|text| text.contains("<notes ")).expect("a brief with notes");
    let (before, rest) = brief.split_once("<notes ").unwrap();
    assert!(before.contains(TASK), "the notes come after the task: {brief}");
    let code = rest.split_once('>').unwrap().0;
    let (inside, after) = rest.split_once(&format!("</notes {code}>")).expect("the quotation is closed");
    assert!(after.contains("branch_return"), "and before how to return: {brief}");
    format!("<notes {inside}")
}

#[tokio::test(flavor = "multi_thread")]
async fn fr_005_the_brief_that_the_model_gets_has_the_memories_in_it_once_and_never_changes() {
    for client in Client::ALL {
        let mut scene = scene().await;
        let mut agent = scene.agent(client, "noted").await;
        agent.say(ASKED);
        let said = agent.until(|said| said.text.contains("file-02")).await.unwrap();
        agent.answer(&said).await.unwrap();
        let before = scene.sent_next(&agent).await;
        assert!(before.contains(LESSON) && before.contains(&marker(1)), "{client:?}: it is the branch's thread");
        scene.restart(&mut agent).await;
        assert_eq!(scene.sent_next(&agent).await, before, "{client:?}: the same bytes after a crash");
        agent.go_on().await.unwrap();

        let branch = scene.branch_turns();
        let first = quotation(&branch[0]);
        for turn in &branch {
            let bytes = String::from_utf8_lossy(&turn.bytes).into_owned();
            assert_eq!(bytes.matches(LESSON).count(), 1, "{client:?}: once\n{}", turn.shape());
            assert_eq!(quotation(turn), first, "{client:?}: the same in every request");
        }
        let main = scene.main_turns();
        assert!(main.last().unwrap().holds(FOUND), "{client:?}: it has folded");
        assert!(main.iter().all(|turn| !turn.holds(LESSON)), "{client:?}: its parent is never shown them");
    }
}
