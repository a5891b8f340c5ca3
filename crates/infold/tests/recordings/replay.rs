//! What a replay shows, as a table, as JSON and as a page.

use std::fs;

use serde_json::Value;

use super::home::Home;
use super::{EACH_CLIENT, fixture};

fn all() -> Vec<String> {
    EACH_CLIENT.iter().map(|(_, file)| fixture(file)).collect()
}

fn arguments<'a>(files: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    ["replay"].into_iter().chain(files.iter().map(String::as_str)).chain(more.iter().copied()).collect()
}

#[test]
fn the_table_has_a_line_for_each_policy() {
    let files = all();
    let ended = Home::new().run(&arguments(&files, &[]));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    insta::assert_snapshot!("table", ended.stdout);
}

#[test]
fn the_json_holds_every_session_under_every_policy() {
    let files = all();
    let ended = Home::new().run(&arguments(&files, &["--json"]));
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let sessions = report["sessions"].as_array().unwrap();
    assert_eq!(sessions.len() + report["skipped"].as_array().unwrap().len(), files.len());
    let policies = report["policies"].as_array().unwrap().len();
    assert!(sessions.iter().all(|session| session["outcomes"].as_array().unwrap().len() == policies));
}

#[test]
fn the_page_asks_nobody_for_anything() {
    let home = Home::new();
    let (files, page) = (all(), home.join("replay.html"));
    let ended = home.run(&arguments(&files, &["--html", page.to_str().unwrap()]));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!doctype html>"), "{}", &text[..80]);
    for outside in ["http://", "https://", "//cdn", "@import", "<link", "src="] {
        let found = text.match_indices(outside).map(|(at, _)| &text[at..text.floor_char_boundary(at + 60)]);
        let found: Vec<&str> = found.filter(|found| !found.starts_with("http://www.w3.org/")).collect();
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn without_files_the_user_s_own_sessions_are_played() {
    let home = Home::new();
    let text = fs::read_to_string(fixture("claude-code/tools.jsonl")).unwrap();
    home.write(".claude/projects/-home-dev/5b2438e4-96a7-43f7-b051-10a055bb0fbe.jsonl", &text);
    let ended = home.run(&["replay"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("as it was"), "{}", ended.stdout);
}

#[test]
fn a_session_that_is_there_twice_is_played_once() {
    let home = Home::new();
    let text = fs::read_to_string(fixture("codex/rollout-tools.jsonl")).unwrap();
    home.write("project/inner/all/a.jsonl", &text);
    home.write("project/inner/all/b.jsonl", &text);
    let ended = home.run(&["replay", "all", "--json"]);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(report["skipped"][0]["reason"], "it was played already");
}
