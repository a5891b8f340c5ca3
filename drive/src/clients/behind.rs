//! `infold run --gateway` with the real agents, unchanged: a server of their own files is used through infold, directly
//! and found by infold's search, and nothing else of them starts it. Their files stay as they are.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use infold_testkit::model::{Decision, Received, Script, Step};
use serde_json::{Value, json};

use super::agents::{AgentEnded, Agents, RealAgent, ended};
use super::run::{ASKED, FINISHED, Scene};

/// What the server answers to every call.
const ANSWERED: &str = "the harbour log has 12 pages";

/// A server that lists two tools, and notes every start and call.
const SERVER: &str = r#"
echo start >> $HOME/calls
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while IFS= read -r line; do
    id=${line#*\"id\":}; id=${id%%,*}
    case "$line" in
    *'"initialize"'*) answer $id '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer $id '{"tools":[{"name":"look","description":"Looks into the harbour log","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"write","description":"Writes into the harbour log","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) echo "$line" >> $HOME/calls; case "$line" in *'"look"'*) sleep SILENCE ;; esac; answer $id '{"content":[{"type":"text","text":"the harbour log has 12 pages"}]}' ;;
    *'"method":"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    esac
done
"#;

/// How the tools of the server are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// They are listed, and called by their names.
    Direct,
    /// They are not listed, and called through infold's tools.
    Deferred,
}

/// Uses the server with an agent. The server says nothing for some seconds before it answers the first call.
pub async fn check(
    agents: &Agents,
    binary: &Path,
    agent: RealAgent,
    (reach, silence_seconds): (Reach, u32),
) -> Result<()> {
    let steps = match reach {
        Reach::Direct => vec![load(agent), by_name()],
        Reach::Deferred => {
            vec![search(agent), through(agent, "tool_call_read", "look"), through(agent, "tool_call", "write")]
        }
    };
    let scene = Scene::start(|_| Script::new(steps.into_iter().chain([Step::text(FINISHED)]))).await?;
    let mut command = agents.around(agent, binary, &scene.home, scene.model.base_url())?;
    let files = write_files(&scene, agent, silence_seconds)?;
    if reach == Reach::Deferred {
        command.args(["--set", "gateway.deferral_tokens=1"]);
    }
    command.args(["run", "--gateway", agent.name()]).args(agent.asking(ASKED));
    let ended =
        ended(command).await.with_context(|| format!("what the model was shown last:\n{}", scene.last_shape()))?;

    for (file, before) in files {
        ensure!(std::fs::read_to_string(&file)? == before, "{} was changed", file.display());
    }
    check_turns(&scene, &ended, agent, reach)
}

fn check_turns(scene: &Scene, ended: &AgentEnded, agent: RealAgent, reach: Reach) -> Result<()> {
    ensure!(ended.stdout.contains(FINISHED), "the agent ended with {}\n{}", ended.stdout, scene.last_shape());
    scene.nothing_broken()?;
    let turns = scene.model.turns();
    let (first, last) = (turns.first().context("nothing was sent")?, turns.last().context("nothing was sent")?);
    ensure!(first.spelled("branch_create").is_some(), "infold's own tools are not loaded");
    let is_loaded = first.spelled("notes__look").is_some();
    let may_be = reach == Reach::Direct && agent == RealAgent::Opencode;
    ensure!(is_loaded == may_be, "tools of the server are loaded from the start: {is_loaded}");
    let long = first.tools().iter().map(infold_testkit::model::Tool::spelled).find(|name| name.len() > 64);
    ensure!(long.is_none(), "a name is too long: {long:?}");

    let calls = std::fs::read_to_string(scene.home.path().join("calls"))?;
    let (starts, calls): (Vec<&str>, Vec<&str>) = calls.lines().partition(|line| *line == "start");
    ensure!(starts.len() == 1, "the server was started {} times", starts.len());
    // Nobody is there who could be asked whether Claude Code may write.
    let wanted = match (reach, agent) {
        (Reach::Direct, _) | (Reach::Deferred, RealAgent::Claude) => 1,
        (Reach::Deferred, RealAgent::Codex | RealAgent::CodexScripts | RealAgent::Opencode) => 2,
    };
    ensure!(calls.len() == wanted, "{} calls reached the server:\n{}", calls.len(), last.shape());
    ensure!(last.shows_times(ANSWERED) == wanted, "the answer is not shown:\n{}", last.shape());
    let summary = format!("{wanted} call{} of 1 server; 0 results stored", if wanted == 1 { "" } else { "s" });
    ensure!(ended.stderr.contains(&summary), "nothing says what was called:\n{}", ended.stderr);
    Ok(())
}

/// Adds the server to the agent's files, and returns what they are then.
fn write_files(scene: &Scene, agent: RealAgent, silence_seconds: u32) -> Result<Vec<(PathBuf, String)>> {
    let home = &scene.home;
    let script = home.path().join("server.sh");
    std::fs::write(&script, SERVER.replace("SILENCE", &silence_seconds.to_string()))?;
    let files = match agent {
        RealAgent::Claude => {
            std::fs::create_dir_all(home.claude())?;
            let rules = json!({"permissions": {"allow": ["mcp__notes__look"]}});
            std::fs::write(home.claude().join("settings.json"), rules.to_string())?;
            let servers = json!({"mcpServers": {"notes": {"command": "sh", "args": [script]}}});
            std::fs::write(home.claude().join(".claude.json"), servers.to_string())?;
            // Claude Code itself writes into its other file.
            vec![home.claude().join("settings.json")]
        }
        RealAgent::Codex | RealAgent::CodexScripts => {
            let file = home.codex().join("config.toml");
            let entry = format!("[mcp_servers.notes]\ncommand = \"sh\"\nargs = [{:?}]\n", script.display().to_string());
            std::fs::write(&file, std::fs::read_to_string(&file)? + &entry)?;
            vec![file]
        }
        RealAgent::Opencode => {
            let file = home.path().join(".config/opencode/opencode.json");
            let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
            // OpenCode adds this to a file that lacks it.
            config["$schema"] = json!("https://opencode.ai/config.json");
            config["mcp"]["notes"] = json!({"type": "local", "command": ["sh", script]});
            std::fs::write(&file, config.to_string())?;
            vec![file]
        }
    };
    files.into_iter().map(|file| Ok((file.clone(), std::fs::read_to_string(file)?))).collect()
}

/// Loads the server's tool with the agent's own search; is skipped where it is listed.
fn load(agent: RealAgent) -> Step {
    Step::seeing(move |received| {
        if received.spelled("notes__look").is_some() {
            return Decision::Skip;
        }
        let Some(tool) = received.search_tool() else {
            return Decision::Stuck("no tool of the server is listed, and none that finds it".to_owned());
        };
        let query = match agent {
            RealAgent::Claude => json!({"query": "select:mcp__servers__notes__look", "max_results": 3}),
            RealAgent::Codex | RealAgent::CodexScripts | RealAgent::Opencode => {
                json!({"query": "look into the harbour log", "limit": 3})
            }
        };
        Decision::Say(Step::calling_one("I need the log.", tool, query))
    })
}

fn by_name() -> Step {
    Step::seeing(|received| match received.spelled("notes__look") {
        Some(tool) => Decision::Say(Step::calling_one("I look.", tool, json!({}))),
        None => Decision::Stuck("the model cannot reach the server's tool".to_owned()),
    })
}

/// Finds the server's tools with infold's search.
fn search(agent: RealAgent) -> Step {
    Step::seeing(move |received| call_own(received, agent, "tool_search", &json!({"query": "harbour log"})))
}

/// Calls a tool of the server with one of infold's.
fn through(agent: RealAgent, tool: &'static str, target: &'static str) -> Step {
    let arguments = json!({"name": format!("notes__{target}"), "arguments": {}});
    Step::seeing(move |received| call_own(received, agent, tool, &arguments))
}

/// Calls one of infold's tools. The agents' own search tool may have the same name, so the whole name is looked for.
fn call_own(received: &Received, agent: RealAgent, tool: &str, arguments: &Value) -> Decision {
    let name = match agent {
        RealAgent::Claude | RealAgent::Codex | RealAgent::CodexScripts => format!("mcp__infold__{tool}"),
        RealAgent::Opencode => format!("infold_{tool}"),
    };
    match received.tools().iter().any(|known| known.spelled() == name) {
        true => Decision::Say(Step::calling_one("I ask infold.", name, arguments.clone())),
        false => Decision::Stuck(format!("the model cannot reach {name}")),
    }
}
