//! What branches keep out of the main thread: the scenes of the document on folding, on real files.

use std::path::Path;

use infold_core::{Counter, Family};
use infold_testkit::model::{Decision, Received, Script, Step};
use serde_json::{Value, json};

use super::scene::{AgentScene, lines};

/// Source files of infold's own core.
fn real_files() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../infold-core/src");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let texts = files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs"));
    texts.map(|file| std::fs::read_to_string(file).unwrap()).take(10).collect()
}

async fn with_real_files(script: Script) -> AgentScene {
    let scene = AgentScene::start(script, &[]).await;
    for (at, text) in real_files().iter().enumerate() {
        scene.write(&format!("source_{at}.rs"), text);
    }
    scene
}

fn reads() -> Vec<(&'static str, Value)> {
    (0..10).map(|at| ("read", json!({ "path": format!("source_{at}.rs") }))).collect()
}

/// Tokens of a conversation in a request.
fn tokens(request: &Received) -> u64 {
    Counter::new(Family::Claude).count(&request.body["messages"].to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn sc_001_ten_files_explored_in_a_branch_grow_the_main_thread_by_less_than_500_tokens() {
    let found = "The entry point is in source_3.rs; the others only define types.";
    let opening = json!({ "description": "find the entry point", "prompt": "Read all ten files.", "budget": 90_000 });
    let in_branch = Script::new([
        Step::calling("A branch for that.", [("branch_create", opening)]),
        Step::calling("Reading.", reads()),
        Step::calling("Found.", [("branch_return", json!({ "message": found }))]),
        Step::text("It is in source_3.rs."),
    ]);
    let scene = with_real_files(in_branch).await;
    let run = scene.exec(&["where is the entry point?"]).await.done();
    let turns = scene.turns();
    let growth = tokens(&turns[3]) - tokens(&turns[0]);
    let inline = with_real_files(Script::new([Step::calling("Reading.", reads()), Step::text("source_3.rs.")])).await;
    inline.exec(&["where is the entry point?"]).await.done();
    let inline_turns = inline.turns();
    let inline_growth = tokens(&inline_turns[1]) - tokens(&inline_turns[0]);

    assert!(growth < 500, "{growth}");
    assert!(growth * 10 < inline_growth, "{growth} of {inline_growth}");
    assert!(turns[3].holds(found) && !turns[3].holds("source_7.rs"), "{}", turns[3].body);
    assert!(!turns[1].holds("where is the entry point?"), "a branch does not see its parent");
    println!("SC-001: main grew by {growth} tokens with a branch, by {inline_growth} without");
    assert_eq!(run.of("branch_folded").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn sc_004_no_branch_uses_more_than_its_budget_and_its_parent_gets_what_it_had() {
    let opening = json!({ "description": "read everything", "budget": 3_000 });
    let script = Script::new([
        Step::calling("A branch.", [("branch_create", opening)]),
        Step::calling("I begin with the first.", [("read", json!({ "path": "source_0.rs" }))]),
        Step::calling("The next ones.", reads()[1..].to_vec()),
        Step::text("That was too much."),
    ]);
    let scene = with_real_files(script).await;

    let run = scene.exec(&["read"]).await.done();

    let folded = run.of("branch_folded")[0];
    assert!(folded["how"].to_string().contains("budget"), "{folded}");
    let shown = scene.json(&["show", &run.session()]).await;
    let branch = &shown["branches"][0];
    let number = |name: &str| branch[name].as_u64().unwrap_or_else(|| panic!("{name}: {shown}"));
    assert!(number("tokens") <= number("budget_total"), "{branch}");
    let last = scene.last_turn();
    assert!(last.holds("Last words: The next ones."), "the parent has what it had: {}", last.body["messages"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_five_fetches_in_branches_leave_less_than_200_tokens_each() {
    let openings: Vec<(&'static str, Value)> = (0..5)
        .map(|at| ("branch_create", json!({ "description": format!("fetch page {at}"), "budget": 20_000 })))
        .collect();
    // All five ask at once, so each answer is made from the request: which page it is about, and whether it was read.
    let answer = |received: &Received| {
        let Some(page) = (0..5).find(|page| received.holds(&format!("Task: fetch page {page}"))) else {
            return Decision::Say(Step::text("All known now."));
        };
        let (tool, arguments) = match received.holds(&format!("page {page} begins")) {
            false => ("shell", json!({ "command": format!("cat page_{page}.txt") })),
            true => ("branch_return", json!({ "message": format!("Page {page}: use the v2 call.") })),
        };
        Decision::Say(Step::calling("Next.", [(tool, arguments)]))
    };
    let asked = (0..11).map(|_| Step::seeing(answer));
    let script = Script::new([Step::calling("Five at once.", openings)].into_iter().chain(asked));
    let scene = AgentScene::start(script, &[]).await;
    for at in 0..5 {
        scene.write(&format!("page_{at}.txt"), &format!("page {at} begins\n{}", lines(at, 100)));
    }

    let run = scene.exec(&["--approval", "all", "what do the pages say?"]).await.done();

    assert_eq!(run.of("branch_folded").len(), 5);
    let turns = scene.turns();
    let main: Vec<&Received> = turns.iter().filter(|turn| turn.holds("what do the pages say?")).collect();
    let growth = tokens(main[1]) - tokens(main[0]);
    assert!(growth < 5 * 200, "{growth}");
    for at in 0..5 {
        assert!(main[1].holds(&format!("Page {at}: use the v2 call.")), "{at}: {}", main[1].body["messages"]);
        assert!(!main[1].holds(&format!("page {at} begins")), "{at}: {}", main[1].body["messages"]);
    }
    println!("P2: five fetches left {growth} tokens in the main thread");
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_of_three_attempts_only_what_each_returned_is_in_the_main_thread_and_failed_ones_are_kept() {
    let attempt = |at: u64, returned: Value| {
        [
            Step::calling("Trying.", [("branch_create", json!({ "description": format!("attempt {at}") }))]),
            Step::calling("Running.", [("shell", json!({ "command": format!("cat trace_{at}.txt; exit {at}") }))]),
            Step::calling("Returning.", [("branch_return", returned)]),
        ]
    };
    let steps = [
        attempt(2, json!({ "message": "A lock did not help.", "failed": true })),
        attempt(1, json!({ "message": "A retry did not help.", "failed": true })),
        attempt(0, json!({ "message": "Sorting the input fixes it." })),
    ];
    let script = Script::new(steps.into_iter().flatten().chain([Step::text("Fixed by sorting.")]));
    let scene = AgentScene::start(script, &[]).await;
    (0..3).for_each(|at| scene.write(&format!("trace_{at}.txt"), &format!("trace {at} begins\n{}", lines(at, 40))));

    let run = scene.exec(&["--approval", "all", "fix the test"]).await.done();

    let last = scene.last_turn();
    assert!(last.holds("Sorting the input fixes it."));
    (0..3).for_each(|at| assert!(!last.holds(&format!("trace {at} begins"))));
    let shown = scene.json(&["show", &run.session()]).await;
    let statuses: Vec<&str> =
        shown["branches"].as_array().unwrap().iter().filter_map(|b| b["status"].as_str()).collect();
    assert_eq!(statuses, ["failed", "failed", "completed"], "{shown}");
    let memories = scene.json(&["memory", "list"]).await;
    assert!(memories.to_string().contains("did not help"), "failed attempts are learnt from: {memories}");
}
