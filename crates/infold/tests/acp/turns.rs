//! Turns: what the model is sent, what the editor is shown, and how a turn ends.

use agent_client_protocol::v1::schema::{
    ClientCapabilities, ClientSessionCapabilities, ContentBlock, EmbeddedResource, EmbeddedResourceResource,
    ImageContent, NoticeCapabilities, ResourceLink, StopReason, TextResourceContents,
};
use infold_testkit::model::{Fault, Script, Step};
use serde_json::{Value, json};

use super::editor::{ALLOWS, PlayedModel, until};
use crate::agent::images::{files, png};
use crate::agent::scene::{ASKED, Scene, calls, opening, result_of, returning};

#[tokio::test]
async fn a_turn_is_shown_as_words_calls_places_and_changes() {
    let scene = Scene::start(Script::new([
        Step::calling("Let me look.", [("read", json!({"path": "greeting.txt", "offset": 2}))]),
        calls(vec![("edit", json!({"path": "greeting.txt", "old": "helo", "new": "hello"}))]),
        calls(vec![("shell", json!({"command": "cat greeting.txt && false"}))]),
        calls(vec![("notes", json!({"text": "Plan:\n- [x] edit\n- [ ] test"}))]),
        Step::text("The greeting is right."),
    ]))
    .await;
    scene.write("greeting.txt", "first\nhelo, world\n");
    PlayedModel::new(&scene, ALLOWS)
        .with(&["--approval", "all"])
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::EndTurn);
            assert_eq!(editor.said(&session), "Let me look.The greeting is right.");
            let path = scene.file("greeting.txt").canonicalize().unwrap();

            let read = editor.call(&session, "Read greeting.txt");
            assert_eq!((&read["kind"], &read["status"]), (&json!("read"), &json!("completed")), "{read}");
            assert_eq!(read["locations"], json!([{"path": path, "line": 2}]));
            assert!(read["content"][0]["content"]["text"].as_str().unwrap().contains("helo, world"), "{read}");

            let edit = editor.call(&session, "Edit greeting.txt");
            assert_eq!((&edit["kind"], &edit["status"]), (&json!("edit"), &json!("completed")), "{edit}");
            let diff = json!([{
                "type": "diff", "path": path, "oldText": "first\nhelo, world\n", "newText": "first\nhello, world\n",
            }]);
            assert_eq!(edit["content"], diff);
            assert_eq!(edit["locations"], json!([{"path": path, "line": 2}]));

            let shell = editor.call(&session, "`cat greeting.txt && false`");
            assert_eq!((&shell["kind"], &shell["status"]), (&json!("execute"), &json!("failed")), "{shell}");
            let plan = &editor.of_kind(&session, "plan")[0]["entries"];
            let entries: Vec<(&Value, &Value)> =
                plan.as_array().unwrap().iter().map(|entry| (&entry["content"], &entry["status"])).collect();
            assert_eq!(entries, [(&json!("edit"), &json!("completed")), (&json!("test"), &json!("pending"))]);

            let usage = editor.of_kind(&session, "usage_update").pop().unwrap();
            let shown = scene.run(&["show", "--json", &session.0]).await;
            let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
            assert_eq!(usage["used"], shown["context_tokens"], "{shown}");
            assert_eq!(usage["size"], shown["window_tokens"], "{shown}");
            assert!(editor.questions().is_empty());
        })
        .await;
    assert_eq!(scene.text("greeting.txt"), "first\nhello, world\n");
    assert_eq!(scene.turns().len(), 5);
}

#[tokio::test]
async fn files_of_a_prompt_are_named_or_held() {
    let scene = Scene::start(Script::new([Step::text("Seen.")])).await;
    let folder = scene.file("").canonicalize().unwrap();
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            let link = ResourceLink::new("lib.rs", format!("file://{}/src/lib.rs", folder.display()));
            let held = TextResourceContents::new("the text of it", format!("file://{}/a.txt", folder.display()));
            let held = EmbeddedResource::new(EmbeddedResourceResource::TextResourceContents(held));
            let blocks = vec!["Compare ".into(), ContentBlock::ResourceLink(link), ContentBlock::Resource(held)];
            assert_eq!(editor.prompt(&session, blocks).await.unwrap(), StopReason::EndTurn);
        })
        .await;
    let turns = scene.turns();
    assert!(turns[0].holds("Compare `src/lib.rs`"), "{}", turns[0].shape());
    assert!(turns[0].holds("`a.txt`:\\n```\\nthe text of it") || turns[0].holds("`a.txt`:\n```\nthe text of it"));
}

#[tokio::test]
async fn a_branch_is_one_call_whose_content_grows_and_ends_with_what_it_returned() {
    let scene = Scene::start(Script::new([
        opening(&[("look around", "Look at a.txt, and change b.txt.")]),
        Step::calling("Looking.", [("read", json!({"path": "a.txt"}))]),
        calls(vec![("write", json!({"path": "b.txt", "content": "new\n"}))]),
        returning("a.txt is short"),
        Step::text("It is short."),
    ]))
    .await;
    scene.write("a.txt", "short\n");
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::EndTurn);
            assert_eq!(editor.said(&session), "It is short.", "what a branch says is in its call");
            let calls = editor.of_kind(&session, "tool_call");
            assert_eq!(calls.len(), 1, "{calls:#?}");
            let updates = editor.of_kind(&session, "tool_call_update");
            let parts = |update: &Value| update["content"].to_string().len();
            let sizes: Vec<usize> = updates.iter().filter(|update| update["content"].is_array()).map(parts).collect();
            assert!(sizes.windows(2).all(|pair| pair[0] <= pair[1]) && sizes.len() >= 4, "{updates:#?}");
            let branch = editor.call(&session, "Branch: look around");
            let content = branch["content"].as_array().unwrap();
            assert_eq!((&branch["kind"], &branch["status"]), (&json!("think"), &json!("completed")), "{branch}");
            assert_eq!(content[0]["content"]["text"], "returned: a.txt is short");
            let work = content[1]["content"]["text"].as_str().unwrap();
            assert!(work.contains("Looking.") && work.contains("Read a.txt"), "{work}");
            assert_eq!((&content[2]["type"], &content[2]["newText"]), (&json!("diff"), &json!("new\n")), "{branch}");
        })
        .await;
}

#[tokio::test]
async fn a_cancelled_turn_ends_as_cancelled_and_the_session_goes_on() {
    let scene = Scene::start(Script::new([
        calls(vec![("shell", json!({"command": "echo begun > begun.txt; sleep 60"}))]),
        Step::text("Never mind."),
    ]))
    .await;
    PlayedModel::new(&scene, ALLOWS)
        .with(&["--approval", "all"])
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            let (asking, of) = (editor.clone(), session.clone());
            let turn = tokio::spawn(async move { asking.say(&of, ASKED).await });
            until("the command", || scene.file("begun.txt").exists()).await;
            editor.cancel(&session);
            assert_eq!(turn.await.unwrap().unwrap(), StopReason::Cancelled);
            let shell = editor.call(&session, "`echo begun > begun.txt; sleep 60`");
            assert_eq!(shell["status"], "failed", "{shell}");
            assert_eq!(editor.say(&session, "Leave it.").await.unwrap(), StopReason::EndTurn);
            assert_eq!(editor.said(&session), "Never mind.");
        })
        .await;
    let turns = scene.turns();
    assert!(turns[1].holds(ASKED) && turns[1].holds("Leave it."), "{}", turns[1].shape());
    assert!(!result_of(&turns[1], "shell").is_empty());
}

#[tokio::test]
async fn a_cancellation_right_behind_its_prompt_finds_it() {
    let stalled = Step::failing(Fault::StallAfter { bytes: 0 });
    let scene = Scene::start(Script::new([stalled, Step::text("Here.")])).await;
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            let (asking, of) = (editor.clone(), session.clone());
            let turn = tokio::spawn(async move { asking.say(&of, ASKED).await });
            tokio::task::yield_now().await;
            editor.cancel(&session);
            assert_eq!(turn.await.unwrap().unwrap(), StopReason::Cancelled);
        })
        .await;
    assert!(scene.log().iter().any(|record| record.to_string().contains(ASKED)), "what was said is kept");
}

#[tokio::test]
async fn limits_and_faults_are_said_with_the_protocol_s_reasons() {
    let script = Script::new([
        calls(vec![("list", json!({}))]),
        Step::failing(Fault::status(401)),
        Step::failing(Fault::status(401)),
        Step::failing(Fault::status(401)),
    ]);
    let scene = Scene::start(script).await.set("agent.turns_max=1");
    let notices = ClientSessionCapabilities::new().notices(NoticeCapabilities::new());
    PlayedModel::new(&scene, ALLOWS)
        .can(ClientCapabilities::new().session(notices))
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::MaxTurnRequests);
            let notice = editor.of_kind(&session, "notice").pop().unwrap();
            assert_eq!(notice["title"], "the run has had 1 turns, which is its limit");
            let error = editor.say(&session, "Again.").await.unwrap_err();
            assert!(error.message.contains("ANTHROPIC_API_KEY"), "{error:?}");
        })
        .await;
}

#[tokio::test]
async fn without_a_key_a_session_says_which_variable_to_set() {
    let scene = Scene::start(Script::new([])).await.set("agent.key_env=MY_OWN_KEY");
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let request = agent_client_protocol::v1::schema::NewSessionRequest::new(scene.file(""));
            let error = editor.connection.send_request(request).block_task().await.unwrap_err();
            assert_eq!(error.code.value(), -32000, "{error:?}");
            assert!(error.message.contains("set the variable MY_OWN_KEY"), "{error:?}");
        })
        .await;
}

#[tokio::test]
async fn images_of_a_prompt_are_sent_and_named_in_the_words() {
    let scene = Scene::start(Script::new([Step::text("A button.")])).await;
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, png(5, 3_000));
            let image = ImageContent::new(encoded, "image/png").uri("file:///tmp/my%20screen.png".to_owned());
            let blocks = vec!["See ".into(), ContentBlock::Image(image), " there.".into()];
            assert_eq!(editor.prompt(&session, blocks).await.unwrap(), StopReason::EndTurn);
            let broken = ContentBlock::Image(ImageContent::new("aGVsbG8=", "image/png"));
            let refused = editor.prompt(&session, vec!["See ".into(), broken]).await.unwrap_err();
            assert!(refused.message.contains("PNG, JPEG, GIF and WebP"), "{refused:?}");
        })
        .await;
    let turns = scene.turns();
    assert_eq!(turns.len(), 1);
    assert_eq!(files(&turns[0]), [png(5, 3_000)]);
    assert!(turns[0].holds("See [image 1: my screen.png, 1200×800, 4 KB] there."), "{}", turns[0].shape());
}
