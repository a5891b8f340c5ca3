//! `infold run --gateway`: servers of an agent's own files are behind infold for one run, and the files stay as they are.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Result;
use infold_testkit::{Era, McpHttp};
use serde_json::{Value, json};

use crate::cli::home::{Ended, Home};
use crate::gateway::HANDSHAKE;
use crate::run::stand_in::StandIn;

/// Shows what an agent gets, and waits until the test lets it end.
const SHOWS: &str = "printf '%s\\n' \"$@\"; echo \"$OPENCODE_CONFIG_CONTENT\"; echo END; read line; exit 0";

/// What a server is started with: it notes that it was, lists two tools, and answers every call.
fn script(name: &str) -> String {
    let input = json!({"type": "object"});
    let tools = json!({"tools": [
        {"name": "look", "inputSchema": input, "annotations": {"readOnlyHint": true}},
        {"name": "write", "inputSchema": input},
        {"name": "drop", "inputSchema": input},
    ]});
    let answer = json!({"content": [{"type": "text", "text": format!("{name} answers")}]});
    format!(
        "echo {name} >> $HOME/started\n{HANDSHAKE} shake\nwhile :; do next; case \"$line\" in\n\
         *tools/list*) answer $id '{tools}' ;; *tools/call*) answer $id '{answer}' ;; esac; done"
    )
}

/// An agent that runs, and what it was given.
struct StandInRun<'a> {
    agent: &'a StandIn,
    child: Child,
    given: Vec<String>,
    files: BTreeMap<String, Vec<u8>>,
}

impl<'a> StandInRun<'a> {
    fn start(agent: &'a StandIn, arguments: &[&str]) -> Self {
        let files = user_files(&agent.home);
        let flags = ["--set", "gateway.list_wait_ms=20000"];
        let mut child = agent.gateway_command(&flags, arguments).env("KEY", "k").stdin(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let given = lines.take_while(|line| line != "END").collect();
        Self { agent, child, given, files }
    }

    /// The value of an option that is written with `=`.
    fn option(&self, option: &str) -> Value {
        let found = self.given.iter().find_map(|word| word.strip_prefix(option)?.strip_prefix('='));
        serde_json::from_str(found.unwrap()).unwrap()
    }

    /// Lets the agent end. The user's files must be as they were.
    fn end(mut self) -> Ended {
        self.child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let ended = self.agent.home.ended(self.child.wait_with_output().unwrap());
        assert_eq!(user_files(&self.agent.home), self.files, "a file of the user was changed");
        ended
    }
}

/// All files of a home but infold's own data and what servers note.
fn user_files(home: &Home) -> BTreeMap<String, Vec<u8>> {
    fn add(folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.path() {
                path if path.ends_with(".local") || path.ends_with("started") => {}
                path if path.is_dir() => add(&path, files),
                path => drop(files.insert(path.display().to_string(), fs::read(path).unwrap())),
            }
        }
    }
    let mut files = BTreeMap::new();
    add(&home.join(""), &mut files);
    files
}

fn started(home: &Home) -> Vec<String> {
    let text = fs::read_to_string(home.join("started")).unwrap_or_default();
    let mut names: Vec<String> = text.lines().map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

async fn connect(url: &str) -> Result<McpHttp> {
    Ok(McpHttp::connect_at(reqwest::Client::builder().no_proxy().build()?, url.to_owned(), Era::Legacy).await?)
}

async fn names(client: &McpHttp) -> Result<Vec<String>> {
    let tools = client.list_tools().await?;
    Ok(tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect())
}

/// Claude Code's files: a server that can be taken, others that cannot, rules, and one of the project.
fn claude() -> StandIn {
    let agent = StandIn::new("claude", SHOWS);
    let server = |name: &str| json!({"command": "sh", "args": ["-c", script(name)]});
    let own = json!({"mcpServers": {
        "notes": server("notes"),
        "old": {"type": "sse", "url": "http://old.example/sse"},
        "unset": {"command": "x", "env": {"A": "${NOT_SET_ANYWHERE}"}},
        "made": {"type": "http", "url": "http://made.example/mcp", "headersHelper": "make-headers"},
    }});
    agent.home.write(".claude.json", &own.to_string());
    let rules = json!({"permissions": {
        "deny": ["mcp__notes__drop"], "allow": ["mcp__notes__look", "mcp__notes__write", "mcp__notes__sign"],
        "ask": ["mcp__notes__sign"],
    }});
    agent.home.write(".claude/settings.json", &rules.to_string());
    agent.home.write("project/.mcp.json", &json!({"mcpServers": {"theirs": server("theirs")}}).to_string());
    agent
}

/// Asks the hook that Claude Code was given what it may do through `tool_call`, as Claude Code asks.
fn assert_rules_are_carried(agent: &StandIn, hook: &Value) {
    assert!(hook["matcher"].as_str().unwrap().contains("mcp__.*"));
    let command = hook["hooks"][0]["command"].as_str().unwrap();
    assert!(!command.contains("notes"), "the rules are in a file: {command}");
    let decide = |tool: &str, target: &str, mode: &str| {
        let input = json!({"name": target, "arguments": {}});
        let question = json!({"tool_name": tool, "tool_input": input, "permission_mode": mode});
        let mut asked = Command::new("sh")
            .args(["-c", command])
            .env("HOME", agent.home.join(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        asked.stdin.take().unwrap().write_all(question.to_string().as_bytes()).unwrap();
        let answered = asked.wait_with_output().unwrap();
        assert!(answered.status.success(), "{answered:?}");
        let answer: Value = serde_json::from_slice(&answered.stdout).unwrap_or_default();
        answer["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("none").to_owned()
    };
    let call = "mcp__infold__tool_call";
    for (target, decision) in [
        ("notes__write", "allow"),
        ("notes/write", "allow"),
        ("notes__sign", "ask"),
        ("notes/sign", "ask"),
        ("notes__drop", "deny"),
        ("notes__other", "none"),
        ("notes__write_more", "none"),
        ("", "none"),
    ] {
        assert_eq!(decide(call, target, "default"), decision, "{target}");
    }
    assert_eq!(decide(call, "notes__write", "plan"), "none", "in the mode plan nothing may be changed");
    assert_eq!(decide("mcp__servers__tool_call", "notes__write", "default"), "none", "it is another server's tool");
}

#[tokio::test]
async fn claude_code_reaches_its_servers_through_infold_and_only_so() -> Result<()> {
    let agent = claude();
    let running =
        StandInRun::start(&agent, &["--settings", "{\"deniedMcpServers\": [{\"serverName\": \"mine\"}]}", "-p"]);

    let settings = running.option("--settings");
    assert_eq!(
        settings["deniedMcpServers"],
        json!([{"serverName": "mine"}, {"serverName": "notes"}, {"serverName": "made"}])
    );
    let allowed: Vec<&str> =
        settings["permissions"]["allow"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(allowed.contains(&"mcp__infold__branch_create") && allowed.contains(&"mcp__infold__tool_call_read"));
    assert!(allowed.contains(&"mcp__servers__notes__look"), "{allowed:?}");
    assert!(!allowed.contains(&"mcp__infold") && !allowed.contains(&"mcp__infold__tool_call"), "{allowed:?}");
    assert_rules_are_carried(&agent, &settings["hooks"]["PreToolUse"][0]);
    let servers = running.option("--mcp-config")["mcpServers"].clone();
    assert_eq!(servers["servers"]["alwaysLoad"], Value::Null);
    assert_eq!(servers["infold"]["alwaysLoad"], true);

    let own = connect(servers["infold"]["url"].as_str().unwrap()).await?;
    let others = connect(servers["servers"]["url"].as_str().unwrap()).await?;
    assert_eq!(names(&others).await?, ["notes__look", "notes__write"], "what is denied is not listed");
    let listed = names(&own).await?;
    assert!(listed.contains(&"tool_call".to_owned()) && !listed.iter().any(|name| name.contains("notes")));
    assert_eq!(others.call("notes__look", json!({})).await?.text, "notes answers");
    let through = json!({"name": "notes__look", "arguments": {}});
    assert_eq!(own.call("tool_call_read", through).await?.text, "notes answers");
    assert!(
        others.call("branch_status", json!({})).await.is_ok_and(|answer| answer.is_error),
        "an own tool was called"
    );
    assert!(others.call("notes__drop", json!({})).await.is_ok_and(|answer| answer.is_error), "it is denied");

    let ended = running.end();
    assert_eq!(started(&agent.home), ["notes"], "a server of the project was started");
    for note in [
        "server old stays with Claude Code: it speaks SSE only",
        "server unset stays with Claude Code: the variable NOT_SET_ANYWHERE is not set",
        "server theirs stays with Claude Code: it is the project's, and waits for `infold approve theirs`",
        "servers of Claude Code behind the gateway for this run: notes, made",
        "infold: 2 calls of 1 server; 0 results stored",
    ] {
        assert!(ended.stderr.contains(note), "{note}: {}", ended.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn codex_reaches_its_servers_through_infold_and_only_so() -> Result<()> {
    let agent = StandIn::new("codex", SHOWS);
    let text = format!(
        "[mcp_servers.\"my.notes\"]\ncommand = \"sh\"\nargs = [\"-c\", {}]\ndisabled_tools = [\"drop\"]\n\
         [mcp_servers.\"my.notes\".tools.write]\napproval_mode = \"prompt\"\n\
         [mcp_servers.\"my.notes\".tools.look]\napproval_mode = \"approve\"\n[mcp_servers.off]\ncommand = \"x\"\n",
        toml::Value::String(script("notes"))
    );
    agent.home.write(".codex/config.toml", &text);
    let theirs = "[mcp_servers.theirs]\ncommand = \"sh\"\nargs = [\"-c\", \"echo theirs >> $HOME/started\"]\n";
    agent.home.write("project/.codex/config.toml", theirs);
    let running = StandInRun::start(&agent, &["-c", "mcp_servers.off.enabled=false", "exec", "hi"]);

    let setting = running.given.iter().find_map(|word| word.strip_prefix("mcp_servers=")).unwrap();
    let servers: toml::Table = format!("all = {setting}").parse()?;
    let servers = servers["all"].as_table().unwrap();
    assert_eq!(servers["my.notes"].to_string(), "{ enabled = false }");
    assert!(!servers.contains_key("theirs") && !servers.contains_key("off"), "{servers}");
    let infold = servers["infold"].as_table().unwrap();
    assert_eq!(infold["tool_timeout_sec"].as_integer(), Some(610));
    assert_eq!(infold["tools"]["branch_create"]["approval_mode"].as_str(), Some("approve"));
    assert!(!infold.contains_key("default_tools_approval_mode") && infold["tools"].get("tool_call").is_none());
    let others = servers["servers"].as_table().unwrap();
    assert_eq!(others["tool_timeout_sec"].as_integer(), Some(610));
    assert_eq!(others["tools"]["my_notes__write"]["approval_mode"].as_str(), Some("prompt"));
    let listed = running.given.iter().find(|word| word.contains("direct_only_tool_namespaces"));
    assert!(listed.is_none_or(|listed| !listed.contains("mcp__servers")), "{listed:?}");

    let client = connect(others["url"].as_str().unwrap()).await?;
    assert_eq!(names(&client).await?, ["my_notes__look", "my_notes__write"]);
    assert_eq!(client.call("my_notes__write", json!({})).await?.text, "notes answers");

    let ended = running.end();
    assert_eq!(started(&agent.home), ["notes"]);
    assert!(ended.stderr.contains("server off stays with Codex: its command line changes it"), "{}", ended.stderr);
    assert!(ended.stderr.contains("server theirs stays with Codex: it is the project's"), "{}", ended.stderr);
    assert!(ended.stderr.contains("Codex asks about what is called through tool_call"), "{}", ended.stderr);
    assert!(ended.stderr.contains("1 call of 1 server; 0 results stored"), "{}", ended.stderr);
    Ok(())
}

#[tokio::test]
async fn opencode_reaches_its_servers_through_infold_and_only_so() -> Result<()> {
    let agent = StandIn::new("opencode", SHOWS);
    let server = |name: &str| json!({"type": "local", "command": ["sh", "-c", script(name)]});
    let own = json!({
        "mcp": {"notes": server("notes"), "servers": {"type": "local", "command": ["x"], "enabled": false}},
        "permission": {"notes_write": "ask", "notes_drop": "deny"},
    });
    agent.home.write(".config/opencode/opencode.json", &own.to_string());
    agent.home.write("project/opencode.json", &json!({"mcp": {"theirs": server("theirs")}}).to_string());
    let running = StandInRun::start(&agent, &["run", "hi"]);

    let content: Value = serde_json::from_str(running.given.last().unwrap())?;
    assert_eq!(content["mcp"]["notes"], json!({"enabled": false}));
    assert_eq!(content["mcp"]["theirs"], Value::Null);
    assert_eq!(content["permission"]["gateway_notes__write"], "ask");
    assert_eq!(content["permission"]["infold_tool_call"], "ask");
    assert_eq!(content["mcp"]["servers"], Value::Null, "the name is the user's");
    let client = connect(content["mcp"]["gateway"]["url"].as_str().unwrap()).await?;
    assert_eq!(names(&client).await?, ["notes__look", "notes__write"]);
    assert_eq!(client.call("notes__look", json!({})).await?.text, "notes answers");

    let ended = running.end();
    assert_eq!(started(&agent.home), ["notes"]);
    assert!(ended.stderr.contains("server theirs stays with OpenCode: it is the project's"), "{}", ended.stderr);
    Ok(())
}

#[test]
fn a_server_that_the_settings_have_too_is_hosted_once_and_one_of_another_name_stays() {
    let agent = StandIn::new("claude", SHOWS);
    let own = json!({"mcpServers": {
        "notes": {"command": "sh", "args": ["-c", script("notes")]}, "same": {"command": "other-program"},
    }});
    agent.home.write(".claude.json", &own.to_string());
    let args = toml::Value::Array(vec!["-c".into(), script("notes").into()]);
    let settings = format!(
        "run.gateway = true\n[[gateway.servers]]\nname = \"mine\"\ncommand = \"sh\"\nargs = {args}\n\
         [[gateway.servers]]\nname = \"same\"\ncommand = \"no-such-program\"\n"
    );
    agent.home.write(".config/infold/settings.toml", &settings);
    let ended = agent.run(&["--json"], &[]);
    let settings = ended.stdout.lines().find_map(|line| line.strip_prefix("--settings=")).unwrap();
    let settings: Value = serde_json::from_str(settings).unwrap();
    assert_eq!(settings["deniedMcpServers"], json!([{"serverName": "notes"}]));
    let summary: Value = serde_json::from_str(ended.stderr.lines().last().unwrap()).unwrap();
    let notes = summary["notes"].to_string();
    assert!(notes.contains("server same stays with Claude Code: infold's settings have another"), "{notes}");
}

#[test]
fn without_servers_the_agent_is_wired_as_ever_and_a_note_says_why() {
    let agent = StandIn::new("claude", "printf '%s\\n' \"$@\"");
    let ended = agent.home.ended(agent.gateway_command(&[], &["-p"]).output().unwrap());
    assert!(ended.stdout.contains("\"mcp__infold\"") && !ended.stdout.contains("/mcp/servers"), "{}", ended.stdout);
    assert!(ended.stderr.contains("no servers taken from Claude Code: there is no file"), "{}", ended.stderr);

    let agent = StandIn::new("goose", "true");
    let ended = agent.home.ended(agent.gateway_command(&[], &[]).output().unwrap());
    assert!(ended.stderr.contains("infold does not read servers of goose"), "{}", ended.stderr);
}

#[tokio::test]
async fn a_projects_server_is_used_once_it_is_approved() -> Result<()> {
    let agent = claude();
    let shown = agent.home.run(&["approve"]);
    assert!(
        shown.stdout.starts_with("theirs is a server of the project HOME/project\n  \"sh\" \"-c\""),
        "{}",
        shown.stdout
    );
    let approved = agent.home.run(&["approve", "theirs"]);
    assert_eq!((approved.code, approved.stdout.as_str()), (0, "approved theirs\n"));

    let running = StandInRun::start(&agent, &[]);
    let denied = running.option("--settings")["deniedMcpServers"].to_string();
    assert!(denied.contains("theirs"), "{denied}");
    let servers = running.option("--mcp-config")["mcpServers"].clone();
    let others = connect(servers["servers"]["url"].as_str().unwrap()).await?;
    assert!(names(&others).await?.contains(&"theirs__look".to_owned()));
    running.end();
    assert_eq!(started(&agent.home), ["notes", "theirs"]);
    Ok(())
}
