//! `infold servers import`: what is taken over, what is written, and what is said about the rest.

mod clients;

use std::fs;

use insta::assert_snapshot;

use crate::cli::home::{Home, mode};

const SETTINGS: &str = ".config/infold/settings.toml";

/// What must never be printed.
const CANARY: &str = "c4nary-value";

/// Imports, checks that nothing secret is printed and that settings can be read then, and returns what is printed.
fn import(home: &Home, arguments: &[&str]) -> String {
    let ended = home.run(&[&["servers", "import"], arguments].concat());
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    assert!(!ended.stdout.contains(CANARY), "{}", ended.stdout);
    let after = home.run(&["servers"]);
    assert_eq!(after.code, 0, "{}", after.stderr);
    ended.stdout
}

fn refused(home: &Home, arguments: &[&str]) -> String {
    let ended = home.run(&[&["servers", "import"], arguments].concat());
    assert_eq!((ended.code, ended.stdout.as_str()), (3, ""));
    assert!(!home.join(SETTINGS).exists());
    ended.stderr
}

fn settings(home: &Home) -> String {
    fs::read_to_string(home.join(SETTINGS)).unwrap().replace(&home.join("").display().to_string(), "HOME/")
}

fn write(home: &Home, path: &str, text: &str) {
    home.write(path, &text.replace("CANARY", CANARY).replace("PROJECT", &home.join("project").display().to_string()));
}

#[test]
fn a_file_in_the_form_that_most_clients_share() {
    let home = Home::new();
    write(
        &home,
        "mcp.json",
        r#"{"mcpServers": {
        "a": {"command": "a", "env": {"K": "${env:KEY}"}, "cwd": "/", "envFile": ".env", "disabled": true},
        "b": {"url": "https://b.example/mcp", "headers": {"Content-Type": "text/x", "X-K": "CANARY"}},
        "\u001b[31mc": {"command": "\u001b[31mc"}, "d": {"command": "\u001b[31md"}
    }}"#,
    );
    assert_snapshot!(import(&home, &["../../mcp.json"]), @r#"
    a: a, switched off
      from ../../mcp.json
      ! envFile: infold reads no files of variables: write them into env
      ! the variable KEY is not set: set it, or write ${KEY:-default}
    b: https://b.example/mcp
      from ../../mcp.json
      ! headers.Content-Type: infold sets this one itself
    d: d
      from ../../mcp.json
    \u{1b}[31mc: not taken: the name "c" must have 1 to 64 visible characters, none of them "/"
      from ../../mcp.json
    added 3 servers to HOME/.config/infold/settings.toml
    "#);
    assert_snapshot!(settings(&home), @r#"
    [[gateway.servers]]
    name = "a"
    command = "a"
    cwd = "/"
    enabled = false
    env = { K = "${KEY}" }

    [[gateway.servers]]
    name = "b"
    url = "https://b.example/mcp"
    headers = { X-K = "c4nary-value" }

    [[gateway.servers]]
    name = "d"
    command = "\u001B[31md"
    "#);
}

#[test]
fn what_is_in_the_settings_stays_and_twice_is_once() {
    let home = Home::new();
    let own = "# Mine.\n[folding]\nmax_depth = 2 # deep\n\n[[gateway.servers]]\nname = \"a\" # the first\ncommand = \"mine\"\n\n[store]\nreaders = 3\n";
    home.write(SETTINGS, own);
    home.write("mcp.json", r#"{"mcpServers": {"a": {"command": "theirs"}, "b": {"command": "it's \"b\""}}}"#);
    assert_eq!(mode(&home.join(SETTINGS)) & 0o077, 0o044, "others can read it at first");
    assert_snapshot!(import(&home, &["../../mcp.json"]), @r#"
    a: your settings have a server of this name: left as it is
    b: it's "b"
      from ../../mcp.json
    added 1 server to HOME/.config/infold/settings.toml
    "#);
    assert_snapshot!(settings(&home), @r#"
    # Mine.
    [folding]
    max_depth = 2 # deep

    [[gateway.servers]]
    name = "a" # the first
    command = "mine"

    [[gateway.servers]]
    name = "b"
    command = """it's "b""""

    [store]
    readers = 3
    "#);
    assert_eq!(mode(&home.join(SETTINGS)), 0o600);
    let before = settings(&home);
    assert_snapshot!(import(&home, &["../../mcp.json"]), @"
    a: your settings have a server of this name: left as it is
    b: your settings have a server of this name: left as it is
    nothing to add to HOME/.config/infold/settings.toml
    ");
    assert_eq!(settings(&home), before);
}

#[test]
fn a_list_in_brackets_is_continued() {
    let home = Home::new();
    home.write(SETTINGS, "[gateway]\n# None yet.\nservers = [] # so far\nidle_ms = 2000\n");
    home.write("mcp.json", r#"{"mcpServers": {"a": {"command": "a", "args": ["1"]}, "b": {"command": "b"}}}"#);
    import(&home, &["../../mcp.json"]);
    assert_snapshot!(settings(&home), @r#"
    [gateway]
    # None yet.
    servers = [
        { name = "a", command = "a", args = ["1"] },
        { name = "b", command = "b" },
    ] # so far
    idle_ms = 2000
    "#);
}

#[test]
fn json_has_the_same() {
    let home = Home::new();
    home.write("mcp.json", r#"{"mcpServers": {"a": {"command": "a", "x": 1}, "b": {"type": "ws", "url": "wss://b"}}}"#);
    assert_snapshot!(import(&home, &["../../mcp.json", "--json"]), @r#"
    {
      "taken": [
        {
          "name": "a",
          "server": "a",
          "from": "../../mcp.json",
          "known": false,
          "rules": {},
          "dropped": [
            {
              "field": "x",
              "why": "infold does not know it"
            }
          ],
          "missing": []
        }
      ],
      "left": [
        {
          "name": "b",
          "from": "../../mcp.json",
          "why": "it speaks over a WebSocket, which infold does not"
        }
      ],
      "notes": [],
      "added": [
        "a"
      ],
      "file": "HOME/.config/infold/settings.toml",
      "dry_run": false
    }
    "#);
}

#[test]
fn files_that_are_missing_or_broken_are_named_and_nothing_is_written() {
    let home = Home::new();
    for client in ["claude", "codex", "opencode", "nowhere.json"] {
        let error = refused(&home, &[client]);
        assert!(error.starts_with("error: there is no file "), "{error}");
    }
    home.write(".claude.json", "{\"mcpServers\": {\"a\": c4nary-value}");
    home.write(".codex/config.toml", "[mcp_servers.a\nkey = 'c4nary-value'");
    home.write(".config/opencode/opencode.json", "[\"c4nary-value\"]");
    home.write("other.json", "{\"servers\": 5}");
    let errors = ["claude", "codex", "opencode", "../../other.json"].map(|source| refused(&home, &[source]));
    assert!(!errors.concat().contains(CANARY), "{errors:?}");
    assert_snapshot!(errors.concat(), @r#"
    error: HOME/.claude.json is not JSON: Unexpected token on line 1 column 22
      hint: fix the file first
    error: HOME/.codex/config.toml is not TOML: unclosed table, expected `]`
      hint: fix the file first
    error: HOME/.config/opencode/opencode.json is not a JSON object
      hint: fix the file first
    error: ../../other.json has no object "mcpServers"
      hint: the form is {"mcpServers": {"NAME": {"command": "...", "args": []}}}
    "#);
    assert!(refused(&home, &["x.json", "--project"]).contains("--project is for an agent"));
}
