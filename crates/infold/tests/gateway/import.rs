//! `infold servers import`: files of each client with every field, and what infold makes of them.

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
fn claude_code_with_every_field() {
    let home = Home::new();
    write(
        &home,
        ".claude.json",
        r#"{
        "numStartups": 3,
        "mcpServers": {
            "github": {
                "type": "stdio", "command": "npx", "args": ["-y", "x", "--key=CANARY", "${GH_HOST:-h}"],
                "env": {"TOKEN": "${GH_TOKEN}", "PLAIN": "CANARY", "ODD": 5}, "timeout": 5000, "alwaysLoad": true,
                "strange": "CANARY"
            },
            "docs": {
                "type": "http", "url": "https://mcp.example/mcp?k=CANARY", "headers": {"Authorization": "Bearer CANARY"},
                "headersHelper": "print-headers",
                "oauth": {"clientId": "id", "callbackPort": 8123, "scopes": "read write",
                          "authServerMetadataUrl": "https://auth.example", "else": 1}
            },
            "streams": {"type": "streamable-http", "url": "http://127.0.0.1:1/mcp", "timeout": 0},
            "old": {"type": "sse", "url": "https://old.example"},
            "socket": {"type": "ws", "url": "wss://socket.example"},
            "bare": {"url": "https://bare.example"},
            "nothing": {},
            "text": "CANARY",
            "infold": {"type": "http", "url": "http://127.0.0.1:9090/mcp"},
            "renamed": {"command": "/usr/bin/infold", "args": ["mcp"]},
            "bad/name": {"command": "x"},
            "denied": {"command": "x"},
            "denied by command": {"command": "run", "args": ["it"]},
            "shadowed": {"command": "user"}
        },
        "projects": {"PROJECT": {
            "mcpServers": {"local": {"command": "local"}}, "disabledMcpServers": ["team"]
        }}
    }"#,
    );
    write(
        &home,
        ".claude/settings.json",
        r#"{
        "permissions": {
            "deny": ["mcp__github__delete_*", "Bash(rm *)", "mcp__*__secret", "mcp__docs(x:y)"],
            "ask": ["mcp__docs"],
            "allow": ["mcp__github__get(owner:me)", "mcp__github__list", "mcp__*", "mcp__docs__read"]
        },
        "deniedMcpServers": [{"serverName": "denied"}, {"serverCommand": ["run", "it"]}],
        "enabledPlugins": {"p@m": true}
    }"#,
    );
    write(
        &home,
        "project/.mcp.json",
        r#"{"mcpServers": {"shadowed": {"command": "project"}, "team": {"command": "team"}}}"#,
    );
    let before = fs::read(home.join(".claude.json")).unwrap();
    assert_snapshot!(import(&home, &["claude"]), @r#"
    github: npx (4 arguments)
      from HOME/.claude.json
      deny: delete_*, *__secret, _secret, secret
      allow: list
      ! env.ODD: it is not text
      ! alwaysLoad: infold decides by their size which tools are listed
      ! strange: infold does not know it
      ! permissions.allow: "mcp__github__get(owner:me)" allows some arguments only, which infold's rules cannot say
      ! the variable GH_TOKEN is not set: set it, or write ${GH_TOKEN:-default}
    docs: https://mcp.example/...
      from HOME/.claude.json
      deny: *__secret, _secret, secret
      ask: *
      allow: read
      ! oauth.else: infold does not know it
      ! permissions.deny: "mcp__docs(x:y)" is about an argument: infold asks about every call of the tool
    streams: http://127.0.0.1:1/mcp
      from HOME/.claude.json
      deny: *__secret, _secret, secret
      ! timeout: infold takes times from a millisecond to a day
    shadowed: user
      from HOME/.claude.json
      deny: *__secret, _secret, secret
    old: not taken: it speaks SSE only, which infold does not
      from HOME/.claude.json
    socket: not taken: it speaks over a WebSocket, which infold does not
      from HOME/.claude.json
    bare: not taken: it has a url and no type, which Claude Code refuses as well
      from HOME/.claude.json
    nothing: not taken: it has no command
      from HOME/.claude.json
    text: not taken: its entry is not an object
      from HOME/.claude.json
    infold: not taken: it is infold itself
      from HOME/.claude.json
    renamed: not taken: it is infold itself
      from HOME/.claude.json
    bad/name: not taken: the name "bad/name" must have 1 to 64 visible characters, none of them "/"
      from HOME/.claude.json
    denied: not taken: deniedMcpServers has it
      from HOME/.claude.json
    denied by command: not taken: deniedMcpServers has it
      from HOME/.claude.json
    note: Claude Code gives programs its whole environment, infold only PATH, HOME and the like: name further variables in env_vars, or "*" for all
    note: servers of plugins and of claude.ai stay with Claude Code
    added 4 servers to HOME/.config/infold/settings.toml
    "#);
    assert_snapshot!(settings(&home), @r#"
    [[gateway.servers]]
    name = "github"
    command = "npx"
    args = ["-y", "x", "--key=c4nary-value", "${GH_HOST:-h}"]
    allow = ["list"]
    deny = ["delete_*", "*__secret", "_secret", "secret"]
    env = { PLAIN = "c4nary-value", TOKEN = "${GH_TOKEN}" }
    timeout_ms = 5000

    [[gateway.servers]]
    name = "docs"
    url = "https://mcp.example/mcp?k=c4nary-value"
    allow = ["read"]
    ask = ["*"]
    deny = ["*__secret", "_secret", "secret"]
    headers = { Authorization = "Bearer c4nary-value" }
    headers_helper = "print-headers"
    oauth = { callback_port = 8123, client_id = "id", metadata_url = "https://auth.example", scopes = ["read", "write"] }

    [[gateway.servers]]
    name = "streams"
    url = "http://127.0.0.1:1/mcp"
    deny = ["*__secret", "_secret", "secret"]

    [[gateway.servers]]
    name = "shadowed"
    command = "user"
    deny = ["*__secret", "_secret", "secret"]
    "#);
    assert_snapshot!(import(&home, &["claude", "--project"]), @r#"
    github: your settings have a server of this name: left as it is
    docs: your settings have a server of this name: left as it is
    streams: your settings have a server of this name: left as it is
    shadowed: your settings have a server of this name: left as it is
    team: team, switched off
      from HOME/project/.mcp.json
      deny: *__secret, _secret, secret
    local: local
      from HOME/.claude.json
      deny: *__secret, _secret, secret
    old: not taken: it speaks SSE only, which infold does not
      from HOME/.claude.json
    socket: not taken: it speaks over a WebSocket, which infold does not
      from HOME/.claude.json
    bare: not taken: it has a url and no type, which Claude Code refuses as well
      from HOME/.claude.json
    nothing: not taken: it has no command
      from HOME/.claude.json
    text: not taken: its entry is not an object
      from HOME/.claude.json
    infold: not taken: it is infold itself
      from HOME/.claude.json
    renamed: not taken: it is infold itself
      from HOME/.claude.json
    bad/name: not taken: the name "bad/name" must have 1 to 64 visible characters, none of them "/"
      from HOME/.claude.json
    denied: not taken: deniedMcpServers has it
      from HOME/.claude.json
    denied by command: not taken: deniedMcpServers has it
      from HOME/.claude.json
    note: Claude Code gives programs its whole environment, infold only PATH, HOME and the like: name further variables in env_vars, or "*" for all
    note: servers of plugins and of claude.ai stay with Claude Code
    added 2 servers to HOME/.config/infold/settings.toml
    "#);
    assert_eq!(fs::read(home.join(".claude.json")).unwrap(), before);
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
fn codex_with_every_field() {
    let home = Home::new();
    write(
        &home,
        ".codex/config.toml",
        r#"
        model = "gpt-5"
        [mcp_servers.github]
        command = "npx"
        args = ["-y", "x", "--key=CANARY", "${NOT_A_VARIABLE}"]
        env = { TOKEN = "CANARY" }
        env_vars = ["GH_TOKEN", { name = "LOCAL", source = "local" }, { name = "FAR", source = "remote" }]
        cwd = "/srv"
        enabled = false
        required = true
        startup_timeout_sec = 1.5
        tool_timeout_sec = 60
        supports_parallel_tool_calls = true
        omit_tools_from = ["code_mode"]
        environment_id = "e"
        name = "GitHub"
        default_tools_approval_mode = "prompt"
        enabled_tools = ["get", "delete"]
        disabled_tools = ["delete"]
        tools.get.approval_mode = "approve"
        tools.delete.approval_mode = "prompt"
        [mcp_servers.docs]
        url = "https://docs.example/CANARY"
        bearer_token_env_var = "DOCS_TOKEN"
        http_headers = { X-Key = "CANARY" }
        env_http_headers = { X-Team = "TEAM" }
        http_headers_helper = "print-headers"
        auth = "oauth"
        scopes = ["read"]
        oauth = { client_id = "id", callback_port = 8123 }
        oauth_resource = "https://docs.example"
        startup_timeout_ms = 700
        default_tools_approval_mode = "approve"
        tools.write.approval_mode = "auto"
        [mcp_servers.nothing]
        enabled = true
    "#,
    );
    write(&home, "project/.codex/config.toml", "[mcp_servers.team]\ncommand = 'team'\n");
    assert_snapshot!(import(&home, &["codex"]), @r#"
    docs: https://docs.example/...
      from HOME/.codex/config.toml
      ask: write
      allow: *
      ! auth: infold logs in if the server wants that
      ! oauth_resource: infold asks for the server's own address
      ! the variable DOCS_TOKEN is not set: set it, or write ${DOCS_TOKEN:-default}
      ! the variable TEAM is not set: set it, or write ${TEAM:-default}
    github: npx (4 arguments), switched off
      from HOME/.codex/config.toml
      tools: get, delete
      deny: delete
      ask: *, delete
      ! args: it has ${...}, which Codex leaves as it is and infold replaces
      ! env_vars.FAR: infold has only its own environment
      ! tools.get.approval_mode: "approve" is an exception to "prompt": the stricter mode stays
      ! required: an agent starts without a server that fails, and gets the reason when it calls one
      ! supports_parallel_tool_calls: infold lets calls of every server run side by side
      ! omit_tools_from: infold's rules are the same in every mode
      ! environment_id: infold starts servers on this machine only
      ! name: infold calls a server by its key
      ! the variable NOT_A_VARIABLE is not set: set it, or write ${NOT_A_VARIABLE:-default}
    nothing: not taken: it has neither command nor url
      from HOME/.codex/config.toml
    note: Codex asks about every call that changes something through infold, also of tools that are allowed
    added 2 servers to HOME/.config/infold/settings.toml
    "#);
    assert_snapshot!(settings(&home), @r#"
    [[gateway.servers]]
    name = "docs"
    url = "https://docs.example/c4nary-value"
    allow = ["*"]
    ask = ["write"]
    headers = { Authorization = "Bearer ${DOCS_TOKEN}", X-Key = "c4nary-value", X-Team = "${TEAM}" }
    headers_helper = "print-headers"
    oauth = { callback_port = 8123, client_id = "id", scopes = ["read"] }
    start_timeout_ms = 700

    [[gateway.servers]]
    name = "github"
    command = "npx"
    args = ["-y", "x", "--key=c4nary-value", "${NOT_A_VARIABLE}"]
    ask = ["*", "delete"]
    cwd = "/srv"
    deny = ["delete"]
    enabled = false
    env = { TOKEN = "c4nary-value" }
    env_vars = ["GH_TOKEN", "LOCAL"]
    start_timeout_ms = 1500
    timeout_ms = 60000
    tools = ["get", "delete"]
    "#);
    let again = import(&home, &["codex", "--project"]);
    assert!(again.contains("team: team\n  from HOME/project/.codex/config.toml\n"), "{again}");
}

#[test]
fn opencode_with_every_field() {
    let home = Home::new();
    write(
        &home,
        ".config/opencode/opencode.jsonc",
        r#"{
        // Servers.
        "mcp": {
            "git hub": {
                "type": "local", "command": ["npx", "-y", "{env:PACKAGE}", "--key=CANARY"], "cwd": "tools",
                "environment": {"TOKEN": "{env:GH_TOKEN}", "KEY": "{file:~/.CANARY}", "LITERAL": "${X}"},
                "enabled": false, "timeout": 9000
            },
            "docs": {
                "type": "remote", "url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer {env:DOCS}"},
                "oauth": {"clientId": "id", "clientSecret": "CANARY", "scope": "a b", "callbackPort": 8123,
                          "redirectUri": "http://127.0.0.1"}
            },
            "plain": {"type": "remote", "url": "https://plain.example", "oauth": false},
            "file": {"type": "local", "command": ["x", "{file:CANARY}"]},
            "gone": {"enabled": false},
            "odd": {"type": "sse", "url": "https://odd.example"},
            "empty": {"type": "local", "command": []}
        },
        "tools": {"plain_*": false},
        "permission": {
            "edit": "ask", "git_hub_*": "deny", "git_hub_get": "allow", "git_hub_post": "ask", "docs_*": "ask",
            "docs_read": "allow", "docs_list": "allow", "*_drop": "deny", "docs_rea?": "deny", "bash": {"*": "ask", "git *": "allow"}
        },
        "agent": {"plan": {"tools": {"docs_*": false}}}
    }"#,
    );
    write(
        &home,
        "project/opencode.json",
        r#"{"mcp": {"docs": {"url": "https://new.example/mcp"}, "team": {"type": "local", "command": ["team"]}}}"#,
    );
    assert_snapshot!(import(&home, &["opencode"]), @r#"
    git hub: npx (3 arguments), switched off
      from HOME/.config/opencode/opencode.jsonc
      tools: get, post
      deny: *_drop, drop
      ask: post
      allow: get
      ! environment: it has ${...}, which OpenCode leaves as it is and infold replaces
      ! environment.KEY: infold reads no {file:...}: write it as a ${VARIABLE}
      ! the variable PACKAGE is not set: set it, or write ${PACKAGE:-default}
      ! the variable X is not set: set it, or write ${X:-default}
      ! the variable GH_TOKEN is not set: set it, or write ${GH_TOKEN:-default}
    docs: https://docs.example/mcp
      from HOME/.config/opencode/opencode.jsonc
      deny: *_drop, drop, rea*
      ask: *
      ! oauth.clientSecret: infold logs in without a client secret
      ! oauth.redirectUri: infold makes the address from the port
      ! permission.docs_rea?: "docs_rea?": infold takes the ? for a *
      ! permission.docs_list: "list" is an exception to ask "*": the stricter rule stays
      ! the variable DOCS is not set: set it, or write ${DOCS:-default}
    plain: https://plain.example
      from HOME/.config/opencode/opencode.jsonc
      deny: *, *_drop, drop
      ! oauth: infold offers a login if the server wants one
    file: not taken: its command has a {file:...}, which infold does not read
      from HOME/.config/opencode/opencode.jsonc
    odd: not taken: infold does not know its type "sse"
      from HOME/.config/opencode/opencode.jsonc
    empty: not taken: its command is empty
      from HOME/.config/opencode/opencode.jsonc
    note: OpenCode gives programs its whole environment, infold only PATH, HOME and the like: name further variables in env_vars, or "*" for all
    note: rules of single agents are not taken: infold has the same rules for all
    added 3 servers to HOME/.config/infold/settings.toml
    "#);
    assert_snapshot!(settings(&home), @r#"
    [[gateway.servers]]
    name = "git hub"
    command = "npx"
    args = ["-y", "${PACKAGE}", "--key=c4nary-value"]
    allow = ["get"]
    ask = ["post"]
    cwd = "tools"
    deny = ["*_drop", "drop"]
    enabled = false
    env = { LITERAL = "${X}", TOKEN = "${GH_TOKEN}" }
    start_timeout_ms = 9000
    tools = ["get", "post"]

    [[gateway.servers]]
    name = "docs"
    url = "https://docs.example/mcp"
    ask = ["*"]
    deny = ["*_drop", "drop", "rea*"]
    headers = { Authorization = "Bearer ${DOCS}" }
    oauth = { callback_port = 8123, client_id = "id", scopes = ["a", "b"] }

    [[gateway.servers]]
    name = "plain"
    url = "https://plain.example"
    deny = ["*", "*_drop", "drop"]
    "#);
    let other = Home::new();
    for path in [".config/opencode/opencode.jsonc", "project/opencode.json"] {
        other.write(path, &fs::read_to_string(home.join(path)).unwrap());
    }
    let with_project = import(&other, &["opencode", "--project"]);
    assert!(
        with_project.contains("docs: https://new.example/mcp\n  from HOME/project/opencode.json\n"),
        "{with_project}"
    );
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
    oauth = { client_id = "x" }
    "#);
}

#[test]
fn a_file_in_the_form_that_most_clients_share() {
    let home = Home::new();
    write(
        &home,
        "mcp.json",
        r#"{"mcpServers": {
        "a": {"command": "a", "env": {"K": "${env:KEY}"}, "cwd": "/", "envFile": ".env", "disabled": true},
        "b": {"url": "https://b.example/mcp"}
    }}"#,
    );
    assert_snapshot!(import(&home, &["../../mcp.json"]), @"
    a: a, switched off
      from ../../mcp.json
      ! envFile: infold reads no files of variables: write them into env
      ! the variable KEY is not set: set it, or write ${KEY:-default}
    b: https://b.example/mcp
      from ../../mcp.json
    added 2 servers to HOME/.config/infold/settings.toml
    ");
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
