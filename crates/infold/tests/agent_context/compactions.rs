//! Compaction in the hard cases: each ends with a way on, or with a clear reason.

use infold_testkit::model::{Fault, Script, Step};
use serde_json::{Value, json};

use super::scene::{AgentScene, lines};

/// A window that holds a few files.
const SMALL: [&str; 4] = [
    "agent.context_budget=20000",
    "agent.max_output_tokens=1000",
    "agent.summary_reserve=1000",
    "agent.attempts_max=1",
];

/// Words that only a question for a summary has.
const SUMMARY_ASKED: &str = "to be replaced by a summary";

fn reading(files: u64) -> Script {
    let step = |file: u64| Step::calling("Looking.", [("read", json!({ "path": format!("file_{file}.txt") }))]);
    Script::new((0..files).map(step).chain([Step::text("Done.")]))
}

async fn read_all(script: Script, files: u64, settings: &[&str]) -> (AgentScene, super::scene::ExecRun) {
    let scene = AgentScene::start(script, settings).await;
    (0..files).for_each(|file| scene.write(&format!("file_{file}.txt"), &lines(file, 150)));
    let run = scene.exec(&["look at all files, and remember the word quokka"]).await;
    (scene, run)
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_7_a_summarys_model_that_fails_leaves_the_mechanical_summary_and_the_run_goes_on() {
    let script = reading(12).aside(SUMMARY_ASKED, Step::failing(Fault::Status { status: 500, retry_after_s: None }));

    let (scene, run) = read_all(script, 12, &SMALL).await;

    let run = run.done();
    assert!(!run.of("compacted").is_empty());
    assert!(run.of("warning").iter().any(|warning| warning["message"].to_string().contains("without a model")));
    let last = scene.last_turn();
    assert!(last.holds("remember the word quokka") && last.holds("file_0.txt"), "{}", last.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_7_a_summarys_model_that_writes_too_much_is_not_listened_to() {
    let script = reading(12).aside(SUMMARY_ASKED, Step::text(&"blah ".repeat(20_000)));

    let (scene, run) = read_all(script, 12, &SMALL).await;

    run.done();
    assert!(scene.turns().iter().all(|turn| !turn.holds("blah blah")));
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_7_a_summarys_words_stand_beside_what_is_always_kept() {
    let script = reading(12).aside(SUMMARY_ASKED, Step::text("The files are all about queues."));

    let (scene, run) = read_all(script, 12, &SMALL).await;

    run.done();
    let last = scene.last_turn();
    assert!(last.holds("The files are all about queues."), "{}", last.body);
    assert!(last.holds("remember the word quokka"));
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_3_instructions_that_fill_the_window_end_the_run_with_what_cannot_shrink() {
    let scene = AgentScene::start(reading(3), &SMALL).await;
    scene.write("AGENTS.md", &lines(1, 1_200));

    let run = scene.exec(&["look"]).await;

    assert_eq!(run.code, 8, "{:?}", run.events);
    let problem = run.of("finished")[0]["problem"].to_string();
    assert!(problem.contains("the system prompt") && problem.contains("larger"), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_2_one_huge_result_becomes_a_reference_and_is_read_back() {
    let steps = [
        Step::calling("Printing.", [("shell", json!({ "command": "cat big.txt" }))]),
        Step::seeing(|received| {
            let text = received.body.to_string();
            let handle = text.split("ref_id=\\\"").nth(1).and_then(|rest| rest.split('\\').next()).unwrap_or_default();
            let call = json!({ "ref_id": handle, "pattern": "needle-4711" });
            infold_testkit::model::Decision::Say(Step::calling("Searching.", [("read_result", call)]))
        }),
        Step::text("Found."),
    ];
    let scene = AgentScene::start(Script::new(steps), &SMALL).await;
    let big = format!("{}the needle-4711 is here\n{}", lines(1, 30_000), lines(2, 30_000));
    scene.write("big.txt", &big);

    let run = scene.exec(&["--approval", "all", "look for the needle"]).await.done();

    let results = run.of("result");
    let shown = results[0]["text"].as_str().unwrap();
    assert!(shown.starts_with("[Tool result stored"), "{shown}");
    assert!(shown.len() < 12_000, "{}", shown.len());
    assert!(results[1]["text"].as_str().unwrap().contains("the needle-4711 is here"), "{:?}", results[1]);
    scene.turns();
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_7_compact_context_answers_with_the_figures_and_the_next_request_is_shorter() {
    let steps = (0..4)
        .map(|file| Step::calling("Looking.", [("read", json!({ "path": format!("file_{file}.txt") }))]))
        .chain([Step::calling("Making room.", [("compact_context", json!({}))]), Step::text("Done.")]);
    let scene = AgentScene::start(Script::new(steps), &["agent.compact_target=0.05"]).await;
    (0..4).for_each(|file| scene.write(&format!("file_{file}.txt"), &lines(file, 300)));

    let run = scene.exec(&["look, and remember the word quokka"]).await.done();

    let turns = scene.turns();
    let (before, after) = (&turns[turns.len() - 2], &turns[turns.len() - 1]);
    assert!(after.bytes.len() * 2 < before.bytes.len(), "{} {}", before.bytes.len(), after.bytes.len());
    let compacted = run.of("compacted")[0];
    let answer = figures(&after.body);
    for field in ["before_tokens", "after_tokens", "before_msg_count", "after_msg_count", "strategies_run"] {
        assert_eq!(answer[field], compacted[field], "{field}");
        assert!(!answer[field].is_null(), "{field}");
    }
    assert!(after.holds("remember the word quokka"));
}

/// The answer to `compact_context` in a request.
fn figures(body: &Value) -> Value {
    let blocks =
        body["messages"].as_array().unwrap().iter().filter_map(|message| message["content"].as_array()).flatten();
    let mut results = blocks.filter(|block| block["type"] == "tool_result").map(|block| block["content"].to_string());
    let text = results.rfind(|text| text.contains("strategies_run")).unwrap();
    let content: Value = serde_json::from_str(&text).unwrap();
    let text = content.as_str().map_or_else(|| content[0]["text"].as_str().unwrap().to_owned(), str::to_owned);
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_7_with_nothing_to_free_compact_context_says_so_and_changes_nothing() {
    let steps = [Step::calling("Making room.", [("compact_context", json!({}))]), Step::text("Done.")];
    let scene = AgentScene::start(Script::new(steps), &[]).await;

    let run = scene.exec(&["hello"]).await.done();

    assert!(run.of("compacted").is_empty());
    let result = run.of("result")[0];
    assert!(result["is_error"] == true && result["text"].to_string().contains("did not shrink"), "{result}");
    assert!(scene.turns().len() == 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_7_the_model_is_told_how_full_its_window_is_at_the_end_and_the_note_stays() {
    let scene = AgentScene::start(reading(18), &SMALL).await;
    (0..18).for_each(|file| scene.write(&format!("file_{file}.txt"), &lines(file, 40)));

    scene.exec(&["look"]).await.done();

    let turns = scene.turns();
    let noted: Vec<usize> =
        turns.iter().enumerate().filter(|(_, turn)| turn.holds("[Context: 8")).map(|(at, _)| at).collect();
    assert!(!noted.is_empty(), "{}", turns.last().unwrap().body);
    let first = noted[0];
    assert_eq!(noted[..2], [first, first + 1], "what was said stays");
    let last = turns[first].body["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(last.contains("[Context: 8"), "it is at the end: {last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_3_a_provider_that_says_too_long_is_answered_with_a_shorter_request() {
    let script = reading(8).window_tokens(14_000);

    let (scene, run) = read_all(script, 8, &["agent.context_budget=40000", "agent.max_output_tokens=1000"]).await;

    let run = run.done();
    assert!(!run.of("compacted").is_empty());
    assert!(scene.model.requests().iter().any(|request| request.status == 400), "the window was never reached");
}
