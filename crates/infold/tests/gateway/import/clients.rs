//! Files of each client with every field, and what infold makes of them.

use std::fs;

use insta::assert_snapshot;

use super::{SETTINGS, import, settings, write};
use crate::cli::home::Home;

#[test]
fn claude_code_with_every_field() {
    let home = Home::new();
    write(&home, ".claude.json", include_str!("files/claude.json"));
    write(&home, ".claude/settings.json", include_str!("files/claude-settings.json"));
    let project = r#"{"mcpServers": {"shadowed": {"command": "project"}, "team": {"command": "team"}}}"#;
    write(&home, "project/.mcp.json", project);
    let before = fs::read(home.join(".claude.json")).unwrap();

    assert_snapshot!("claude", import(&home, &["claude"]));
    assert_snapshot!("claude_settings", settings(&home));
    let with_project = import(&home, &["claude", "--project"]);
    assert_eq!(with_project.matches("your settings have a server of this name: left as it is").count(), 4);
    assert!(with_project.contains("team: team, switched off\n  from HOME/project/.mcp.json\n"), "{with_project}");
    assert!(with_project.contains("local: local\n  from HOME/.claude.json\n"), "{with_project}");
    assert_eq!(fs::read(home.join(".claude.json")).unwrap(), before);
}

#[test]
fn a_server_of_claude_codes_project_comes_before_the_users() {
    let home = Home::new();
    write(&home, ".claude.json", include_str!("files/claude.json"));
    write(&home, "project/.mcp.json", r#"{"mcpServers": {"shadowed": {"command": "project"}}}"#);
    let printed = import(&home, &["claude", "--project", "--dry-run"]);
    assert!(printed.contains("shadowed: project\n  from HOME/project/.mcp.json\n"), "{printed}");
}

#[test]
fn codex_with_every_field() {
    let home = Home::new();
    write(&home, ".codex/config.toml", include_str!("files/codex.toml"));
    write(&home, "project/.codex/config.toml", "[mcp_servers.team]\ncommand = 'team'\n");
    assert_snapshot!("codex", import(&home, &["codex"]));
    assert_snapshot!("codex_settings", settings(&home));
    let again = import(&home, &["codex", "--project"]);
    assert!(again.contains("team: team\n  from HOME/project/.codex/config.toml\n"), "{again}");
}

#[test]
fn opencode_with_every_field() {
    let home = Home::new();
    write(&home, ".config/opencode/opencode.jsonc", include_str!("files/opencode.jsonc"));
    let project =
        r#"{"mcp": {"docs": {"url": "https://new.example/mcp"}, "team": {"type": "local", "command": ["team"]}}}"#;
    write(&home, "project/opencode.json", project);
    let with_project = import(&home, &["opencode", "--project", "--dry-run"]);
    assert!(with_project.contains("docs: https://new.example/mcp\n  from HOME/project/opencode.json\n"));
    assert_snapshot!("opencode", import(&home, &["opencode"]));
    assert_snapshot!("opencode_settings", settings(&home));
}

#[test]
fn claude_code_with_a_list_of_allowed_servers() {
    let home = Home::new();
    write(
        &home,
        ".claude.json",
        r#"{"mcpServers": {
        "a": {"command": "a"}, "b": {"command": "b", "args": ["c"]},
        "web": {"type": "http", "url": "https://x.example/mcp"}, "other": {"type": "http", "url": "https://y.example/mcp"}
    }}"#,
    );
    write(
        &home,
        ".claude/settings.json",
        r#"{"allowedMcpServers": [
        {"serverName": "a"}, {"serverCommand": ["b", "c"]}, {"serverUrl": "https://x.example/*"}
    ]}"#,
    );
    assert_snapshot!(import(&home, &["claude", "--dry-run"]), @r#"
    b: b (1 argument)
      from HOME/.claude.json
    web: https://x.example/mcp
      from HOME/.claude.json
    a: not taken: allowedMcpServers does not have it
      from HOME/.claude.json
    other: not taken: allowedMcpServers does not have it
      from HOME/.claude.json
    note: Claude Code gives programs its whole environment, infold only PATH, HOME and the like: name further variables in env_vars, or "*" for all
    would add 2 servers to HOME/.config/infold/settings.toml
    "#);
    assert!(!home.join(SETTINGS).exists());
}

#[test]
fn opencode_in_its_newer_form() {
    let home = Home::new();
    write(
        &home,
        ".config/opencode/opencode.json",
        r#"{"permission": "ask", "mcp": {"servers": {
        "a": {"type": "local", "command": ["a"], "disabled": true, "timeout": {"startup": 100, "request": 200}},
        "b": {"type": "remote", "url": "https://b.example/mcp", "oauth": {"client_id": "x", "client_secret": "CANARY"}}
    }}}"#,
    );
    import(&home, &["opencode"]);
    assert_snapshot!(settings(&home), @r#"
    [[gateway.servers]]
    name = "a"
    command = "a"
    ask = ["*"]
    enabled = false
    start_timeout_ms = 100
    timeout_ms = 200

    [[gateway.servers]]
    name = "b"
    url = "https://b.example/mcp"
    ask = ["*"]
    oauth = { client_id = "x", client_secret = "c4nary-value" }
    "#);
}
