//! Memories on the wire: the model of a branch gets them once, in its brief, and the same bytes for ever.

use infold_testkit::agent::Client;
use infold_testkit::model::work::{Work, branch_work, read_file};
use infold_testkit::model::{Received, Script, Step};
use infold_testkit::{Era, McpHttp};
use serde_json::json;

use crate::proxy::scene::{ASKED, Scene, content, marker, path};
use crate::support::{Database, PATIENCE, POLL};

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

/// Steps that read a file in the main thread, and then work in a branch.
fn looking_and_working() -> Vec<Step> {
    let mut steps = vec![read_file(&path(1)), Step::text("Looked.")];
    steps.extend(branch_work(&Work::reading(TASK, [path(2)], FOUND)));
    steps.push(Step::text("Done."));
    steps
}

/// Teaches a lesson in a branch that has read the first and the third file.
async fn teach_by_reading(scene: &Scene) {
    let mcp = McpHttp::connect(scene.daemon.base_url(), Era::Modern).await.unwrap();
    let opened = mcp.call("branch_create", json!({"session_id": "first", "description": TASK})).await.unwrap();
    let branch = opened.structured.clone().unwrap()["branch_id"].clone();
    for number in [1, 3] {
        let arguments = json!({"file_path": path(number)});
        let read = json!({"tool_name": "Read", "arguments": arguments, "content": content(number)});
        scene.api().post("/api/v1/sessions/first/results", &read).await.unwrap().with_status(200).unwrap();
    }
    let lessons = json!([{"title": "Reading the harbour files", "lesson": LESSON}]);
    let returned = json!({"branch_id": branch, "message": "Done.", "lessons": lessons});
    assert!(mcp.call("branch_return", returned).await.unwrap().is_ok());
    mcp.call("memory_search", json!({"query": TASK})).await.unwrap();
}

/// Waits until it is noted of both files whether they have changed.
async fn until_changed(scene: &Scene, wanted: [&str; 2]) {
    let query = "SELECT CAST(changed AS TEXT) FROM memory_marks ORDER BY file";
    let found = || Database::look(scene.daemon.data()).unwrap().rows(query).unwrap();
    let noted = async {
        while found() != wanted {
            tokio::time::sleep(POLL).await;
        }
    };
    let noted = tokio::time::timeout(PATIENCE, noted).await;
    noted.unwrap_or_else(|_| panic!("it stays {:?}, not {wanted:?}", found()));
}

/// Another content of a file.
fn changed(number: usize) -> String {
    content(number).replace("u32", "u64")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_main_thread_reads_shows_whether_the_code_has_changed_since() {
    // Codex reads files with a shell, and what a shell prints is not taken for a file.
    for client in [Client::ClaudeCode, Client::OpenCode] {
        let script = [looking_and_working(), looking_and_working()].into_iter().flatten();
        let scene = Scene::start(Script::new(script)).await;
        teach_by_reading(&scene).await;
        until_changed(&scene, ["0", "0"]).await;
        let mut agent = scene.agent(client, "reading").await;

        agent.file(&path(1), &changed(1));
        agent.work(ASKED).await.unwrap();
        until_changed(&scene, ["1", "0"]).await;
        agent.work("Go on.").await.unwrap();
        let first = quotation(scene.branch_turns().last().unwrap());
        assert!(first.contains(" · the code has changed since"), "{client:?}: {first}");

        agent.file(&path(1), &content(1));
        agent.work("Look again.").await.unwrap();
        until_changed(&scene, ["0", "0"]).await;
        agent.work("Go on.").await.unwrap();
        let second = quotation(scene.branch_turns().last().unwrap());
        assert!(!second.contains("changed since"), "{client:?}: {second}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_noted_of_what_a_session_reads_that_is_left_alone() {
    let look = || {
        let (first, third) = (read_file(&path(1)), read_file(&path(3)));
        Step::seeing(
            move |received| if received.holds(ASKED) { first.decision(received) } else { third.decision(received) },
        )
    };
    let steps = [look(), Step::text("Looked."), look(), Step::text("Looked.")];
    let scene = Scene::start(Script::new(steps)).await;
    teach_by_reading(&scene).await;
    let mut quiet = scene.agent(Client::ClaudeCode, "quiet").await;
    quiet.file(&path(1), &changed(1));
    quiet.work(ASKED).await.unwrap();
    until_changed(&scene, ["1", "0"]).await;

    let listed = scene.api().get("/api/v1/requests").await.unwrap().body;
    let session = listed["requests"][0]["session_id"].as_str().unwrap_or_else(|| panic!("{listed}"));
    let silence = ["memory", "silence", &format!("session:{session}")];
    assert!(scene.daemon.program(&silence).output().await.unwrap().status.success());
    quiet.file(&path(1), &content(1));
    quiet.work("Look again.").await.unwrap();
    let mut other = scene.agent(Client::ClaudeCode, "other").await;
    other.file(&path(3), &changed(3));
    other.work("Look at the third one.").await.unwrap();
    until_changed(&scene, ["1", "1"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_subagent_reads_shows_it_too() {
    let scene = Scene::start(Script::new([read_file(&path(1)), Step::text("Looked.")])).await;
    teach_by_reading(&scene).await;
    let mut agent = scene.agent(Client::ClaudeCode, "parent").await.subagent("helper");
    agent.file(&path(1), &changed(1));
    agent.work(ASKED).await.unwrap();
    until_changed(&scene, ["1", "0"]).await;
}
