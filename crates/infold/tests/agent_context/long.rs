//! A long session in a small window.

use infold_testkit::model::{Script, Step};
use serde_json::{Value, json};

use super::scene::{AgentScene, ExecRun, lines};

/// Turns of each run.
const RUN_TURNS: u64 = 30;
/// Bytes that tools print in ten runs.
const PRINTED_BYTES: u64 = 5_000_000;

/// Lines of a file that is read, of about 6 KB.
const NOTES_LINES: u64 = 110;
/// Bytes of a file that is shown whole as long as there is room.
const WHOLE_BYTES: u64 = 25_000;

/// What each run is asked, in words that nobody else says.
fn asked(run: u64) -> String {
    format!("Part {run}: go on with the migration, and keep the name quokka-{run} for its table.")
}

/// The call of a turn: one prints much, the next reads a file, the third writes one.
fn printing(turn: u64) -> (&'static str, Value) {
    match turn % 3 {
        0 => ("shell", json!({ "command": format!("sh build.sh {}", turn % 20) })),
        1 => ("read", json!({ "path": format!("notes_{turn:03}.txt") })),
        _ => writing(turn),
    }
}

/// The call of a turn: two look at a whole file, each in its way, and the third writes one.
fn whole_files(turn: u64) -> (&'static str, Value) {
    match turn % 3 {
        0 => ("shell", json!({ "command": format!("cat whole_{}.txt", turn % 20) })),
        1 => ("read", json!({ "path": format!("whole_{}.txt", turn % 20) })),
        _ => writing(turn),
    }
}

fn writing(turn: u64) -> (&'static str, Value) {
    let content = format!("migration {turn}\n{}", lines(turn, 20));
    ("write", json!({ "path": format!("migrations/step_{turn:03}.sql"), "content": content }))
}

fn script(runs: u64, call: fn(u64) -> (&'static str, Value)) -> Script {
    let steps = (0..runs * RUN_TURNS).map(move |turn| {
        if turn % RUN_TURNS == RUN_TURNS - 1 {
            return Step::text(&format!("Part {} is done.", turn / RUN_TURNS));
        }
        Step::calling(&format!("Turn {turn}."), [call(turn)])
    });
    Script::new(steps)
}

async fn play(script: Script, runs: u64) -> (AgentScene, Vec<ExecRun>) {
    let scene = AgentScene::start(script, &["agent.turns_max=0"]).await;
    std::fs::create_dir(scene.path("migrations")).unwrap();
    (0..runs * RUN_TURNS).for_each(|turn| scene.write(&format!("notes_{turn:03}.txt"), &lines(turn, NOTES_LINES)));
    let line_bytes = lines(1, 1_000).len() as u64 / 1_000;
    let printed_lines = PRINTED_BYTES / 100 / line_bytes - NOTES_LINES;
    (0..20).for_each(|file| scene.write(&format!("printed_{file}.txt"), &lines(file + 1, printed_lines)));
    (0..20).for_each(|file| scene.write(&format!("whole_{file}.txt"), &lines(file + 1, WHOLE_BYTES / line_bytes)));
    scene.write("build.sh", "cat printed_$1.txt\n");
    let mut ended = Vec::new();
    for run in 0..runs {
        let words = asked(run);
        let mut arguments = vec!["--approval", "all", words.as_str()];
        if run > 0 {
            arguments.push("--continue");
        }
        ended.push(scene.exec(&arguments).await.done());
    }
    (scene, ended)
}

/// Plays a session in a window of 100k, of which nothing may be lost.
async fn plays_within_100k(runs: u64, call: fn(u64) -> (&'static str, Value)) -> AgentScene {
    let count = runs * RUN_TURNS;
    let (scene, ended) = play(script(runs, call).window_tokens(100_000), runs).await;

    let turns = scene.turns();
    assert_eq!(turns.len() as u64, count, "no request was refused or repeated");
    assert!(turns.iter().all(|turn| turn.status == 200));
    let compactions: usize = ended.iter().map(|run| run.of("compacted").len()).sum();
    let cached = scene.model.totals();
    let all = cached.read_tokens + cached.write_5m_tokens + cached.write_1h_tokens + cached.fresh_tokens;
    println!(
        "{count} turns: {compactions} compactions, {} of {all} input tokens read from the cache",
        cached.read_tokens
    );
    assert!(compactions > 0, "the window is too small for all of it");
    assert!(compactions as u64 <= count / 30, "{compactions} compactions in {count} turns");
    let last = scene.last_turn();
    for run in 0..runs {
        assert!(last.holds(&asked(run)), "the words of part {run} are gone");
    }
    for turn in (0..count).filter(|turn| turn % 3 == 2 && turn % RUN_TURNS != RUN_TURNS - 1) {
        let file = format!("migrations/step_{turn:03}.sql");
        assert!(last.holds(&file), "{file} is not named any more");
    }
    scene
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_8_three_hundred_turns_with_five_megabytes_fit_a_window_of_100k_and_nothing_said_or_changed_is_lost() {
    plays_within_100k(10, printing).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_8_whole_files_at_the_same_rate_fit_it_too_and_the_first_of_them_are_shown_whole() {
    // Ten runs have 7 compactions, and each run takes as long as the others.
    let scene = plays_within_100k(4, whole_files).await;

    let turns = scene.turns();
    let last_line = lines(1, 1_000).lines().nth(WHOLE_BYTES as usize / 60).unwrap().to_owned();
    assert!(turns[1].holds(&last_line), "there is room for whole files at the beginning");
    let hint = "`read` with offset and limit shows it in parts";
    assert!(turns.iter().any(|turn| turn.holds(hint)), "what is not shown whole can be read in parts");
}
