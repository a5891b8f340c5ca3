//! What fails beside the model: the run goes on without it, and that is said once.

use infold_testkit::model::{Script, Step};
use serde_json::json;

use super::scene::{ASKED, Scene, calls, result_of};
use crate::support::Database;

/// A database in which nothing can be put into a table.
fn break_table(scene: &Scene, table: &str) {
    scene.in_database(&format!(
        "CREATE TRIGGER broken BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'this table is broken'); END"
    ));
}

/// A scene whose database is there already.
async fn with_database(script: Script) -> Scene {
    let scene = Scene::start(script).await;
    let made = scene.run(&["memory", "add", "--title", "Nothing", "nothing to do with it"]).await;
    assert_eq!(made.code, 0, "{made:?}");
    scene
}

#[tokio::test]
async fn enh_8_where_results_cannot_be_stored_they_stay_in_the_conversation() {
    let command = "for n in $(seq 1 3000); do echo line $n; done";
    let long = || calls(vec![("shell", json!({"command": command}))]);
    let scene = with_database(Script::new([long(), long(), Step::text("Read.")])).await;
    break_table(&scene, "tool_result_blobs");
    let ran = scene.exec(&["--approval", "all", ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "Read.");
    let shown = result_of(&scene.turns()[1], "shell");
    assert!(shown.contains("line 1\n") && shown.contains("line 1500\n") && shown.contains("line 3000"), "{shown:.300}");
    let said: Vec<String> = ran.warnings().into_iter().filter(|warning| warning.contains("offloaded")).collect();
    assert_eq!(said.len(), 1, "{:?}", ran.warnings());
}

#[tokio::test]
async fn enh_8_where_no_snapshot_can_be_saved_a_resume_reads_the_whole_log() {
    let reads = (0..16).map(|number| calls(vec![("read", json!({"path": format!("part-{number}.txt")}))]));
    let script = Script::new(reads).then([Step::text("All read."), Step::text("Back again.")]);
    let scene = with_database(script).await.set("agent.compaction_turns=0");
    let scene =
        scene.set("agent.context_budget=24000").set("agent.max_output_tokens=1000").set("agent.summary_reserve=2000");
    for number in 0..16 {
        scene
            .write(&format!("part-{number}.txt"), &format!("part {number} of a long story that goes on\n").repeat(130));
    }
    break_table(&scene, "session_snapshots");
    let ran = scene.exec(&[ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "All read.");
    assert!(!ran.of_kind("compacted").is_empty());
    let said: Vec<String> = ran.warnings().into_iter().filter(|warning| warning.contains("no snapshot")).collect();
    assert_eq!(said.len(), 1, "{:?}", ran.warnings());
    let database = Database::look(&scene.data()).unwrap();
    assert_eq!(database.number("SELECT count(*) FROM session_snapshots").unwrap(), 0);
    let again = scene.exec(&["--resume", &ran.session(), "Still there?"]).await;
    assert_eq!(again.finished(0)["answer"], "Back again.");
    let turns = scene.turns();
    let last = turns.last().unwrap();
    assert!(last.holds("Still there?") && last.holds("part 15 of a long story"), "{}", last.shape());
    assert!(!last.holds("part 0 of a long story that goes on\npart 0"), "the compaction counts: {}", last.shape());
}

#[tokio::test]
async fn enh_8_a_snapshot_that_cannot_be_read_is_passed_over() {
    let script = Script::new([Step::text("One."), Step::text("Two.")]);
    let scene = Scene::start(script).await;
    let ran = scene.exec(&[ASKED]).await;
    ran.finished(0);
    scene.in_database(
        "INSERT INTO session_snapshots (session_id, messages, token_count, created_at)
         SELECT DISTINCT session_id, '[{\"through\": 1, \"nonsense\": true}]', 1, 1 FROM agent_log",
    );
    let again = scene.exec(&["--resume", &ran.session(), "Still there?"]).await;
    assert_eq!(again.finished(0)["answer"], "Two.");
    assert!(scene.turns()[1].holds("One.") && scene.turns()[1].holds(ASKED));
}

#[tokio::test]
async fn enh_5_a_server_that_cannot_be_started_does_not_stop_the_run() {
    let scene = Scene::start(Script::new([Step::text("Without it, then.")])).await;
    let config = scene.home().join(".config/infold");
    std::fs::create_dir_all(&config).unwrap();
    let server = "[[gateway.servers]]\nname = \"gone\"\ncommand = \"/nowhere/at/all\"\n";
    std::fs::write(config.join("settings.toml"), server).unwrap();
    let ran = scene.exec(&[ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "Without it, then.");
}

#[tokio::test]
async fn without_a_usage_of_the_provider_s_the_run_goes_on() {
    let script = Script::new([calls(vec![("list", json!({}))]), Step::text("Done.")]).without_usage();
    let scene = Scene::start(script).await;
    let ran = scene.exec(&[ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "Done.");
}
