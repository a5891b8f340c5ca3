//! Compaction in the hard cases: each ends with a way on, or with a clear reason.

use infold_testkit::model::{Fault, Script, Step};
use serde_json::json;

use super::scene::{AgentScene, lines};
use crate::agent::images::{files, sized};

/// A window that holds a few files.
const SMALL: [&str; 5] = [
    "agent.compaction_turns=0",
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
async fn enh_7_a_summarys_words_are_beside_what_is_always_kept() {
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
async fn enh_7_compactions_that_free_too_little_are_given_up_and_the_person_learns_why() {
    let scene = AgentScene::start(reading(16), &SMALL).await;
    // The instructions take so much that no compaction gets below its target.
    scene.write("AGENTS.md", &lines(1, 400));
    (0..16).for_each(|file| scene.write(&format!("file_{file}.txt"), &lines(file, 150)));

    let run = scene.exec(&["look at all files"]).await;

    assert_eq!(run.code, 8, "{:?}\n{:?}", run.of("compacted"), run.of("warning"));
    assert_eq!(run.of("compacted").len(), 3, "{:?}", run.of("compacted"));
    let problem = run.of("finished")[0]["problem"].to_string();
    assert!(problem.contains("no more compactions: 3 in a row freed too little"), "{problem}");
    assert!(scene.turns().iter().all(|turn| turn.status == 200), "nothing was sent that does not fit");
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_7_what_a_person_pins_stays_word_for_word_where_other_words_are_shortened() {
    let settings = [&SMALL[..], &["agent.words_chars_max=1000"]].concat();
    let scene = AgentScene::start(reading(20).then([Step::text("Still there.")]), &settings).await;
    (0..20).for_each(|file| scene.write(&format!("file_{file}.txt"), &lines(file, 150)));
    let [said, pinned] =
        ["said", "pinned"].map(|how| format!("{} ({how} to the last word)", "Mind the order. ".repeat(100)));

    let run = scene.exec(&["--pin", &pinned, "--pin", "the port is 4711", &said]).await.done();

    assert!(run.of("compacted").len() > 1, "{:?}", run.of("compacted"));
    let last = scene.last_turn();
    assert!(last.holds(&pinned) && last.holds("the port is 4711"), "{}", last.body);
    assert!(!last.holds(&said) && last.holds("pinned items follow below, word for word"), "{}", last.body);
    scene.exec(&["--resume", &run.session(), "And now?"]).await.done();
    assert!(scene.last_turn().holds(&pinned));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_of_a_person_stays_through_compactions_and_one_beyond_the_bound_is_named() {
    let settings = [&SMALL[..], &["agent.images_bytes_max=12000"]].concat();
    let scene = AgentScene::start(reading(20).then([Step::text("Still there.")]), &settings).await;
    (0..20).for_each(|file| scene.write(&format!("file_{file}.txt"), &lines(file, 150)));
    let (old, new) = (sized((300, 200), 1, 5_500), sized((300, 200), 2, 4_000));
    std::fs::write(scene.path("old.png"), &old).unwrap();
    std::fs::write(scene.path("new.png"), &new).unwrap();

    let run = scene.exec(&["--image", "old.png", "--image", "new.png", "look at all files"]).await.done();

    assert!(run.of("compacted").len() > 1, "{:?}", run.of("compacted"));
    assert_eq!(files(&scene.turns()[0]), [old, new.clone()]);
    let last = scene.last_turn();
    assert_eq!(files(&last), std::slice::from_ref(&new), "half of the bound is kept, the newest first");
    assert!(last.holds("no room for them: old.png, 300×200, 6 KB"), "{}", last.shape());
    assert!(last.holds("[image 1: old.png, 300×200, 6 KB]"), "the words are kept: {}", last.shape());
    scene.exec(&["--resume", &run.session(), "And now?"]).await.done();
    assert_eq!(files(&scene.last_turn()), [new]);
}
