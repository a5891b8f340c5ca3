//! Servers in the settings: what is read, what is refused, and what nobody gets to see.

use insta::assert_snapshot;
use serde_json::Value;

use super::HANDSHAKE;
use crate::cli::home::Home;

const FILE: &str = ".config/infold/settings.toml";

/// What must never be printed.
const CANARY: &str = "c4nary-value";

fn home(settings: &str) -> Home {
    let home = Home::new();
    home.write(FILE, &settings.replace("CANARY", CANARY));
    home
}

const TWO: &str = r#"
[[gateway.servers]]
name = "github"
command = "npx"
args = ["-y", "server", "--token=CANARY"]
env = { GITHUB_TOKEN = "CANARY", OTHER = "${HOME}" }
env_vars = ["LANG"]
cwd = "/"
prefix = "gh_"
shared = true
skill = true
trust_hints = false
timeout_ms = 1000
start_timeout_ms = 2000
tools = ["get_*"]
deny = ["get_secret"]
ask = ["get_all"]
allow = ["get_one"]

[[gateway.servers]]
name = "My server"
url = "https://me:CANARY@mcp.example:8443/s/CANARY/mcp?key=CANARY"
headers = { Authorization = "Bearer CANARY" }
headers_helper = "print CANARY"
oauth = { client_id = "CANARY", client_secret = "CANARY", scopes = ["a"], callback_port = 8000, metadata_url = "https://CANARY" }

[[gateway.servers]]
name = "off"
command = "off"
enabled = false
"#;

#[test]
fn servers_are_listed_and_no_value_is_shown() {
    let home = home(TWO);
    assert_snapshot!(home.run(&["servers"]).stdout, @"
    NAME       STATE       TOOLS  TOKENS  CALLS  P50  P95  ERRORS  LAST  SERVER
    github     configured      0       0      0    -    -       0  -     npx (3 arguments)
    My server  configured      0       0      0    -    -       0  -     https://mcp.example:8443/...
    off        off             0       0      0    -    -       0  -     off
    ");
    let listed: Value = serde_json::from_str(&home.run(&["servers", "--json"]).stdout).unwrap();
    let states = listed["servers"].as_array().unwrap().iter().map(|server| server["state"].as_str().unwrap());
    assert_eq!(states.collect::<Vec<_>>(), ["configured", "configured", "off"]);
    assert_snapshot!(format!("{:#}", listed["servers"][0]), @r#"
    {
      "name": "github",
      "server": "npx (3 arguments)",
      "origin": "HOME/.config/infold/settings.toml",
      "state": "configured",
      "detail": null,
      "era": null,
      "tools": 0,
      "withheld": 0,
      "definition_tokens": 0,
      "calls": 0,
      "errors": 0,
      "tokens_in": 0,
      "tokens_out": 0,
      "offloaded": 0,
      "latency_ms": {
        "p50": null,
        "p95": null
      },
      "last_at": null
    }
    "#);
    let shown = home.run(&["settings"]).stdout;
    let line = shown.lines().find(|line| line.starts_with("gateway.servers")).unwrap();
    assert_snapshot!(line.split_whitespace().collect::<Vec<_>>().join(" "), @r#"gateway.servers ["github", "My server", "off"] HOME/.config/infold/settings.toml:2"#);
    for command in [&["servers"][..], &["servers", "--json"], &["settings"], &["settings", "--json"], &["doctor"]] {
        let ended = home.run(command);
        assert!(!format!("{}{}", ended.stdout, ended.stderr).contains(CANARY), "{command:?}");
    }
    assert!(home.run(&["settings", "--json"]).stdout.contains("\"My server\""));
}

#[test]
fn without_servers_the_list_says_how_to_get_some() {
    let ended = Home::new().run(&["servers"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""));
    assert_snapshot!(ended.stderr, @"note: the settings name no servers; `infold servers import` takes those of an agent");
    assert_snapshot!(Home::new().run(&["servers", "--json"]).stdout, @r#"
    {
      "servers": []
    }
    "#);
}

#[test]
fn everything_that_is_wrong_with_servers_is_named_without_values() {
    let home = home(
        r#"
        [[gateway.servers]]
        name = "odd"
        comand = "CANARY"
        command = "x"
        env = "CANARY"
        args = ["a", 5]
        headers = { A = "CANARY" }
        timeout_ms = 0
        shared = "CANARY"
        [[gateway.servers]]
        url = "https://CANARY"
        oauth = { secret = "CANARY", callback_port = 70000 }
        [[gateway.servers]]
        name = "both"
        url = "https://CANARY"
        command = "CANARY"
        [[gateway.servers]]
        name = "none"
        "#,
    );
    let ended = home.run(&["servers"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (3, ""));
    let problems: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("error")).collect();
    assert_snapshot!(problems.join("\n"), @r#"
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server "odd": unknown field `comand`; known are name, prefix, shared, skill, trust_hints, timeout_ms, start_timeout_ms, tools, deny, ask, allow, enabled, command, args, env, env_vars, cwd, url, headers, headers_helper, oauth
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server "odd": `headers` is only for a server with `url`
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server "odd": `args` must be a list of texts, such as ["a", "b"]
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server "odd": `env` must be a table of texts, such as { NAME = "value" }
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server "odd": `shared` must be true or false
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server "odd": `timeout_ms` must be a whole number from 1 to 86400000
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server number 2: unknown field `oauth.secret`; known are client_id, client_secret, scopes, callback_port, metadata_url
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server number 2: `oauth.callback_port` must be a whole number from 1 to 65535
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server number 2: `name` is missing
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server "both": it has both `command` and `url`: give one of them
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server "none": it has neither `command` nor `url`: give one of them
    "#);
    assert!(!ended.stderr.contains(CANARY), "{}", ended.stderr);
}

#[test]
fn names_and_addresses_are_checked() {
    let home = home(
        r#"
        [[gateway.servers]]
        name = "a/b"
        command = ""
        [[gateway.servers]]
        name = "web"
        url = "wss://me:CANARY@example"
        headers = { Host = "CANARY" }
        [[gateway.servers]]
        name = "twice"
        command = "a"
        [[gateway.servers]]
        name = "twice"
        command = "b"
        "#,
    );
    let ended = home.run(&["servers", "--set", "gateway.message_bytes_max=2048"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (3, ""));
    assert_snapshot!(ended.stderr, @r#"
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server "a/b": the name "a/b" must have 1 to 64 visible characters, none of them "/"
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server "a/b": command is empty
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server "web": url is a WebSocket's, which infold does not speak: leave this server with its client
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: server "web": headers has "Host": infold sets this one itself
    error: `gateway.servers` in HOME/.config/infold/settings.toml:2: more than one server is called "twice"
      hint: rename all but one of them, or remove them
    error: `gateway.message_bytes_max` = 2048 leaves no room for a result of 16777216 bytes
      hint: raise it to more than 16777216, or lower gateway.result_bytes_max
    "#);
}

#[test]
fn a_variable_that_is_not_set_refuses_one_server_and_the_others_go_on() {
    let home = home(
        r#"
        [[gateway.servers]]
        name = "needs"
        command = "x"
        env = { KEY = "${GATEWAY_KEY}", OTHER = "${OTHER:-CANARY}" }
        [[gateway.servers]]
        name = "other"
        command = "y"
        "#,
    );
    let ended = home.run(&["servers"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    assert_snapshot!(ended.stdout, @"
    NAME   STATE       TOOLS  TOKENS  CALLS  P50  P95  ERRORS  LAST  SERVER
    needs  refused         0       0      0    -    -       0  -     x
    other  configured      0       0      0    -    -       0  -     y
    needs: the variable GATEWAY_KEY is not set: set it, or write ${GATEWAY_KEY:-default}
    ");
    let with = home.command(&["servers"]).env("GATEWAY_KEY", "").output().unwrap();
    assert!(!home.ended(with).stdout.contains("refused"));
    assert_snapshot!(home.run(&["servers", "check", "needs"]).stderr, @"error: needs: the variable GATEWAY_KEY is not set: set it, or write ${GATEWAY_KEY:-default}");
}

#[test]
fn a_project_brings_no_servers() {
    let home = Home::new();
    home.write("project/.infold.toml", "[[gateway.servers]]\nname = 'x'\ncommand = 'c4nary-value'\n");
    let ended = home.run(&["servers"]);
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.contains("`gateway.servers` in HOME/project/.infold.toml:1 cannot be set by a project file"));
    assert!(!ended.stderr.contains(CANARY), "{}", ended.stderr);
}

#[test]
fn a_server_of_the_settings_is_checked_by_its_name() {
    let script = format!(
        "{HANDSHAKE} shake; next; answer $id \"{{\\\"tools\\\":[{{\\\"name\\\":\\\"$KEY-$LANG-$SECRET\\\"}}]}}\"; next"
    );
    let home = Home::new();
    let entry = format!(
        "[[gateway.servers]]\nname = 'local'\ncommand = 'sh'\nargs = ['-c', '''{script}''']\n\
         env = {{ KEY = 'v-${{SECRET}}' }}\nenabled = false\n"
    );
    home.write(FILE, &entry);
    let check = |name: &str| {
        let mut command = home.command(&["servers", "check", name]);
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("SECRET", "s");
        home.ended(command.output().unwrap())
    };
    let ended = check("local");
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    assert!(ended.stdout.contains("  v-s-C.UTF-8-\n"), "{}", ended.stdout);
    assert_snapshot!(check("locale").stderr, @r#"
    error: no server is called "locale"
      hint: the settings have local
    "#);
    assert_snapshot!(home.run(&["servers", "check", "local", "--env", "A"]).stderr, @"
    error: --env, --header and --folder are for servers that are not in the settings
      hint: change the server's entry in your settings
    ");
}
