//! The same conversation through each provider's API: accepted by the strict model, and the second request as it is sent.

use infold_testkit::model::{Script, Step};
use serde_json::{Value, json};

use super::scene::{ASKED, Scene, normalised, result_of};

const PROVIDERS: [&str; 4] = ["anthropic", "openai", "openai-chat", "ollama"];

fn script() -> Script {
    Script::new([
        Step::calling(
            "Both at once.",
            [("read", json!({"path": "greeting.txt"})), ("read", json!({"path": "missing.txt"}))],
        )
        .reasoning("They do not depend on each other."),
        Step::calling("Now I know.", [("write", json!({"path": "greeting.txt", "content": "hello\n"}))])
            .reasoning("That is the change."),
        Step::text("Done."),
    ])
}

/// A body that can be read in a review: the instructions and the tools are named only.
fn golden(received: &infold_testkit::model::Received, scene: &Scene) -> String {
    let mut received = received.clone();
    shorten(&mut received.body);
    normalised(&received).replace(&scene.file("").display().to_string(), "FOLDER/")
}

fn shorten(body: &mut Value) {
    if let Some(tools) = body["tools"].as_array_mut() {
        for tool in tools {
            let name = tool["name"].as_str().or_else(|| tool["function"]["name"].as_str());
            *tool = json!(name.unwrap_or_default());
        }
    }
    if body["instructions"].is_string() {
        body["instructions"] = json!("INSTRUCTIONS");
    }
    for block in body["system"].as_array_mut().into_iter().flatten() {
        block["text"] = json!("INSTRUCTIONS");
    }
    let list = if body["messages"].is_array() { "messages" } else { "input" };
    for message in body[list].as_array_mut().into_iter().flatten() {
        if message["role"] == "system" || message["role"] == "developer" {
            message["content"] = json!("INSTRUCTIONS");
        }
        for sealed in ["encrypted_content", "signature"] {
            if message[sealed].is_string() {
                message[sealed] = json!("SEALED");
            }
        }
        for block in message["content"].as_array_mut().into_iter().flatten() {
            if block["signature"].is_string() {
                block["signature"] = json!("SEALED");
            }
        }
    }
    if body["prompt_cache_key"].is_string() {
        body["prompt_cache_key"] = json!("KEY");
    }
}

#[tokio::test]
async fn the_same_conversation_is_accepted_by_each_provider() {
    for provider in PROVIDERS {
        let scene = Scene::start(script()).await;
        scene.write("greeting.txt", "helo\n");
        let ran = scene.exec(&["--provider", provider, "--model", "the-model", ASKED]).await;
        let last = ran.finished(0);
        assert_eq!(
            (&last["answer"], &last["files_changed"]),
            (&json!("Done."), &json!(["greeting.txt"])),
            "{provider}"
        );
        assert_eq!(scene.text("greeting.txt"), "hello\n", "{provider}");
        let turns = scene.turns();
        assert_eq!(turns.len(), 3, "{provider}");
        assert!(turns.iter().all(|turn| turn.reasoning_dropped == 0 && turn.reasoning_missing == 0), "{provider}");
        assert!(result_of(&turns[2], "write").contains("greeting.txt"), "{provider}: {}", turns[2].shape());
        assert!(last["input_tokens"].as_u64() > Some(0) && last["output_tokens"] == 150, "{provider}: {last}");
        insta::assert_snapshot!(format!("second_request_{provider}"), golden(&turns[1], &scene));
    }
}

#[tokio::test]
async fn reasoning_goes_back_to_the_model_that_made_it_and_to_no_other() {
    for provider in PROVIDERS {
        let scene = Scene::start(script().then([Step::text("Go on I will.")])).await.set("agent.effort=medium");
        scene.write("greeting.txt", "helo\n");
        let ran = scene.exec(&["--provider", provider, "--model", "the-model", ASKED]).await;
        ran.finished(0);
        let turns = scene.turns();
        assert!(turns.iter().all(|turn| turn.reasoning_dropped == 0 && turn.reasoning_missing == 0), "{provider}");
        let thoughts = |turn: &infold_testkit::model::Received| {
            use infold_testkit::model::ShownKind::Reasoning;
            turn.shown().iter().filter(|piece| piece.kind == Reasoning).count()
        };
        // Chat Completions have no place for it.
        let wanted = if provider == "openai-chat" { 0 } else { 2 };
        assert_eq!(thoughts(&turns[2]), wanted, "{provider}: {}", turns[2].shape());
        let other =
            scene.exec(&["--provider", provider, "--model", "another", "--resume", &ran.session(), "Go on."]).await;
        other.finished(0);
        assert_eq!(thoughts(scene.turns().last().unwrap()), 0, "{provider}");
    }
}

#[tokio::test]
async fn each_provider_s_branches_and_resumes_work() {
    for provider in PROVIDERS {
        let script = super::scene::by_words(vec![
            ("look into it", super::scene::returning("it is a typo")),
            ("it is a typo", Step::text("A typo.")),
            (ASKED, super::scene::opening(&[("look into it", "The greeting.")])),
            ("Sure?", Step::text("Sure.")),
        ]);
        let scene = Scene::start(script).await;
        let ran = scene.exec(&["--provider", provider, ASKED]).await;
        assert_eq!(ran.finished(0)["answer"], "A typo.", "{provider}");
        let again = scene.exec(&["--provider", provider, "--resume", &ran.session(), "Sure?"]).await;
        assert_eq!(again.finished(0)["answer"], "Sure.", "{provider}");
        assert_eq!(scene.turns().len(), 4, "{provider}");
    }
}

#[tokio::test]
async fn a_session_goes_on_with_another_provider_s_model() {
    let scene = Scene::start(script().then([Step::text("I have it all before me.")])).await;
    scene.write("greeting.txt", "helo\n");
    let first = scene.exec(&["--provider", "anthropic", ASKED]).await;
    first.finished(0);
    for provider in ["openai", "openai-chat", "ollama"] {
        let ran =
            scene.exec(&["--provider", provider, "--model", "other", "--resume", &first.session(), "Go on."]).await;
        ran.finished(0);
    }
    let turns = scene.turns();
    assert!(turns.iter().skip(3).all(|turn| turn.holds("helo") && turn.holds(ASKED)));
}

#[tokio::test]
async fn arguments_that_are_no_object_and_tools_that_are_not_there_are_answered() {
    for provider in PROVIDERS {
        let script = Script::new([
            super::scene::calls(vec![
                ("read", json!({})),
                ("read", json!({"path": 7})),
                ("list", json!({"depth": "x"})),
            ]),
            super::scene::calls(vec![("branch_return", json!({"message": "no branch here"}))]),
            super::scene::calls(vec![("branch_create", json!({"prompt": "no description"}))]),
            super::scene::calls(vec![("read_result", json!({"ref_id": "nothing"})), ("notes", json!({}))]),
            Step::text("I give up."),
        ]);
        let scene = Scene::start(script).await;
        let ran = scene.exec(&["--provider", provider, ASKED]).await;
        assert_eq!(ran.finished(0)["answer"], "I give up.", "{provider}");
        let results = ran.of_kind("result");
        assert_eq!(results.len(), 7, "{provider}: {results:?}");
        assert!(results.iter().all(|result| result["is_error"] == true), "{provider}: {results:?}");
        scene.turns();
    }
}
