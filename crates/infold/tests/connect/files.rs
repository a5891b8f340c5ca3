//! What `infold connect` writes into agents' files.

use std::fs;

use serde_json::{Value, json};

use crate::cli::home::{Home, mode};

fn read_json(home: &Home, path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(home.join(path)).unwrap()).unwrap()
}

#[test]
fn claude_code_gets_an_address_tools_and_a_hook() {
    let home = Home::new();
    home.write(".claude/settings.json", "{\n  \"env\": {\n    \"A\": \"1\"\n  }\n}\n");
    home.write(".claude.json", "{\"numStartups\": 3}");
    let ended = home.run(&["connect", "claude"]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (0, "HOME/.claude/settings.json: changed\nHOME/.claude.json: changed\n")
    );
    assert!(ended.stderr.contains("needs the daemon at http://127.0.0.1:9090"), "{}", ended.stderr);

    let settings = read_json(&home, ".claude/settings.json");
    let variables =
        json!({"A": "1", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9090/anthropic", "ENABLE_TOOL_SEARCH": "true"});
    assert_eq!(settings["env"], variables);
    assert_eq!(settings["permissions"]["allow"], json!(["mcp__infold"]));
    let command = format!("{} hook --data {}", env!("CARGO_BIN_EXE_infold"), home.data().display());
    assert_eq!(settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"], command);
    let server = json!({"type": "http", "url": "http://127.0.0.1:9090/mcp", "alwaysLoad": true});
    assert_eq!(read_json(&home, ".claude.json"), json!({"numStartups": 3, "mcpServers": {"infold": server}}));
}

#[test]
fn the_hook_that_was_written_refuses_a_placeholder() {
    let home = Home::new();
    let question = json!({"tool_name": "Write", "tool_input": {"content": "[SECRET:github-pat:7f3a2c]"}}).to_string();
    let ended = home.run_with_input(&["hook"], question.as_bytes());
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((ended.code, &answer["hookSpecificOutput"]["permissionDecision"]), (0, &json!("deny")));
    assert!(!home.data().exists(), "a hook needs no data folder");

    let question = json!({"tool_name": "Write", "tool_input": {"content": "nothing"}}).to_string();
    let ended = home.run_with_input(&["hook"], question.as_bytes());
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, "", ""));
}

#[test]
fn codex_keeps_its_provider_and_its_comments() {
    let home = Home::new();
    let config = "model_provider = \"gate\" # mine\n[model_providers.gate]\nbase_url = \"https://gate.example/v1\"\n";
    home.write(".codex/config.toml", config);
    let ended = home.run(&["connect", "codex", "--set", "proxy.openai.upstream=https://gate.example/v1"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    insta::assert_snapshot!(fs::read_to_string(home.join(".codex/config.toml")).unwrap(), @r#"
    model_provider = "gate" # mine
    [model_providers.gate]
    base_url = "http://127.0.0.1:9090/openai/v1"

    [mcp_servers.infold]
    url = "http://127.0.0.1:9090/mcp"
    default_tools_approval_mode = "approve"
    "#);
}

#[test]
fn opencode_keeps_its_comments() {
    let home = Home::new();
    let config = "{\n  // mine\n  \"model\": \"anthropic/claude\", // good\n}\n";
    home.write(".config/opencode/opencode.jsonc", config);
    let ended = home.run(&["connect", "opencode"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let text = fs::read_to_string(home.join(".config/opencode/opencode.jsonc")).unwrap();
    assert!(text.contains("// mine\n") && text.contains("// good\n"), "{text}");
    assert!(text.contains("\"baseURL\": \"http://127.0.0.1:9090/anthropic/v1\""), "{text}");
    assert!(text.contains("\"url\": \"http://127.0.0.1:9090/mcp\""), "{text}");
}

#[test]
fn a_trial_run_shows_the_change_and_makes_none() {
    let home = Home::new();
    home.write(".claude/settings.json", "{}\n");
    let ended = home.run(&["connect", "claude", "--dry-run"]);
    assert_eq!(ended.code, 0);
    assert!(ended.stdout.contains("+++ HOME/.claude/settings.json"), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("+    \"ANTHROPIC_BASE_URL\": \"http://127.0.0.1:9090/anthropic\""),
        "{}",
        ended.stdout
    );
    assert_eq!(fs::read_to_string(home.join(".claude/settings.json")).unwrap(), "{}\n");
    assert!(!home.join(".claude.json").exists() && !home.data().exists());
}

#[test]
fn links_and_modes_stay_as_they_are() {
    let home = Home::new();
    home.write("dotfiles/settings.json", "{}\n");
    fs::create_dir_all(home.join(".claude")).unwrap();
    std::os::unix::fs::symlink(home.join("dotfiles/settings.json"), home.join(".claude/settings.json")).unwrap();
    let before = mode(&home.join("dotfiles/settings.json"));
    assert_eq!(home.run(&["connect", "claude"]).code, 0);
    assert!(fs::symlink_metadata(home.join(".claude/settings.json")).unwrap().is_symlink());
    assert!(fs::read_to_string(home.join("dotfiles/settings.json")).unwrap().contains("ANTHROPIC_BASE_URL"));
    assert_eq!(mode(&home.join("dotfiles/settings.json")), before);
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_a_link() {
    let home = Home::new();
    fs::create_dir_all(home.join("dotfiles")).unwrap();
    fs::create_dir_all(home.join(".codex")).unwrap();
    std::os::unix::fs::symlink("../dotfiles/codex.toml", home.join(".codex/config.toml")).unwrap();
    let ended = home.run(&["connect", "codex"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(fs::symlink_metadata(home.join(".codex/config.toml")).unwrap().is_symlink(), "the link was replaced");
    assert!(fs::read_to_string(home.join("dotfiles/codex.toml")).unwrap().contains("openai_base_url"));

    assert_eq!(home.run(&["disconnect", "codex"]).code, 0);
    assert!(fs::symlink_metadata(home.join(".codex/config.toml")).unwrap().is_symlink());
    assert!(!home.join("dotfiles/codex.toml").exists());
}

#[test]
fn a_file_below_a_linked_folder_is_known_again_once_it_is_there() {
    let home = Home::new();
    fs::create_dir_all(home.join("dotfiles/claude")).unwrap();
    std::os::unix::fs::symlink("dotfiles/claude", home.join(".claude")).unwrap();
    for listen in ["server.listen=127.0.0.1:9090", "server.listen=127.0.0.1:9191"] {
        assert_eq!(home.run(&["connect", "claude", "--set", listen]).code, 0);
    }
    assert_eq!(home.run(&["disconnect", "claude"]).code, 0);
    assert!(!home.join("dotfiles/claude/settings.json").exists(), "something of infold's is left");
}
