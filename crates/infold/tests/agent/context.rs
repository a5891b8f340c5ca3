//! The context of a long session: results that are offloaded, compaction when the window fills, and the way back to it.

use infold_testkit::model::{Decision, Received, Script, Step};
use serde_json::{Value, json};

use super::scene::{ASKED, Ran, Scene, calls, result_of};
use crate::support::Database;

/// The handle in a reference.
fn handle(text: &str) -> String {
    let rest = text.split_once("ref_id=\"").unwrap_or_else(|| panic!("no handle in {text}")).1;
    rest.split_once('"').unwrap().0.to_owned()
}

#[tokio::test]
async fn enh_2_a_long_result_is_stored_and_read_back_by_its_handle() {
    let reading = Step::seeing(|received| {
        let ref_id = handle(&result_of(received, "shell"));
        Decision::Say(calls(vec![
            ("read_result", json!({"ref_id": ref_id, "pattern": "needle"})),
            ("read_result", json!({"ref_id": ref_id, "first_line": 2, "last_line": 3})),
            ("read_result", json!({"ref_id": ref_id, "offset": 0, "limit": 50})),
            ("read_result", json!({"pattern": "needle"})),
        ]))
    });
    let command = "for n in $(seq 1 4000); do echo line $n; done; echo the needle";
    let script = Script::new([calls(vec![("shell", json!({"command": command}))]), reading, Step::text("Found.")]);
    let scene = Scene::start(script).await;
    let ran = scene.exec(&["--approval", "all", ASKED]).await;
    ran.finished(0);
    let turns = scene.turns();
    let reference = result_of(&turns[1], "shell");
    assert!(reference.len() < 8_000 && reference.contains("read_result"), "{reference}");
    assert!(!turns[2].holds("line 2000\nline 2001"), "{}", turns[2].shape());
    let results = ran.of_kind("result");
    let text = |number: usize| results[number]["text"].as_str().unwrap();
    assert!(results.iter().all(|result| result["is_error"] == false), "{results:?}");
    assert!(text(1).contains("the needle") && text(4).contains("the needle"), "{results:?}");
    assert!(text(2).contains("line 2\n") && text(2).contains("line 3") && !text(2).contains("line 4\n"), "{}", text(2));
    assert!(text(3).starts_with("line 1\nline 2"), "{}", text(3));
}

/// A session that reads one file after another, until its window has been full at least once.
fn reading_on(files: usize) -> Script {
    let steps = (0..files).map(|number| calls(vec![("read", json!({"path": format!("part-{number}.txt")}))]));
    Script::new(steps).then([Step::text("All read.")])
}

async fn small_window(files: usize, script: Script) -> Scene {
    let window_tokens = script.window_tokens.unwrap_or(40_000);
    let scene = Scene::start(script.window_tokens(window_tokens)).await;
    // Whole files fill the window, however few turns that takes.
    let scene = scene.set("agent.compaction_turns=0");
    let scene =
        scene.set("agent.context_budget=24000").set("agent.max_output_tokens=1000").set("agent.summary_reserve=2000");
    for number in 0..files {
        let line = format!("part {number} of the story, in words that are only here\n");
        scene.write(&format!("part-{number}.txt"), &line.repeat(120));
    }
    scene
}

/// How many requests the provider refused for their length.
fn refused(scene: &Scene) -> usize {
    scene.model.requests().iter().filter(|request| request.status != 200).count()
}

fn compactions(ran: &Ran) -> Vec<Value> {
    ran.of_kind("compacted")
}

#[tokio::test]
async fn enh_3_a_thread_is_compacted_before_its_window_is_full() {
    let scene = small_window(16, reading_on(16)).await;
    let ran = scene.exec(&[ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "All read.");
    let compactions = compactions(&ran);
    assert!(!compactions.is_empty(), "{:?}", ran.warnings());
    for done in &compactions {
        let [before, after] = ["before_tokens", "after_tokens"].map(|name| done[name].as_u64().unwrap());
        assert!(after < before && before < 23_000, "{done}");
        assert!(done["receipt"].as_str().unwrap().len() > 20, "{done}");
    }
    assert_eq!(refused(&scene), 0);
    let last = scene.model.turns().pop().unwrap();
    assert!(last.holds(ASKED), "a person's words stay: {}", last.shape());
    assert!(last.holds("part 15 of the story"), "what was read last stays: {}", last.shape());
    assert!(!last.holds("part 0 of the story, in words that are only here\npart 0"), "{}", last.shape());
    assert_eq!(scene.model.broken(), Vec::<String>::new());
}

#[tokio::test]
async fn enh_1_the_instructions_and_the_tools_count_towards_the_window() {
    let compacted = async |rules: &str| {
        let scene = small_window(7, reading_on(7)).await;
        scene.write("AGENTS.md", rules);
        let ran = scene.exec(&[ASKED]).await;
        ran.finished(0);
        compactions(&ran).len()
    };
    assert_eq!(compacted("Be brief.").await, 0);
    assert!(compacted(&"Each of these rules is as long as the others are.\n".repeat(900)).await > 0);
}

#[tokio::test]
async fn enh_3_a_provider_with_a_smaller_window_than_the_settings_say_is_served_by_compaction() {
    let scene = small_window(16, reading_on(16).window_tokens(9_000)).await;
    let scene = scene.set("agent.context_budget=60000");
    let ran = scene.exec(&[ASKED]).await;
    assert!(refused(&scene) > 0, "the provider has refused something");
    assert_eq!(ran.finished(0)["answer"], "All read.");
    assert!(!compactions(&ran).is_empty());
}

/// The messages of a request without cache marks.
fn messages(received: &Received) -> Vec<Value> {
    let text = received.body["messages"].to_string();
    let text = text
        .replace(r#""cache_control":{"type":"ephemeral"},"#, "")
        .replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn enh_6_a_session_is_resumed_from_its_snapshot_and_the_whole_log_leads_to_the_same() {
    let steps = [Step::text("From the snapshot."), Step::text("From the log.")];
    let scene = small_window(16, reading_on(16).then(steps)).await;
    let ran = scene.exec(&[ASKED]).await;
    ran.finished(0);
    assert!(!compactions(&ran).is_empty());
    let database = Database::look(&scene.data()).unwrap();
    assert_eq!(database.number("SELECT count(*) FROM session_snapshots").unwrap(), 1);
    let whole: usize = scene.log().iter().map(|record| record.to_string().len()).sum();

    let first = scene.exec(&["--resume", &ran.session(), "And now?"]).await;
    assert_eq!(first.finished(0)["answer"], "From the snapshot.");
    scene.in_database("DELETE FROM session_snapshots");
    let second = scene.exec(&["--resume", &ran.session(), "And then?"]).await;
    assert_eq!(second.finished(0)["answer"], "From the log.");

    let turns = scene.model.turns();
    let [from_snapshot, from_log] = [turns.len() - 2, turns.len() - 1].map(|at| messages(&turns[at]));
    assert!(from_snapshot.iter().map(|message| message.to_string().len()).sum::<usize>() < whole / 2);
    assert_eq!(from_snapshot[..], from_log[..from_snapshot.len()]);
    assert_eq!(scene.model.broken(), Vec::<String>::new());
}

#[tokio::test]
async fn enh_7_a_model_can_ask_for_a_compaction_and_gets_its_figures() {
    let reads = (0..6).map(|number| calls(vec![("read", json!({"path": format!("part-{number}.txt")}))]));
    let script =
        Script::new(reads).then([calls(vec![("compact_context", json!({}))]), Step::text("There is room now.")]);
    let scene = small_window(6, script).await;
    let ran = scene.exec(&[ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "There is room now.");
    let done = compactions(&ran);
    assert_eq!(done.len(), 1, "{:?}", ran.of_kind("result"));
    let last = scene.turns().pop().unwrap();
    let figures: Value = serde_json::from_str(&result_of(&last, "compact_context")).unwrap();
    for name in ["before_tokens", "after_tokens", "before_msg_count", "after_msg_count", "strategies_run"] {
        assert_eq!(figures[name], done[0][name], "{name}");
    }
}

#[tokio::test]
async fn enh_7_a_thread_with_nothing_to_compact_is_left_as_it_is() {
    let script = Script::new([calls(vec![("compact_context", json!({}))]), Step::text("Then not.")]);
    let scene = Scene::start(script).await;
    let ran = scene.exec(&[ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "Then not.");
    assert_eq!(ran.of_kind("result").len() + compactions(&ran).len(), 1, "{}", ran.stdout);
    scene.turns();
}

#[tokio::test]
async fn enh_7_a_model_learns_when_its_window_is_nearly_full_and_not_in_every_turn() {
    let scene = small_window(8, reading_on(8)).await.set("agent.context_note=0.3").set("agent.compact_trigger=1.0");
    let ran = scene.exec(&[ASKED]).await;
    ran.finished(0);
    let turns = scene.turns();
    assert!(!turns[0].holds("[Context: "), "{}", turns[0].shape());
    let last = turns.last().unwrap();
    let notes = last.shows_times("% used. You can call compact_context");
    assert!((2..7).contains(&notes), "{notes} notes: {}", last.shape());
}

#[tokio::test]
async fn enh_8_notes_survive_a_compaction() {
    let script = Script::new([calls(vec![("notes", json!({"text": "the story has a dragon in it"}))])]);
    let script = script.then(reading_on(16).steps);
    let scene = small_window(16, script).await;
    let ran = scene.exec(&[ASKED]).await;
    ran.finished(0);
    assert!(!compactions(&ran).is_empty());
    assert!(scene.turns().last().unwrap().holds("the story has a dragon in it"));
}
