//! Several sessions in one program, each by itself; the list of them; and how the program ends.

use agent_client_protocol::v1::schema::{CloseSessionRequest, ListSessionsRequest, NewSessionRequest, StopReason};
use infold_testkit::model::{Decision, Script, Step};
use serde_json::json;

use super::editor::{ALLOWS, PlayedModel, until};
use crate::agent::scene::{ASKED, Scene, calls, newest_words};

fn waiting_and_quick() -> Script {
    let step = Step::seeing(|received| {
        let newest = newest_words(received);
        Decision::Say(match newest.contains("quick") {
            true => Step::text("Quick."),
            false if newest.contains(ASKED) => {
                calls(vec![("shell", json!({"command": "touch begun; while [ ! -e go ]; do sleep 0.02; done"}))])
            }
            false => Step::text("Slow."),
        })
    });
    Script::new(std::iter::repeat_n(step, 20))
}

#[tokio::test]
async fn one_session_works_while_another_one_does_and_takes_one_prompt_at_a_time() {
    let scene = Scene::start(waiting_and_quick()).await;
    PlayedModel::new(&scene, ALLOWS)
        .with(&["--approval", "all"])
        .does(async |editor| {
            let (slow, quick) = (editor.begin(&scene).await, editor.begin(&scene).await);
            assert_ne!(slow, quick);
            let (asking, of) = (editor.clone(), slow.clone());
            let turn = tokio::spawn(async move { asking.say(&of, ASKED).await });
            until("the command", || scene.file("begun").exists()).await;
            let refused = editor.say(&slow, "quick").await.unwrap_err();
            assert_eq!(refused.code.value(), -32600, "{refused:?}");
            let refused = editor.load(&scene, &slow).await.unwrap_err();
            assert_eq!(refused.code.value(), -32600, "{refused:?}");
            assert_eq!(editor.say(&quick, "quick").await.unwrap(), StopReason::EndTurn);
            assert_eq!(editor.said(&quick), "Quick.");
            scene.write("go", "");
            assert_eq!(turn.await.unwrap().unwrap(), StopReason::EndTurn);
            assert_eq!(editor.said(&slow), "Slow.");
        })
        .await;
}

#[tokio::test]
async fn sessions_are_listed_by_folder_page_by_page_and_closed_ones_are_not_open() {
    let scene = Scene::start(waiting_and_quick()).await;
    scene.write("inner/.infold.toml", "[agent]\napproval = \"read_only\"\n");
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let outer = editor.begin(&scene).await;
            let request = NewSessionRequest::new(scene.file("inner"));
            let inner = editor.connection.send_request(request).block_task().await.unwrap();
            let modes = inner.modes.unwrap();
            assert_eq!(&*modes.current_mode_id.0, "read_only", "the project's settings hold in its folder");
            for session in [&outer, &inner.session_id] {
                assert_eq!(editor.say(session, "quick").await.unwrap(), StopReason::EndTurn);
            }
            let list = async |request: ListSessionsRequest| {
                let listed = editor.connection.send_request(request).block_task().await.unwrap();
                assert_eq!(listed.next_cursor, None);
                listed.sessions
            };
            let all = list(ListSessionsRequest::new()).await;
            assert_eq!(all.iter().map(|listed| &listed.session_id).collect::<Vec<_>>(), [&inner.session_id, &outer]);
            assert_eq!(all[1].title.as_deref(), Some("quick"), "{all:?}");
            let folder = scene.file("inner").canonicalize().unwrap();
            let here = list(ListSessionsRequest::new().cwd(folder.clone())).await;
            assert_eq!(here.iter().map(|listed| &listed.cwd).collect::<Vec<_>>(), [&folder]);

            let wrong = editor.load(&scene, &inner.session_id).await.unwrap_err();
            assert!(wrong.message.contains("the session works in"), "{wrong:?}");
            let close = CloseSessionRequest::new(outer.clone());
            editor.connection.send_request(close).block_task().await.unwrap();
            let gone = editor.say(&outer, "quick").await.unwrap_err();
            assert_eq!(gone.code.value(), -32002, "{gone:?}");
            editor.load(&scene, &outer).await.unwrap();
            assert_eq!(editor.say(&outer, "quick").await.unwrap(), StopReason::EndTurn);
        })
        .await;
}

#[tokio::test]
async fn the_end_of_the_input_in_mid_turn_interrupts_it_and_everything_is_on_disk() {
    let scene = Scene::start(waiting_and_quick()).await;
    let session = PlayedModel::new(&scene, ALLOWS)
        .with(&["--approval", "all"])
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            let (asking, of) = (editor.clone(), session.clone());
            drop(tokio::spawn(async move { asking.say(&of, ASKED).await }));
            until("the command", || scene.file("begun").exists()).await;
            session
        })
        .await;
    let log = scene.log();
    assert_eq!(log.last().unwrap()["outcome"], "interrupted", "{log:#?}");
    scene.write("go", "");
    let ran = scene.exec(&["--approval", "all", "--resume", &session.0]).await;
    assert_eq!(ran.finished(0)["answer"], "Slow.", "the work goes on where it was");
}
