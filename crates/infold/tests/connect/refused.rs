//! What `infold connect` refuses, and that it changes nothing then.

use std::fs;

use crate::cli::home::Home;

#[test]
fn a_file_that_cannot_be_understood_stops_everything() {
    let home = Home::new();
    home.write(".claude/settings.json", "{}\n");
    home.write(".claude.json", "{\"mcpServers\": ");
    let ended = home.run(&["connect", "claude"]);
    assert_eq!(ended.code, 3);
    assert!(
        ended.stderr.contains("HOME/.claude.json is not JSON") && ended.stderr.contains("nothing was changed"),
        "{}",
        ended.stderr
    );
    assert_eq!(fs::read_to_string(home.join(".claude/settings.json")).unwrap(), "{}\n");
    assert!(!home.data().exists());
}

#[test]
fn an_agent_that_was_never_connected() {
    let ended = Home::new().run(&["disconnect", "codex"]);
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.contains("Codex is not connected"), "{}", ended.stderr);
}

#[test]
fn a_key_is_not_sent_to_another_host_than_the_users() {
    let home = Home::new();
    home.write(".claude/settings.json", "{\"env\": {\"ANTHROPIC_BASE_URL\": \"https://gate.example\"}}");
    let ended = home.run(&["connect", "claude"]);
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.contains("proxy.anthropic.upstream"), "{}", ended.stderr);
    assert_eq!(home.run(&["connect", "claude", "--set", "proxy.anthropic.upstream=https://gate.example"]).code, 0);
}

#[test]
fn opencode_without_a_provider_that_infold_could_take_is_not_half_connected() {
    let home = Home::new();
    let ended = home.run(&["connect", "opencode"]);
    assert_eq!(ended.code, 3);
    assert!(
        ended.stderr.contains("no provider that infold supports") && ended.stderr.contains("opencode auth login"),
        "{}",
        ended.stderr
    );
    assert!(!home.join(".config/opencode/opencode.json").exists());
    home.write(".local/share/opencode/auth.json", "{\"anthropic\": {\"type\": \"api\"}}");
    assert_eq!(home.run(&["connect", "opencode"]).code, 0);
}

#[test]
fn an_agent_that_is_wired_at_each_start_is_not_connected() {
    let ended = Home::new().run(&["connect", "goose"]);
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.contains("infold run goose"), "{}", ended.stderr);
}
