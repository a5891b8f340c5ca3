//! What was offloaded can be read back, in a shell as through MCP.

use serde_json::Value;

use super::home::Home;
use super::sessions::{ID, claude_home, long_text, printed};

fn rescued() -> (Home, Value) {
    let (home, _) = claude_home(8);
    let report = printed(&home.run(&["rescue", ID, "--window", "30000", "--reserve", "8000", "--json"]));
    (home, report)
}

#[test]
fn every_handle_gives_back_the_whole_result() {
    let (home, report) = rescued();
    for moved in report["offloaded"].as_array().unwrap() {
        let number: usize = moved["call_id"].as_str().unwrap().trim_start_matches("toolu_").parse().unwrap();
        let ended = home.run(&["result", moved["ref_id"].as_str().unwrap(), "--limit", "65536"]);
        assert_eq!(ended.stdout, long_text(number, 400), "{}", ended.stderr);
    }
}

#[test]
fn parts_are_read_by_lines_and_by_pattern() {
    let (home, report) = rescued();
    // Handles are random and take a token more or less, so it is not always the same results that are offloaded.
    let moved = &report["offloaded"][0];
    let (handle, call) = (moved["ref_id"].as_str().unwrap(), moved["call_id"].as_str().unwrap());
    let number = call.trim_start_matches("toolu_");
    let masked =
        |text: &str| text.replace(&format!("file {number} "), "file N ").replace(&format!(", {number});"), ", N);");
    let ended = home.run(&["result", handle, "--lines", "399-"]);
    insta::assert_snapshot!(masked(&ended.stdout), @r"
    399:file N line 398: let value_398 = compute(398, N);
    400:file N line 399: let value_399 = compute(399, N);
    ");
    let ended = home.run(&["result", handle, "--grep", "value_20 ", "--context", "1"]);
    insta::assert_snapshot!(masked(&ended.stdout), @r"
    20-file N line 19: let value_19 = compute(19, N);
    21:file N line 20: let value_20 = compute(20, N);
    22-file N line 21: let value_21 = compute(21, N);
    ");
    let ended = home.run(&["result", handle, "--limit", "10"]);
    // Pages are made to be joined, so nothing is added to one.
    assert_eq!((ended.stdout.len(), ended.stdout.starts_with("file ")), (10, true), "{:?}", ended.stdout);
    assert!(ended.stderr.contains("continue with --offset 10"), "{}", ended.stderr);
    let ended = home.run(&["result", handle, "--grep", "no such words"]);
    assert!(ended.stderr.contains("No line of 400 matches \"no such words\". Try"), "{}", ended.stderr);
}

#[test]
fn mistakes_are_reported() {
    let (home, report) = rescued();
    let handle = report["offloaded"][0]["ref_id"].as_str().unwrap();
    let cases = [
        (vec!["result", "res_00000000-0000-4000-8000-000000000000"], "no result \""),
        (vec!["result", "what"], "no result \""),
        (vec!["result", handle, "--lines", "9-3"], "invalid --lines"),
        (vec!["result", handle, "--grep", "("], "not a regular expression"),
    ];
    for (arguments, said) in cases {
        let ended = home.run(&arguments);
        assert_eq!(ended.code, 3, "{arguments:?}");
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
    }
    assert_eq!(Home::new().run(&["result", handle]).code, 3);
}

#[test]
fn secrets_are_kept_out_of_the_store() {
    let (home, original) = claude_home(8);
    let text = std::fs::read_to_string(&original).unwrap();
    let token = ["ghp", "_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    std::fs::write(&original, text.replace(" line 5:", &format!(" line 5: token = {token}"))).unwrap();
    let report = printed(&home.run(&["rescue", ID, "--window", "30000", "--reserve", "8000", "--json"]));
    let moved = &report["offloaded"][0];
    let ended = home.run(&["result", moved["ref_id"].as_str().unwrap(), "--lines", "6"]);
    assert!(ended.stdout.contains("[SECRET:") && !ended.stdout.contains(&token), "{}", ended.stdout);
}
