//! Sessions are opened again: those of any face, whole, and after a kill the model is sent what it would have been sent.

use agent_client_protocol::v1::schema::{ResumeSessionRequest, SessionId, StopReason};
use infold_testkit::model::{Decision, Fault, Received, Script, Step};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::editor::{ALLOWS, PlayedModel, until};
use crate::agent::scene::{ASKED, Scene, calls, newest_words, normalised, opening, returning};

/// What the model says to a request: it follows from the request alone, so that it is the same after a kill.
fn answer(received: &Received) -> Decision {
    let newest = newest_words(received);
    let holds = |words: &str| newest.contains(words);
    Decision::Say(if holds("Task: look around") {
        returning("all is well")
    } else if holds("all is well") {
        Step::text("Done, and all is well.")
    } else if holds("the text of a.txt") {
        opening(&[("look around", "Only say so.")])
    } else if holds("wrote a.txt") || holds("a.txt") {
        calls(vec![("read", json!({"path": "b.txt"}))])
    } else if holds(ASKED) {
        Step::calling("First a file.", [("write", json!({"path": "a.txt", "content": "written\n"}))])
    } else if holds("And now?") {
        Step::text("Nothing more.")
    } else {
        return Decision::Stuck(format!("no answer to: {newest}"));
    })
}

/// A scene whose model stalls at its `stall_at`-th request, counted from 1, and never again.
async fn scene(stall_at: usize) -> Scene {
    let seen = AtomicUsize::new(0);
    let step = Step::seeing(move |received| match seen.fetch_add(1, Ordering::SeqCst) + 1 == stall_at {
        true => Decision::Say(Step::failing(Fault::StallAfter { bytes: 0 })),
        false => answer(received),
    });
    let scene = Scene::start(Script::new(std::iter::repeat_n(step, 50))).await;
    scene.write("b.txt", "the text of a.txt is in another file\n");
    scene
}

fn last_request(scene: &Scene) -> String {
    assert_eq!(scene.model.broken(), Vec::<String>::new());
    normalised(&scene.model.turns().pop().unwrap()).replace(&scene.home().display().to_string(), "HOME")
}

/// What an editor shows of a session, without ids: calls with their ends, and words.
fn shown(updates: &[Value]) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    for update in updates {
        let text = update["content"]["text"].as_str().unwrap_or_default();
        match update["sessionUpdate"].as_str().unwrap() {
            "user_message_chunk" => shown.push(format!("person: {text}")),
            "agent_message_chunk" => shown.push(format!("agent: {text}")),
            "tool_call" => shown.push(format!("call: {}", update["title"].as_str().unwrap())),
            "tool_call_update" if !update["status"].is_null() => {
                shown.push(format!("end: {}", update["status"].as_str().unwrap()));
            }
            _ => {}
        }
    }
    shown
}

#[tokio::test]
async fn a_session_that_is_killed_in_mid_turn_goes_on_with_the_request_that_was_next() {
    let whole = scene(0).await;
    let seen = PlayedModel::new(&whole, ALLOWS)
        .does(async |editor| {
            let session = editor.begin(&whole).await;
            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::EndTurn);
            shown(&editor.updates(&session))
        })
        .await;
    let (requests, wanted) = (whole.model.requests().len(), last_request(&whole));
    assert_eq!(requests, 5, "{seen:#?}");

    // While a file is read, in a branch, and before the last word. `agent::kills` has every other moment.
    for kill_at in [2, 4, 5] {
        let scene = scene(kill_at).await;
        let session = PlayedModel::new(&scene, ALLOWS)
            .does(async |editor| {
                let session = editor.begin(&scene).await;
                let (asking, of) = (editor.clone(), session.clone());
                let turn = tokio::spawn(async move { asking.say(&of, ASKED).await });
                until("the request", || scene.model.requests().len() >= kill_at).await;
                editor.kill();
                turn.await.unwrap().unwrap_err();
                session
            })
            .await;
        PlayedModel::new(&scene, ALLOWS)
            .does(async |editor| {
                editor.load(&scene, &session).await.unwrap();
                let replayed = shown(&editor.updates(&session));
                assert_eq!(replayed[0], format!("person: {ASKED}"), "killed at {kill_at}");
                let hint = "broke off in the middle of its work: /continue";
                assert!(replayed.last().unwrap().contains(hint), "killed at {kill_at}: {replayed:#?}");
                assert_eq!(editor.say(&session, "/continue").await.unwrap(), StopReason::EndTurn);
                assert!(editor.said(&session).contains("Done, and all is well."), "killed at {kill_at}");
            })
            .await;
        let got = last_request(&scene);
        assert!(got == wanted, "killed at {kill_at}:\n{wanted}\n---\n{got}");
    }
}

#[tokio::test]
async fn a_session_is_replayed_as_it_was_shown_and_its_next_request_is_the_same() {
    let (kept, killed) = (scene(0).await, scene(0).await);
    PlayedModel::new(&kept, ALLOWS)
        .does(async |editor| {
            let session = editor.begin(&kept).await;
            editor.say(&session, ASKED).await.unwrap();
            editor.say(&session, "And now?").await.unwrap();
        })
        .await;
    let (session, live) = PlayedModel::new(&killed, ALLOWS)
        .does(async |editor| {
            let session = editor.begin(&killed).await;
            editor.say(&session, ASKED).await.unwrap();
            let live = shown(&editor.updates(&session));
            editor.kill();
            (session, live)
        })
        .await;
    PlayedModel::new(&killed, ALLOWS)
        .does(async |editor| {
            editor.load(&killed, &session).await.unwrap();
            let mut replayed = shown(&editor.updates(&session));
            assert_eq!(replayed.remove(0), format!("person: {ASKED}"));
            assert_eq!(replayed, live);
            let written = editor.call(&session, "Write a.txt");
            assert_eq!(written["content"][0]["newText"], "written\n", "{written}");
            assert_eq!(editor.say(&session, "And now?").await.unwrap(), StopReason::EndTurn);
        })
        .await;
    assert_eq!(last_request(&killed), last_request(&kept));
}

#[tokio::test]
async fn sessions_pass_from_one_face_to_the_other_and_back() {
    let scene = scene(0).await;
    let session = scene.exec(&[ASKED]).await.session();
    let session = SessionId::new(session);
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            editor.load(&scene, &session).await.unwrap();
            assert_eq!(editor.said(&session), "First a file.Done, and all is well.");
            assert_eq!(editor.say(&session, "And now?").await.unwrap(), StopReason::EndTurn);
        })
        .await;
    let ran = scene.exec(&["--resume", &session.0, "And now?"]).await;
    assert_eq!(ran.finished(0)["answer"], "Nothing more.");
    let last = scene.turns().pop().unwrap();
    assert_eq!(last.shows_times("And now?"), 2, "{}", last.shape());
}

#[tokio::test]
async fn a_resumed_session_is_not_shown_again() {
    let scene = scene(0).await;
    let session = SessionId::new(scene.exec(&[ASKED]).await.session());
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let request = ResumeSessionRequest::new(session.clone(), scene.file(""));
            editor.connection.send_request(request).block_task().await.unwrap();
            assert_eq!(shown(&editor.updates(&session)), [""; 0]);
            assert_eq!(editor.say(&session, "And now?").await.unwrap(), StopReason::EndTurn);
            editor.load(&scene, &session).await.unwrap();
            let said = editor.of_kind(&session, "user_message_chunk");
            assert_eq!(said.len(), 2, "one that is open can be loaded: {said:?}");
        })
        .await;
}
