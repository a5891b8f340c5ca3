//! A whole run: the agent reads, edits and runs a command, says its last word, and reports what it did.

use infold_testkit::model::{Received, Script, Step};
use serde_json::{Value, json};

use super::scene::{ASKED, Scene, calls, result_of};

fn reads_edits_and_runs() -> Script {
    Script::new([
        Step::calling("Let me look.", [("read", json!({"path": "greeting.txt"}))]),
        calls(vec![("edit", json!({"path": "greeting.txt", "old": "helo", "new": "hello"}))]),
        Step::calling("Now a look from outside.", [("shell", json!({"command": "cat greeting.txt && false"}))]),
        Step::text("The greeting is right."),
    ])
}

async fn scene() -> Scene {
    let scene = Scene::start(reads_edits_and_runs()).await;
    scene.write("greeting.txt", "helo, world\n");
    scene
}

#[tokio::test]
async fn enh_8_a_run_reads_edits_runs_a_command_and_reports_it_as_events() {
    let scene = scene().await;
    let ran = scene.exec(&["--approval", "all", ASKED]).await;

    let last = ran.finished(0);
    assert_eq!(ran.events()[0]["event"], "started", "{}", ran.stdout);
    assert_eq!(scene.text("greeting.txt"), "hello, world\n");
    assert_eq!(last["outcome"], "done");
    assert_eq!(last["answer"], "The greeting is right.");
    assert_eq!(last["files_changed"], json!(["greeting.txt"]));
    assert_eq!(last["commands"], json!([{"command": "cat greeting.txt && false", "exit": 1}]));
    assert_eq!(last["turns"], 4);
    assert_eq!(last["output_tokens"], 200);
    assert!(last["input_tokens"].as_u64() > Some(1_000), "{last}");
    assert!(last["cached_tokens"].as_u64() > Some(1_000), "{last}");
    assert!(last["cost_usd"].as_f64() > Some(0.0), "{last}");
    assert_eq!(last["session_id"], ran.session());
    assert_eq!(ran.of_kind("call").len(), 3);
    let results = ran.of_kind("result");
    let outcomes: Vec<&Value> = results.iter().map(|result| &result["is_error"]).collect();
    assert_eq!(outcomes, [false, false, true], "{results:?}");

    let turns = scene.turns();
    assert_eq!(turns.len(), 4);
    assert!(result_of(&turns[1], "read").contains("helo, world"));
    assert!(result_of(&turns[3], "shell").contains("hello, world"));
}

#[tokio::test]
async fn as_text_the_answer_alone_is_on_standard_output() {
    let scene = scene().await;
    let ran = scene.run(&["exec", "--approval", "all", ASKED]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stdout, "Let me look.\nNow a look from outside.\nThe greeting is right.\n");
    for part in ["read", "changed greeting.txt", "ran 1 commands, 1 failed", "4 turns", "go on: infold exec --resume"] {
        assert!(ran.stderr.contains(part), "{part} is missing in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("sk-ant-fake"), "{}", ran.stderr);
}

#[tokio::test]
async fn with_quiet_nothing_but_the_answer_is_printed() {
    let scene = scene().await;
    let ran = scene.run(&["exec", "--quiet", "--approval", "all", ASKED]).await;
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
}

/// The body without cache marks, and how far the last one reached.
fn up_to_the_last_mark(received: &Received) -> (String, usize) {
    const MARKS: [&str; 2] = [r#""cache_control":{"type":"ephemeral"},"#, r#","cache_control":{"type":"ephemeral"}"#];
    let text = String::from_utf8(received.bytes.clone()).unwrap();
    let last = text.rfind("\"cache_control\"").expect("a request has marks");
    let strip = |text: &str| MARKS.iter().fold(text.to_owned(), |text, mark| text.replace(mark, ""));
    let reach = strip(&text[..last]).len();
    (strip(&text), reach)
}

#[tokio::test]
async fn enh_4_nothing_in_front_of_the_last_breakpoint_changes_from_turn_to_turn() {
    let scene = scene().await;
    scene.write("AGENTS.md", "Be brief.");
    scene.exec(&["--approval", "all", ASKED]).await.finished(0);
    let turns = scene.turns();
    assert_eq!(turns.len(), 4);
    for pair in turns.windows(2) {
        let (before, reach) = up_to_the_last_mark(&pair[0]);
        let (after, _) = up_to_the_last_mark(&pair[1]);
        // The comma or brace in front of the mark is part of the block that carries it.
        let reach = reach.saturating_sub(1);
        assert_eq!(before[..reach], after[..reach]);
        for front in ["system", "tools", "model", "max_tokens"] {
            assert_eq!(pair[0].body[front], pair[1].body[front], "{front}");
        }
        assert!(pair[1].cache.read_tokens > 0, "{:?}", pair[1].cache);
    }
    let marked = |block: &&Value| !block["cache_control"].is_null();
    let system = turns[0].body["system"].as_array().unwrap();
    assert_eq!(
        system.iter().filter(marked).count(),
        2,
        "one behind the base, one behind the project's rules: {system:?}"
    );
    assert!(system[1]["text"].as_str().unwrap().contains("Be brief."));
}

#[tokio::test]
async fn enh_1_an_answer_s_tokens_are_asked_for_as_they_are_reserved() {
    let scene = scene().await.set("agent.max_output_tokens=1234");
    scene.exec(&["--approval", "all", ASKED]).await.finished(0);
    assert!(scene.turns().iter().all(|turn| turn.body["max_tokens"] == 1234));
}

#[tokio::test]
async fn a_session_goes_on_where_it_ended_and_keeps_its_prefix() {
    let script = reads_edits_and_runs().then([Step::text("It says hello.")]);
    let scene = Scene::start(script).await;
    scene.write("greeting.txt", "helo, world\n");
    let first = scene.exec(&["--approval", "all", ASKED]).await;
    first.finished(0);
    let second = scene.exec(&["--resume", &first.session()[..8], "What does it say now?"]).await;
    let last = second.finished(0);
    assert_eq!((last["answer"].as_str(), last["turns"].as_u64()), (Some("It says hello."), Some(1)));
    let turns = scene.turns();
    let (before, reach) = up_to_the_last_mark(&turns[3]);
    let (after, _) = up_to_the_last_mark(&turns[4]);
    assert_eq!(before[..reach - 1], after[..reach - 1]);
    assert!(turns[4].holds("The greeting is right.") && turns[4].holds("What does it say now?"));
    let latest = scene.exec(&["--continue", "And now?"]).await;
    assert_eq!(latest.finished(0)["session_id"], first.session());
}
