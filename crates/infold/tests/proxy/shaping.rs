//! What a model gets to see of results: whole what it asked for by name, what is new in a file that it reads
//! again, and a reference to what is too long, which can be read back.

use infold_testkit::agent::Client;
use infold_testkit::model::work::{load_tools, read_file};
use infold_testkit::model::{Script, Step};
use infold_testkit::{Era, McpHttp};
use serde_json::json;

use crate::proxy::scene::{ASKED, Scene};

const FILE: &str = "/p/harbour.txt";
const FILE_BYTES_MAX: usize = 32 << 10;

/// A file of exactly so many bytes, with one line like no other.
fn file(bytes: usize) -> String {
    let line = |at: usize| match at {
        300 => "berth 300 is closed because the crane fell over\n".to_owned(),
        at => format!("berth {at} is quiet and nothing moves\n"),
    };
    let mut text: String = (0..bytes / 30).map(line).collect();
    text.truncate(bytes - 1);
    text + "\n"
}

async fn reading(client: Client, files: &[&str]) -> (Scene, String) {
    let mut steps = vec![load_tools()];
    steps.extend(files.iter().map(|_| read_file(FILE)));
    steps.push(Step::text("Done."));
    let scene = Scene::start(Script::new(steps)).await;
    let mut agent = scene.agent(client, "shaped").await;
    agent.say(ASKED);
    for content in files {
        agent.file(FILE, content);
        let said = agent.until(|said| said.text.contains("harbour")).await.unwrap();
        agent.answer(&said).await.unwrap();
    }
    agent.go_on().await.unwrap();
    let last = scene.turns().pop().unwrap();
    (scene, String::from_utf8(last.bytes).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_read_is_whole_up_to_its_bound_and_a_reference_above_it() {
    for client in Client::ALL {
        let short = file(FILE_BYTES_MAX - 1_024);
        let (_, sent) = reading(client, &[&short]).await;
        assert!(!sent.contains("Tool result stored"), "{client:?}: {sent}");
        assert!(short.lines().all(|line| sent.contains(line)), "{client:?}");

        let (scene, sent) = reading(client, &[&file(2 * FILE_BYTES_MAX)]).await;
        assert!(sent.contains("Tool result stored") && sent.contains("the crane fell over"), "{client:?}: {sent}");
        let handle = sent.split("ref_id=\\\"").nth(1).and_then(|rest| rest.split('\\').next()).unwrap();
        let mcp = McpHttp::connect(scene.daemon.base_url(), Era::Modern).await.unwrap();
        let ask = async |pattern: &str| {
            let answer = mcp.call("read_result", json!({"ref_id": handle, "pattern": pattern})).await.unwrap();
            answer.structured.unwrap()["content"].as_str().unwrap().to_owned()
        };
        assert!(ask("berth 77 ").await.contains("berth 77 is quiet"), "{client:?}");
        assert!(ask("BERTH 77 ").await.contains("put (?i) before the pattern"), "{client:?}");
        assert!(ask("a lighthouse").await.contains("matches \"a lighthouse\". Try a shorter pattern"), "{client:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_read_again_shows_what_is_new_in_it() {
    for client in Client::ALL {
        let before = file(12_000);
        let now = before.replace("berth 120 is quiet and nothing moves", "berth 120 has a visitor from abroad");
        let (_, sent) = reading(client, &[&before, &now]).await;
        assert!(sent.contains("This file was read before.") && sent.contains("a visitor from abroad"), "{client:?}");
        assert_eq!(sent.matches("berth 200 is quiet").count(), 1, "{client:?}: what was shown is not sent again");
        assert_eq!(sent.matches("berth 119 is quiet").count(), 2, "{client:?}: what is new has its surroundings");
    }
}
