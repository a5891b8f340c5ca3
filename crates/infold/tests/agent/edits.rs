//! Edits whose text is not in the file as it was given, through the program.

use infold_testkit::model::{Script, Step};
use serde_json::json;

use super::scene::{ASKED, Scene, calls};

const FILE: &str = "fn first() {\n    start();\n    work(1);\n}\n\nfn second() {\n    start();\n    rest();\n}\n";

/// What an edit of `a.rs` gives: whether it failed, its words, and the file behind it.
async fn edited(old: &str, new: &str) -> (bool, String, String) {
    let edit = calls(vec![("edit", json!({"path": "a.rs", "old": old, "new": new}))]);
    let scene = Scene::start(Script::new([edit, Step::text("I see.")])).await;
    scene.write("a.rs", FILE);
    let ran = scene.exec(&[ASKED]).await;
    ran.finished(0);
    let result = &ran.of_kind("result")[0];
    let words = result["text"].as_str().unwrap().to_owned();
    assert_eq!(scene.turns()[1].last_result_of("edit").as_deref(), Some(words.as_str()), "the model reads the same");
    (result["is_error"].as_bool().unwrap(), words, scene.text("a.rs"))
}

#[tokio::test]
async fn an_edit_that_matches_only_loosely_is_made_and_says_so() {
    let (failed, words, file) = edited("fn first() {\n  start();\n  work(1);\n}", "fn first() {\n  work(2);\n}").await;
    assert!(!failed && words.contains("matched only loosely: white space differs"), "{words}");
    assert!(words.contains("Lines 1 to 4 were replaced") && words.contains("     3\t    work(1);"), "{words}");
    assert!(file.contains("work(2);") && !file.contains("work(1);") && file.contains("fn second() {"), "{file}");
}

#[tokio::test]
async fn an_edit_that_does_not_match_is_answered_with_the_nearest_lines() {
    let (failed, words, file) = edited("fn second() {\n    start();\n    sleep();\n}", "").await;
    assert!(
        failed && words.contains("nothing was changed: `old` is not in the file. The nearest lines are:"),
        "{words}"
    );
    assert!(words.contains("     6\tfn second() {") && words.contains("     8\t    rest();"), "{words}");
    assert_eq!(file, FILE);
}

#[tokio::test]
async fn an_edit_that_matches_twice_is_refused_with_both_places() {
    let (failed, words, file) = edited("    start();\n", "    begin();\n").await;
    assert!(failed && words.contains("`old` occurs 2 times, at lines 2, 7"), "{words}");
    assert_eq!(file, FILE);
}
