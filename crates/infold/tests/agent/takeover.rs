//! Sessions of other clients, taken over from their recordings.

use infold_testkit::model::{Script, Step};
use serde_json::json;

use super::scene::{Scene, calls};

/// A recording, words that its model saw last, and words that it did not see any more.
const RECORDINGS: [&str; 9] = [
    "claude-code/tools.jsonl",
    "claude-code/compacted.jsonl",
    "claude-code/large-result.jsonl",
    "codex/rollout-tools.jsonl",
    "codex/rollout-compacted.jsonl",
    "codex/rollout-large-result.jsonl",
    "opencode/tools.json",
    "opencode/compacted.json",
    "opencode/large-result.json",
];

fn fixture(name: &str) -> String {
    format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[tokio::test]
async fn each_client_s_recordings_are_taken_over_and_gone_on_with() {
    for recording in RECORDINGS {
        for provider in ["anthropic", "openai", "openai-chat", "ollama"] {
            let script = Script::new([
                calls(vec![("list", json!({}))]),
                Step::text("I have taken over."),
                Step::text("And I go on."),
            ]);
            let scene = Scene::start(script).await;
            let ran = scene.exec(&["--provider", provider, "--from", &fixture(recording), "Go on from there."]).await;
            assert_eq!(ran.finished(0)["answer"], "I have taken over.", "{recording} {provider}");
            let again = scene.exec(&["--provider", provider, "--resume", &ran.session(), "What next?"]).await;
            assert_eq!(again.finished(0)["answer"], "And I go on.", "{recording} {provider}");
            let turns = scene.turns();
            assert_eq!(turns.len(), 3, "{recording} {provider}");
            assert!(turns[0].shown().len() > 4, "{recording} {provider}: {}", turns[0].shape());
            assert!(turns.iter().all(|turn| turn.holds("Go on from there.")), "{recording} {provider}");
        }
    }
}

#[tokio::test]
async fn what_was_said_in_a_recording_is_in_the_first_request() {
    let scene = Scene::start(Script::new([Step::text("Yes.")])).await;
    scene.exec(&["--from", &fixture("claude-code/tools.jsonl"), "Go on."]).await.finished(0);
    insta::assert_snapshot!("first_request_of_a_takeover", without_front(&scene.turns()[0].shape()));
}

/// What is shown without the instructions.
fn without_front(shape: &str) -> String {
    shape.lines().filter(|line| !line.starts_with("system: ")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_recording_without_a_further_word_is_gone_on_with_or_refused() {
    let scene = Scene::start(Script::new([Step::text("Yes.")])).await;
    let ran = scene.exec(&["--from", &fixture("claude-code/tools.jsonl")]).await;
    assert!([0, 3].contains(&ran.code), "{ran:?}");
    let not_one = scene.exec(&["--from", &fixture("passwords.toml"), "Go on."]).await;
    assert_eq!(not_one.code, 3, "{not_one:?}");
}

#[tokio::test]
async fn a_fork_begins_with_all_that_was_said_and_leaves_its_parent_alone() {
    let script = Script::new([Step::text("One."), Step::text("Two."), Step::text("Three.")]);
    let scene = Scene::start(script).await;
    let first = scene.exec(&["Count."]).await;
    let fork = scene.exec(&["--fork", &first.session(), "Go on counting."]).await;
    assert_eq!(fork.finished(0)["answer"], "Two.");
    assert_ne!(fork.session(), first.session());
    let parent = scene.exec(&["--resume", &first.session(), "And you?"]).await;
    parent.finished(0);
    let turns = scene.turns();
    assert!(turns[1].holds("One.") && turns[1].holds("Count."));
    assert!(turns[2].holds("One.") && !turns[2].holds("Go on counting."));
}
