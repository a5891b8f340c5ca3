//! Calls that bring text from outside, and calls that do not.

use super::*;

fn outside(tool: &str, arguments: &str) -> bool {
    match reach_of(tool, arguments) {
        CallReach::Inside => false,
        CallReach::Outside { .. } => true,
    }
}

#[test]
fn tools_that_fetch_are_known_however_clients_spell_them() {
    let tools = [
        "WebFetch",
        "WebSearch",
        "web_search",
        "fetch",
        "mcp__fetch__fetch",
        "browser_navigate",
        "mcp__playwright__click",
        "functions.web_search",
        "browser",
        "Browser-Open",
    ];
    for tool in tools {
        assert!(outside(tool, "{}"), "{tool}");
    }
}

#[test]
fn commands_that_fetch_are_found_in_what_a_shell_is_given() {
    let commands = [
        "curl -s https://example.org/x",
        "cd /tmp && wget example.org",
        "gh api repos/a/b/issues",
        "gh -R a/b issue view 4",
        "x=$(curl $URL)",
        "pip download left-pad",
        "git clone git@example.org:a/b",
        "python3 -c 'import urllib.request as u; u.urlopen(\\\"https://example.org\\\")'",
        "echo a\\ncurl $X",
        "/usr/bin/curl $X",
    ];
    for command in commands {
        assert!(outside("Bash", &format!("{{\"command\": \"{command}\"}}")), "{command}");
    }
}

#[test]
fn other_commands_and_this_machine_are_not_outside() {
    let commands = [
        "cargo test",
        "git status",
        "gh auth status",
        "curl http://localhost:8080/health",
        "curl 'http://[::1]:80/'",
        "npm ci",
        "ls curls",
    ];
    for command in commands {
        assert!(!outside("Bash", &format!("{{\"command\": \"{command}\"}}")), "{command}");
    }
}

#[test]
fn an_address_in_an_edit_is_text_and_in_an_unknown_tool_an_address() {
    assert!(!outside("Edit", r#"{"new_string": "see https://example.org"}"#));
    assert!(!outside("mcp__files__write_file", r#"{"content": "curl https://example.org"}"#));
    assert_eq!(
        reach_of("lookup", r#"{"page": "https:\/\/user@Docs.Example.org\/a"}"#),
        CallReach::Outside { host: Some("docs.example.org".to_owned()) }
    );
    assert_eq!(reach_of("WebSearch", r#"{"query": "x"}"#), CallReach::Outside { host: None });
}
