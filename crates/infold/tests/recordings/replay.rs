//! What a replay shows, as a table, as JSON and as a page.

use std::fs;

use serde_json::{Value, json};

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

/// Lines of a session of Claude Code, a minute apart.
fn claude_code(session: &str, day: u32, messages: Vec<Value>) -> String {
    let lines = messages.into_iter().enumerate().map(|(at, message)| {
        let parent = at.checked_sub(1).map(|before| format!("{session}-{before}"));
        let line = json!({
            "parentUuid": parent, "uuid": format!("{session}-{at}"), "sessionId": session, "isSidechain": false,
            "cwd": "/home/dev/project", "timestamp": format!("2026-03-{day:02}T10:{at:02}:00.000Z"),
            "type": message["role"], "message": message, "version": "2.1.0",
        });
        line.to_string() + "\n"
    });
    lines.collect()
}

fn says(text: &str) -> Value {
    json!({"role": "assistant", "model": "m", "id": text, "type": "message", "content": [{"type": "text", "text": text}]})
}

fn calls(id: &str, tool: &str, input: Value) -> Value {
    let call = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
    json!({"role": "assistant", "model": "m", "id": id, "type": "message", "content": [call]})
}

fn gives(id: &str, text: &str) -> Value {
    let result = json!({"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": text}]});
    json!({"role": "user", "content": [result]})
}

#[test]
fn with_memories_it_says_which_lessons_would_have_been_there_when_they_were_needed() {
    let home = Home::new();
    let report = "The snapshot tests of the parser fail because fixtures/parser.json is stale. You must run `just \
                  fixtures` before them, because src/parser/rows.rs reads that file only once.";
    let prompt = "The snapshot tests in src/parser/rows.rs fail. Find out why and mend them.";
    let task = json!({"description": "Mend the snapshot tests of the parser", "prompt": prompt});
    let earlier = vec![json!({"role": "user", "content": "Mend it."}), calls("t", "Task", task), gives("t", report)];
    let read = json!({"file_path": "/home/dev/project/src/parser/rows.rs"});
    let later = vec![
        json!({"role": "user", "content": "The snapshot tests of the parser in src/parser/rows.rs fail again."}),
        calls("r", "Read", read),
        gives("r", "fn rows() {}"),
        says("It is mended."),
    ];
    // The later session is named first: times count, not the order of files.
    home.write("a-later.jsonl", &claude_code("later", 2, later));
    home.write("b-earlier.jsonl", &claude_code("earlier", 1, earlier));
    let (later, earlier) = (home.join("a-later.jsonl"), home.join("b-earlier.jsonl"));
    let arguments = ["replay", later.to_str().unwrap(), earlier.to_str().unwrap(), "--memories"];
    let ended = home.run(&arguments);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    insta::assert_snapshot!("memories", ended.stdout);
    assert_eq!(home.run(&arguments).stdout, ended.stdout, "the same recordings give the same");
    assert!(!home.data().exists(), "nothing of the user's is opened or made");

    let json: Value = serde_json::from_str(&home.run(&[&arguments[..], &["--json"]].concat()).stdout).unwrap();
    assert_eq!((&json["totals"]["works"], &json["totals"]["given"]), (&json!(2), &json!(1)), "{json}");
    assert_eq!(json["works"][0]["session"], "earlier");
    assert_eq!(json["works"][0]["learnt"].as_array().map(Vec::len), Some(1));
    let off = home.run(&[&arguments[..], &["--set", "memory.learn=off"]].concat());
    assert!(off.stdout.contains("nothing that was learnt had to do with what came later"), "{}", off.stdout);
}

#[test]
fn with_memories_every_client_s_recordings_can_be_played() {
    let files = all();
    let ended = Home::new().run(&arguments(&files, &["--memories", "--json"]));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    let played = json["totals"]["sessions"].as_u64().unwrap() + json["skipped"].as_array().unwrap().len() as u64;
    assert_eq!(played, files.len() as u64, "{json}");
    let ended = Home::new().run(&["replay", "--memories", "--html", "page.html"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
}
