//! The way back: `infold disconnect` gives agents their files as they were, and a session can be written without the
//! reasoning that only works through infold.

use std::fs;

use crate::cli::home::Home;

const SETTINGS: &str = "{\n    \"env\": {\"A\": \"1\"},   \"b\": [1,2 ]\n}";
const CODEX: &str = "# mine\nmodel = \"gpt-5.5\"  # good\n\n[tui]\ntheme = \"x\"\n";

/// A home with settings of each agent.
fn home() -> Home {
    let home = Home::new();
    home.write(".claude/settings.json", SETTINGS);
    home.write(".codex/config.toml", CODEX);
    home.write(".config/opencode/opencode.json", "{ \"model\": \"openai/gpt\" }\n");
    home
}

fn read(home: &Home, path: &str) -> String {
    fs::read_to_string(home.join(path)).unwrap()
}

#[test]
fn files_that_nobody_touched_are_restored_byte_for_byte() {
    let home = home();
    for agent in ["claude", "codex", "opencode"] {
        assert_eq!(home.run(&["connect", agent]).code, 0);
    }
    assert_ne!(read(&home, ".codex/config.toml"), CODEX);
    for agent in ["claude", "codex", "opencode"] {
        let ended = home.run(&["disconnect", agent]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(ended.stderr.contains("infold disconnect --clean SESSION"), "{}", ended.stderr);
    }
    assert_eq!(read(&home, ".claude/settings.json"), SETTINGS);
    assert_eq!(read(&home, ".codex/config.toml"), CODEX);
    assert_eq!(read(&home, ".config/opencode/opencode.json"), "{ \"model\": \"openai/gpt\" }\n");
    assert!(!home.join(".claude.json").exists(), "a file that was not there is gone again");
}

#[test]
fn connecting_twice_is_connecting_once() {
    let home = home();
    home.run(&["connect", "claude"]);
    let once = (read(&home, ".claude/settings.json"), read(&home, ".claude.json"));
    let ended = home.run(&["connect", "claude"]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (0, "HOME/.claude/settings.json: unchanged\nHOME/.claude.json: unchanged\n")
    );
    assert_eq!((read(&home, ".claude/settings.json"), read(&home, ".claude.json")), once);
    // The agent is connected to another daemon: the old address is replaced, and disconnecting still gives the first
    // files back.
    assert_eq!(home.run(&["connect", "claude", "--set", "server.listen=127.0.0.1:9191"]).code, 0);
    let settings = read(&home, ".claude/settings.json");
    assert!(settings.contains("9191") && !settings.contains("9090"), "{settings}");
    home.run(&["disconnect", "claude"]);
    assert_eq!(read(&home, ".claude/settings.json"), SETTINGS);
}

#[test]
fn what_was_changed_since_stays() {
    let home = home();
    home.run(&["connect", "claude"]);
    home.run(&["connect", "codex"]);
    let touched = read(&home, ".claude/settings.json").replace("\"A\": \"1\"", "\"A\": \"2\"");
    home.write(".claude/settings.json", &touched);
    let touched = read(&home, ".codex/config.toml").replace("gpt-5.5", "gpt-6");
    home.write(".codex/config.toml", &touched);
    assert_eq!(home.run(&["disconnect", "claude"]).code, 0);
    assert_eq!(home.run(&["disconnect", "codex"]).code, 0);

    let settings: serde_json::Value = serde_json::from_str(&read(&home, ".claude/settings.json")).unwrap();
    assert_eq!(settings, serde_json::json!({"env": {"A": "2"}, "b": [1, 2]}));
    assert_eq!(read(&home, ".codex/config.toml"), CODEX.replace("gpt-5.5", "gpt-6"));
}

#[test]
fn a_session_is_written_without_its_reasoning() {
    let home = Home::new();
    let recording =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/claude-code/tools.jsonl")).unwrap();
    assert!(recording.contains("\"type\":\"thinking\""), "the fixture holds no reasoning");
    home.write("project/inner/session.jsonl", &recording);
    let ended = home.run(&["disconnect", "--clean", "session.jsonl", "--json"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let path = report["written"]["path"].as_str().unwrap();
    // The path is relative to the folder that the program was started in, as that of the recording was.
    let path = home.join("project/inner").join(path);
    let written = fs::read_to_string(path).unwrap();
    assert!(!written.contains("\"type\":\"thinking\"") && written.contains("Make the greeting polite"), "{written}");
    assert_eq!(report["offloaded"], serde_json::json!([]), "nothing else is taken out");
}

#[test]
fn a_session_without_its_reasoning_is_reported_as_that_and_not_as_one_that_did_not_fit() {
    let home = Home::new();
    let recording =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/claude-code/tools.jsonl")).unwrap();
    home.write("project/inner/session.jsonl", &recording);
    let ended = home.run(&["disconnect", "--clean", "session.jsonl"]);
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID");
    settings.bind(|| {
        insta::assert_snapshot!(ended.stdout, @"
         2  blocks of reasoning removed

    The reasoning is gone, and a note at the end says so.
    written: ID.jsonl
    go on:   claude --resume ID
    ")
    });
    let path = ended.stdout.lines().find_map(|line| line.strip_prefix("written: ")).unwrap();
    let written = fs::read_to_string(home.join("project/inner").join(path)).unwrap();
    assert!(written.contains("without its reasoning") && !written.contains("context window"), "{written}");
}
