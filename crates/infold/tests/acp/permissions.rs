//! Approvals: the editor asks, and what the person answers is done.

use agent_client_protocol::v1::schema::{PermissionOptionKind, SetSessionModeRequest, StopReason};
use infold_testkit::model::{Script, Step};
use serde_json::{Value, json};

use super::editor::{ALLOWS, Person, PlayedModel, REJECTS, until};
use crate::agent::scene::{ASKED, Scene, calls, opening, result_of, returning};

fn edits(times: usize) -> Script {
    let edit = |at: usize| calls(vec![("write", json!({"path": format!("{at}.txt"), "content": "new\n"}))]);
    Script::new((1..=times).map(edit).chain([Step::text("Done.")]))
}

#[tokio::test]
async fn a_change_is_shown_before_it_is_made_and_made_if_it_is_allowed() {
    let scene = Scene::start(edits(2)).await.set("agent.approval=ask");
    scene.write("1.txt", "old\n");
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::EndTurn);
            let questions = editor.questions();
            assert_eq!(questions.len(), 2, "allowed once is not allowed twice: {questions:#?}");
            let asked = &questions[0]["toolCall"];
            let diff = asked["content"].as_array().unwrap().iter().find(|part| part["type"] == "diff").unwrap();
            assert_eq!((&diff["oldText"], &diff["newText"]), (&json!("old\n"), &json!("new\n")));
            assert_eq!((&asked["kind"], &asked["status"]), (&json!("edit"), &json!("pending")), "{asked}");
            let names: Vec<&str> = questions[0]["options"]
                .as_array()
                .unwrap()
                .iter()
                .map(|option| option["name"].as_str().unwrap())
                .collect();
            let lasting = "Allow until the session is closed: changes of files in this folder";
            assert_eq!(names, ["Allow once", lasting, "Reject"]);
            let written = editor.call(&session, "Write 1.txt");
            assert_eq!(written["status"], "completed", "{written}");
            assert_eq!(written["toolCallId"], asked["toolCallId"]);
        })
        .await;
    assert_eq!((scene.text("1.txt"), scene.text("2.txt")), ("new\n".to_owned(), "new\n".to_owned()));
}

#[tokio::test]
async fn what_is_allowed_for_the_session_is_asked_once_and_what_is_rejected_is_not_done() {
    let scene = Scene::start(edits(3)).await.set("agent.approval=ask");
    PlayedModel::new(&scene, Person::Picks(PermissionOptionKind::AllowAlways))
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::EndTurn);
            assert_eq!(editor.questions().len(), 1);
        })
        .await;
    assert!(scene.file("3.txt").exists());

    let scene = Scene::start(edits(1)).await.set("agent.approval=ask");
    PlayedModel::new(&scene, REJECTS)
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::EndTurn);
            assert_eq!(editor.call(&session, "Write 1.txt")["status"], "failed");
        })
        .await;
    assert!(!scene.file("1.txt").exists());
    assert!(result_of(&scene.turns()[1], "write").contains("the person refused this call"));
}

#[tokio::test]
async fn a_question_that_is_cancelled_ends_the_turn_and_nothing_is_done() {
    for person in [Person::Cancels, Person::IsAway] {
        let scene = Scene::start(edits(1)).await.set("agent.approval=ask");
        PlayedModel::new(&scene, person)
            .does(async |editor| {
                let session = editor.begin(&scene).await;
                let (asking, of) = (editor.clone(), session.clone());
                let turn = tokio::spawn(async move { asking.say(&of, ASKED).await });
                until("the question", || !editor.questions().is_empty()).await;
                if person == Person::IsAway {
                    editor.cancel(&session);
                }
                assert_eq!(turn.await.unwrap().unwrap(), StopReason::Cancelled, "{person:?}");
            })
            .await;
        assert!(!scene.file("1.txt").exists(), "{person:?}");
    }
}

#[tokio::test]
async fn a_call_of_a_branch_that_is_asked_about_is_shown_by_itself_and_gets_its_end() {
    let scene = Scene::start(Script::new([
        opening(&[("write it", "Write a.txt.")]),
        calls(vec![("write", json!({"path": "a.txt", "content": "new\n"}))]),
        returning("written"),
        Step::text("Done."),
    ]))
    .await
    .set("agent.approval=ask");
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::EndTurn);
            let asked = editor.questions().remove(0)["toolCall"]["toolCallId"].clone();
            let ends = editor.of_kind(&session, "tool_call_update");
            let end = ends.iter().rfind(|update| update["toolCallId"] == asked).unwrap();
            assert_eq!(end["status"], "completed", "{end}");
        })
        .await;
    assert_eq!(scene.text("a.txt"), "new\n");
}

#[tokio::test]
async fn a_mode_holds_from_the_next_call_on_and_is_said_under_both_names() {
    let scene = Scene::start(
        edits(1)
            .then([calls(vec![("write", json!({"path": "later.txt", "content": "new\n"}))]), Step::text("Not now.")]),
    )
    .await;
    PlayedModel::new(&scene, REJECTS)
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::EndTurn);
            assert!(editor.questions().is_empty(), "edits is the usual mode");
            for (mode, works) in [("read_only", true), ("everything", false)] {
                let request = SetSessionModeRequest::new(session.clone(), mode);
                let set = editor.connection.send_request(request).block_task().await;
                assert_eq!(set.is_ok(), works, "{mode}: {set:?}");
            }
            let update = editor.of_kind(&session, "current_mode_update").pop().unwrap();
            assert_eq!(update["currentModeId"], "read_only");
            let options = editor.of_kind(&session, "config_option_update").pop().unwrap();
            let mode: &Value = &options["configOptions"][0];
            assert_eq!((&mode["id"], &mode["currentValue"]), (&json!("mode"), &json!("read_only")));
            assert_eq!(editor.say(&session, "Once more.").await.unwrap(), StopReason::EndTurn);
        })
        .await;
    assert!(scene.file("1.txt").exists() && !scene.file("later.txt").exists());
}
