//! A long session in a small window.

use infold_testkit::model::{Script, Step};
use serde_json::{Value, json};

use super::scene::{AgentScene, ExecRun, lines};

const TURNS: u64 = 300;
const RUNS: u64 = 10;
/// Bytes that tools print in all.
const PRINTED_BYTES: u64 = 5_000_000;

/// Lines of a file that is read, of about 6 KB.
const NOTES_LINES: u64 = 110;

/// What each run is asked, in words that nobody else says.
fn asked(run: u64) -> String {
    format!("Part {run}: go on with the migration, and keep the name quokka-{run} for its table.")
}

/// The call of a turn: one prints much, the next reads a file, the third writes one.
fn call(turn: u64) -> (&'static str, Value) {
    match turn % 3 {
        0 => ("shell", json!({ "command": format!("sh build.sh {}", turn % 20) })),
        1 => ("read", json!({ "path": format!("notes_{turn:03}.txt") })),
        _ => {
            let content = format!("migration {turn}\n{}", lines(turn, 20));
            ("write", json!({ "path": format!("migrations/step_{turn:03}.sql"), "content": content }))
        }
    }
}

fn script() -> Script {
    let per_run = TURNS / RUNS;
    let steps = (0..TURNS).map(move |turn| {
        if turn % per_run == per_run - 1 {
            return Step::text(&format!("Part {} is done.", turn / per_run));
        }
        Step::calling(&format!("Turn {turn}."), [call(turn)])
    });
    Script::new(steps)
}

async fn play(script: Script, settings: &[&str]) -> (AgentScene, Vec<ExecRun>) {
    let scene = AgentScene::start(script, settings).await;
    std::fs::create_dir(scene.path("migrations")).unwrap();
    (0..TURNS).for_each(|turn| scene.write(&format!("notes_{turn:03}.txt"), &lines(turn, NOTES_LINES)));
    let line_bytes = lines(1, 1_000).len() as u64 / 1_000;
    let printed_lines = PRINTED_BYTES / (TURNS / 3) / line_bytes - NOTES_LINES;
    (0..20).for_each(|file| scene.write(&format!("printed_{file}.txt"), &lines(file + 1, printed_lines)));
    scene.write("build.sh", "cat printed_$1.txt\n");
    let mut runs = Vec::new();
    for run in 0..RUNS {
        let words = asked(run);
        let mut arguments = vec!["--approval", "all", words.as_str()];
        if run > 0 {
            arguments.push("--continue");
        }
        runs.push(scene.exec(&arguments).await.done());
    }
    (scene, runs)
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_8_three_hundred_turns_with_five_megabytes_fit_a_window_of_100k_and_nothing_said_or_changed_is_lost() {
    let (scene, runs) = play(script().window_tokens(100_000), &["agent.turns_max=0"]).await;

    let turns = scene.turns();
    assert_eq!(turns.len() as u64, TURNS, "no request was refused or repeated");
    assert!(turns.iter().all(|turn| turn.status == 200));
    let compactions: usize = runs.iter().map(|run| run.of("compacted").len()).sum();
    assert!(compactions > 0, "the window is too small for all of it");
    assert!(compactions as u64 <= TURNS / 30, "{compactions} compactions in {TURNS} turns");
    let last = scene.last_turn();
    for run in 0..RUNS {
        assert!(last.holds(&asked(run)), "the words of part {run} are gone");
    }
    for turn in (0..TURNS).filter(|turn| turn % 3 == 2 && turn % 30 != 29) {
        let file = format!("migrations/step_{turn:03}.sql");
        assert!(last.holds(&file), "{file} is not named any more");
    }
    let cached = scene.model.totals();
    let all = cached.read_tokens + cached.write_5m_tokens + cached.write_1h_tokens + cached.fresh_tokens;
    println!("300 turns: {compactions} compactions, {} of {all} input tokens read from the cache", cached.read_tokens);
}
