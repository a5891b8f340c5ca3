//! Slash commands: carried out, and never said to the model.

use agent_client_protocol::v1::schema::{
    ListSessionsRequest, NewSessionRequest, SetSessionConfigOptionRequest, StopReason,
};
use infold_testkit::model::{Fault, Script, Step};
use serde_json::json;

use super::editor::{ALLOWS, PlayedModel, until};
use crate::agent::scene::{ASKED, Scene, calls};

fn script() -> Script {
    let write = calls(vec![("write", json!({"path": "a.txt", "content": "new\n"}))]);
    Script::new([write, Step::text("Written."), Step::text("Again."), Step::text("More.")])
        .aside("Write the summary", Step::text("A file was written."))
}

#[tokio::test]
async fn commands_are_offered_carried_out_and_not_said_to_the_model() {
    let scene = Scene::start(script()).await;
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            until("the commands", || !editor.of_kind(&session, "available_commands_update").is_empty()).await;
            let offered = editor.of_kind(&session, "available_commands_update").remove(0);
            let names: Vec<&str> = offered["availableCommands"]
                .as_array()
                .unwrap()
                .iter()
                .map(|command| command["name"].as_str().unwrap())
                .collect();
            let all = "branch compact context cost fork help memory model rewind servers continue";
            assert_eq!(names.join(" "), all);
            assert_eq!(editor.command(&session, "/context").await, "```\nnothing was sent yet\n```");
            assert_eq!(editor.command(&session, "/rewind").await, "```\nnothing was said yet\n```");

            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::EndTurn);
            let context = editor.command(&session, "/context").await;
            assert!(context.contains("tokens (") && context.contains("s system"), "{context}");
            let cost = editor.command(&session, "/cost").await;
            assert!(cost.contains("2 requests: ") && cost.contains(" so far"), "{cost}");
            let help = editor.command(&session, "/help").await;
            assert!(help.contains("/rewind [N] [--keep-files]") && !help.contains("/quit"), "{help}");
            assert!(editor.command(&session, "/continue").await.contains("nothing to go on with"));
            assert!(editor.command(&session, "/servers").await.contains("no servers"));
            let points = editor.command(&session, "/rewind").await;
            let said = points.lines().find(|line| line.contains("said") && line.contains("Put the greeting right"));
            let to = said.unwrap_or_else(|| panic!("{points}")).split_whitespace().next().unwrap();
            let went = editor.command(&session, &format!("/rewind {to}")).await;
            assert!(went.contains("put back a.txt"), "{went}");
            assert!(!scene.file("a.txt").exists());
            let refused = editor.say(&session, "/rewind 9999").await.unwrap_err();
            assert_eq!(refused.code.value(), -32602, "{refused:?}");
            assert!(refused.message.contains("record 9999 is no point"), "{refused:?}");
        })
        .await;
    assert_eq!(scene.turns().len(), 2);
    assert!(!scene.turns().iter().any(|turn| turn.holds("/context")));
}

#[tokio::test]
async fn a_compaction_says_what_it_did() {
    let scene = Scene::start(script()).await;
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::EndTurn);
            let said = editor.command(&session, "/compact").await;
            assert!(said.contains(" tokens became ") || said.contains("nothing was changed: "), "{said}");
            assert_eq!(editor.say(&session, "Go on.").await.unwrap(), StopReason::EndTurn);
        })
        .await;
    assert!(scene.turns().last().unwrap().holds(ASKED), "a person's words are never summarised away");
}

#[tokio::test]
async fn a_fork_is_a_session_of_its_own_that_the_editor_finds_in_its_list() {
    let scene = Scene::start(script()).await;
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::EndTurn);
            let said = editor.command(&session, "/fork").await;
            let forked = said.split_whitespace().find(|word| word.starts_with("sess_")).unwrap().to_owned();
            assert_ne!(*forked, *session.0);
            let listed = editor.connection.send_request(ListSessionsRequest::new()).block_task().await.unwrap();
            let ids: Vec<&str> = listed.sessions.iter().map(|listed| &*listed.session_id.0).collect();
            assert!(ids.contains(&&*forked) && ids.contains(&&*session.0), "{listed:?}");
            let forked = agent_client_protocol::v1::schema::SessionId::new(forked);
            editor.load(&scene, &forked).await.unwrap();
            assert_eq!(editor.said(&forked), "Written.");
            assert_eq!(editor.say(&forked, "In the fork.").await.unwrap(), StopReason::EndTurn);
            assert_eq!(editor.say(&session, "In the first.").await.unwrap(), StopReason::EndTurn);
        })
        .await;
    let turns = scene.turns();
    assert!(turns[2].holds("In the fork.") && turns[2].holds(ASKED));
    assert!(turns[3].holds("In the first.") && !turns[3].holds("In the fork."));
}

#[tokio::test]
async fn another_model_answers_by_command_and_by_option() {
    let scene = Scene::start(script()).await;
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let opened = editor.connection.send_request(NewSessionRequest::new(scene.file("")));
            let opened = opened.block_task().await.unwrap();
            let session = opened.session_id;
            let options = serde_json::to_value(opened.config_options.unwrap()).unwrap();
            let first = options[1]["currentValue"].as_str().unwrap().to_owned();
            assert_eq!(options[1]["id"], "model", "{options}");
            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::EndTurn);
            let said = editor.command(&session, "/model claude-other-1").await;
            assert!(said.contains("claude-other-1 answers from here on"), "{said}");
            assert_eq!(editor.say(&session, "And now?").await.unwrap(), StopReason::EndTurn);
            let request = SetSessionConfigOptionRequest::new(session.clone(), "model", &*first);
            editor.connection.send_request(request).block_task().await.unwrap();
            assert!(editor.command(&session, "/model").await.contains(&format!("{first} answers")));
            assert_eq!(editor.say(&session, "And then?").await.unwrap(), StopReason::EndTurn);
        })
        .await;
    let models: Vec<String> =
        scene.turns().iter().map(|turn| turn.body["model"].as_str().unwrap().to_owned()).collect();
    assert_eq!((models[2].as_str(), &models[3]), ("claude-other-1", &models[0]));
}

#[tokio::test]
async fn a_compaction_can_be_cancelled_and_changes_nothing_then() {
    const TIMES: usize = 12;
    let stalled = Step::failing(Fault::StallAfter { bytes: 0 });
    let long = Step::text(&format!("Here. {}", "And this answer is long. ".repeat(160)));
    let script = Script::new(std::iter::repeat_n(long, TIMES + 1)).aside("Write the summary", stalled);
    let scene = Scene::start(script).await.set("agent.context_budget=24000").set("agent.max_output_tokens=2000");
    let scene = scene.set("agent.summary_reserve=1000");
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            for time in 0..TIMES {
                let words = format!("{ASKED} {time}");
                assert_eq!(editor.say(&session, &words).await.unwrap(), StopReason::EndTurn);
            }
            let (asking, of) = (editor.clone(), session.clone());
            let turn = tokio::spawn(async move { asking.say(&of, "/compact").await });
            until("the summary is asked for", || scene.model.requests().len() > TIMES).await;
            editor.cancel(&session);
            assert_eq!(turn.await.unwrap().unwrap(), StopReason::Cancelled);
            assert_eq!(editor.say(&session, "Go on.").await.unwrap(), StopReason::EndTurn);
        })
        .await;
    let last = scene.turns().pop().unwrap();
    assert_eq!(last.shows_times("Here. And this answer"), TIMES, "{}", last.shape());
}

#[tokio::test]
async fn what_only_looks_like_a_command_is_for_the_model() {
    let scene = Scene::start(Script::new([Step::failing(Fault::status(500)), Step::text("I see.")])).await;
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let session = editor.begin(&scene).await;
            assert_eq!(editor.say(&session, "/etc/hosts is wrong").await.unwrap(), StopReason::EndTurn);
        })
        .await;
    assert!(scene.turns()[0].holds("/etc/hosts is wrong"));
}
