//! What a child sees of each client's sessions.

use std::fs;

use serde_json::Value;

use super::home::Home;
use super::{EACH_CLIENT, fixture};

/// Lines of a snapshot longer than this are cut: a long result is shown by its ends.
const LINE_CHARS: usize = 160;
/// Lines of a snapshot beyond this are counted.
const LINES: usize = 120;

/// A text cut so short that it can be read in a review.
fn shortened(text: &str) -> String {
    let cut = |line: &str| match line.chars().count() {
        0..=LINE_CHARS => line.to_owned(),
        long => format!("{} [{long} characters]", line.chars().take(LINE_CHARS).collect::<String>()),
    };
    let lines: Vec<String> = text.lines().map(cut).collect();
    match lines.len() {
        0..=LINES => lines.join("\n"),
        many => format!(
            "{}\n[{} lines more]\n{}",
            lines[..LINES / 2].join("\n"),
            many - LINES,
            lines[many - LINES / 2..].join("\n")
        ),
    }
}

fn forked(arguments: &[&str]) -> String {
    let ended = Home::new().run(arguments);
    assert_eq!(ended.code, 0, "{arguments:?}: {}", ended.stderr);
    assert_eq!(ended.stderr, "", "{arguments:?}");
    ended.stdout
}

#[test]
fn what_the_child_sees_of_each_client_s_session() {
    for (name, file) in EACH_CLIENT {
        let text = forked(&["fork", &fixture(file), "--prompt", "Go on."]);
        insta::assert_snapshot!(name, shortened(&text));
    }
}

#[test]
fn what_the_child_sees_in_the_recall_profile() {
    for (name, file) in EACH_CLIENT {
        let text = forked(&["fork", &fixture(file), "--profile", "recall", "--budget", "6000"]);
        insta::assert_snapshot!(format!("recall-{name}"), shortened(&text));
    }
}

#[test]
fn the_budget_holds_in_both_profiles() {
    for (_, file) in EACH_CLIENT {
        for profile in ["seed", "recall"] {
            let text = forked(&["fork", &fixture(file), "--profile", profile, "--budget", "2000", "--json"]);
            let report: Value = serde_json::from_str(&text).unwrap();
            let chars = report["context"].as_str().unwrap().chars().count();
            assert!((1..=2000).contains(&chars), "{file} in {profile}: {chars}");
            assert_eq!(report["stats"]["totalChars"], chars, "{file} in {profile}");
        }
    }
}

#[test]
fn standard_input_is_read_like_a_file() {
    let file = fixture("codex/rollout-tools.jsonl");
    let piped = Home::new().run_with_input(&["fork", "-"], &fs::read(&file).unwrap());
    assert_eq!(piped.stdout, forked(&["fork", &file]));
}

#[test]
fn a_session_is_found_by_its_id() {
    let home = Home::new();
    let file = fixture("claude-code/tools.jsonl");
    let id = "5b2438e4-96a7-43f7-b051-10a055bb0fbe";
    home.write(&format!(".claude/projects/-home-dev-project/{id}.jsonl"), &fs::read_to_string(&file).unwrap());
    assert_eq!(home.run(&["fork", id]).stdout, forked(&["fork", &file]));
}

#[test]
fn every_form_holds_the_same_words() {
    let file = fixture("claude-code/tools.jsonl");
    let report: Value = serde_json::from_str(&forked(&["fork", &file, "--json"])).unwrap();
    let first_line = report["preamble"].as_str().unwrap().lines().next().unwrap().to_owned();
    for form in ["anthropic", "openai", "opencode", "markdown"] {
        let text = forked(&["fork", &file, "--to", form, "--prompt", "Go on."]);
        assert!(text.contains(&first_line) && text.contains("Go on."), "{form}: {text}");
        if form != "markdown" {
            let _: Value = serde_json::from_str(&text).unwrap();
        }
    }
}

#[test]
fn secrets_do_not_reach_the_child() {
    let home = Home::new();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let text = fs::read_to_string(fixture("claude-code/tools.jsonl")).unwrap();
    let line = format!(
        "{{\"type\":\"user\",\"uuid\":\"u-9\",\"timestamp\":\"2026-11-15T18:19:56.000Z\",\"message\":{{\"role\":\"user\",\
         \"content\":\"use {secret} for it\"}}}}\n"
    );
    home.write("session.jsonl", &format!("{text}{line}"));
    let ended = home.run(&["fork", home.join("session.jsonl").to_str().unwrap()]);
    assert!(ended.stdout.contains("[SECRET:github-pat:"), "{}", ended.stdout);
    assert!(!ended.stdout.contains(&secret));
}

#[test]
fn a_secret_that_a_cut_would_halve_does_not_reach_the_child_either() {
    let home = Home::new();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    // Old results are cut to 500 characters: here in the middle of the secret.
    let result = format!("{} {secret} {}", "x".repeat(484), "y".repeat(600));
    let lines: Vec<String> = (0..20)
        .flat_map(|number| {
            let call = serde_json::json!({"type": "assistant", "uuid": format!("a{number}"), "timestamp": "2026-11-15T18:19:56Z",
                "message": {"id": format!("m{number}"), "role": "assistant", "content": [
                    {"type": "tool_use", "id": format!("t{number}"), "name": "Read", "input": {"file_path": "a"}}]}});
            let answer = serde_json::json!({"type": "user", "uuid": format!("u{number}"), "timestamp": "2026-11-15T18:19:56Z",
                "message": {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": format!("t{number}"), "content": result}]}});
            [call.to_string(), answer.to_string()]
        })
        .collect();
    home.write("session.jsonl", &(lines.join("\n") + "\n"));
    for profile in ["seed", "recall"] {
        let ended = home.run(&["fork", home.join("session.jsonl").to_str().unwrap(), "--profile", profile]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(!ended.stdout.contains("ghp_"), "{profile}: {}", ended.stdout);
    }
}

#[test]
fn a_fork_can_be_written_to_a_file_that_is_not_there_yet() {
    let home = Home::new();
    let (source, target) = (fixture("opencode/tools.json"), home.join("child.txt"));
    let arguments = ["fork", &source, "--output", target.to_str().unwrap()];
    assert_eq!(home.run(&arguments).code, 0);
    assert_eq!(fs::read_to_string(&target).unwrap(), forked(&["fork", &source]));
    let again = home.run(&arguments);
    assert_eq!(again.code, 3);
    assert!(again.stderr.contains("is there already"), "{}", again.stderr);
}
