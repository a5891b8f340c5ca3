//! The agent runs as if infold were not there: its terminal, arguments, signals and exit code are its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::cli::home::Home;
use crate::run::stand_in::StandIn;

/// How long anything that must happen may take. Far longer than it does.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn input_output_and_exit_code_are_the_agents() {
    let agent = StandIn::new("claude", "read line; echo \"said $line\"; echo complained >&2; exit 7");
    let mut child = agent.command(&[], &[]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let ended = agent.home.ended(child.wait_with_output().unwrap());
    assert_eq!(
        (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
        (7, "said hello\n", "complained\ninfold: no requests went through infold\n")
    );
}

#[test]
fn what_follows_the_agents_name_is_the_agents() {
    let agent = StandIn::new("opencode", "printf '%s\\n' \"$@\"");
    let own = ["--json", "-v", "--data", "x", "--set", "a", "--help", "--", "run", "--version"];
    let ended = agent.run(&[], &own);
    assert_eq!(ended.stdout, own.map(|word| format!("{word}\n")).concat());
}

#[test]
fn an_agent_that_a_signal_ended_ends_infold_with_the_code_of_a_shell() {
    let agent = StandIn::new("codex", "kill -KILL $$");
    assert_eq!(agent.run(&[], &[]).code, 128 + 9);
}

#[test]
fn a_signal_to_infold_reaches_the_agent_which_may_take_its_time() {
    for (signal, name) in [(Signal::TERM, "TERM"), (Signal::HUP, "HUP"), (Signal::INT, "INT")] {
        let script = format!("trap 'echo {name}; exit 42' {name}\necho ready\nwhile :; do sleep 0.05; done");
        let agent = StandIn::new("claude", &script);
        let mut child = agent.command(&[], &[]).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{}", complaint(&mut child));

        kill_process(Pid::from_child(&child), signal).unwrap();

        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        assert_eq!((rest.trim(), child.wait().unwrap().code()), (name, Some(42)));
    }
}

#[test]
fn an_agent_ends_with_an_infold_that_was_killed() {
    let agent = StandIn::new("claude", "echo $$; while :; do sleep 0.05; done");
    let mut child = agent.command(&[], &[]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let running = Pid::from_raw(line.trim().parse().unwrap()).unwrap();

    child.kill().unwrap();
    child.wait().unwrap();

    // The agent's standard output is closed when the last of its processes has ended.
    let (gone, wait) = mpsc::channel();
    std::thread::spawn(move || gone.send(lines.read_to_end(&mut Vec::new()).unwrap()));
    let ended = wait.recv_timeout(PATIENCE);
    if ended.is_err() {
        kill_process(running, Signal::KILL).unwrap();
    }
    assert_eq!(ended, Ok(0), "the agent was still running");
}

#[test]
fn an_agent_whose_infold_is_gone_already_is_not_started() {
    let ended = Home::new().run(&["launch", "1", "/bin/echo", "started"]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (128 + 15, "", ""));
}

#[test]
fn an_agent_that_cannot_be_started_is_named() {
    let agent = StandIn::new("claude", "true");
    agent.home.write("bin/claude", "#!/nowhere/at/all\n");
    let ended = agent.run(&[], &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (1, ""));
    assert!(ended.stderr.contains("error: cannot start HOME/bin/claude"), "{}", ended.stderr);
}

fn complaint(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn files_of_the_agent_have_the_modes_that_the_user_wants() {
    let agent = StandIn::new("claude", "umask");
    let usual = std::process::Command::new("sh").args(["-c", "umask"]).output().unwrap();
    assert_eq!(agent.run(&[], &[]).stdout, String::from_utf8(usual.stdout).unwrap());
}

#[test]
fn nothing_is_left_behind_but_the_data_folder() {
    let agent = StandIn::new("claude", "true");
    agent.run(&[], &[]);
    let mut left: Vec<String> = std::fs::read_dir(agent.home.join(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, [".local", "bin", "project"]);
}

#[test]
fn claude_codes_hook_calls_this_very_program() {
    let script = "for word in \"$@\"; do case \"$word\" in --settings=*) echo \"${word#--settings=}\";; esac; done";
    let ended = StandIn::new("claude", script).run(&[], &[]);
    let settings: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    assert!(command.starts_with(&format!("{} hook --data HOME/", env!("CARGO_BIN_EXE_infold"))), "{command}");
}

#[test]
fn goose_learns_where_its_model_and_infolds_tools_are() {
    let script = "echo \"$@\"; echo $OPENAI_HOST $ANTHROPIC_HOST";
    let agent = StandIn::new("goose", script);
    agent.home.write(".config/goose/config.yaml", "GOOSE_PROVIDER: openai\nOPENAI_HOST: https://gate.example\n");
    let ended = agent.run(&[], &["run", "-t", "hi"]);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let url = lines[1].strip_suffix("/anthropic").unwrap().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(
        lines,
        [format!("run --with-streamable-http-extension {url}/mcp -t hi"), format!("{url}/openai {url}/anthropic")]
    );
    assert!(ended.stderr.contains("https://gate.example"), "{}", ended.stderr);
    let ended = agent.run(&[], &["session", "list"]);
    assert_eq!(ended.stdout.lines().next(), Some("session list"));
}

#[test]
fn qwen_code_learns_where_its_model_and_infolds_tools_are() {
    let script = "for word in \"$@\"; do echo \"$word\"; done; echo $OPENAI_BASE_URL";
    let agent = StandIn::new("qwen", script);
    let own = "{\"mcpServers\": {\"mine\": {\"command\": \"x\"}}}";
    let ended = agent.run(&[], &["--mcp-config", own, "hi"]);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let url = lines[3].strip_suffix("/openai/v1").unwrap();
    assert_eq!(lines[0], format!("--openai-base-url={url}/openai/v1"));
    let servers: serde_json::Value = serde_json::from_str(lines[1].strip_prefix("--mcp-config=").unwrap()).unwrap();
    assert_eq!(servers["mcpServers"]["infold"]["httpUrl"], format!("{url}/mcp"));
    assert_eq!(servers["mcpServers"]["mine"]["command"], "x");
    assert_eq!(lines[2], "hi");
}

#[test]
fn codex_without_a_screen_does_not_print_that_there_is_no_web_socket() {
    let agent = StandIn::new("codex", "echo \"logs: $RUST_LOG\"");
    let ended = agent.run(&[], &["exec", "hi"]);
    assert!(ended.stdout.contains("responses_websocket=off"), "{}", ended.stdout);
    assert_eq!(agent.run(&[], &["hi"]).stdout, "logs: \n", "with a screen they go into a file of Codex's own");
    let mut command = agent.command(&[], &["exec", "hi"]);
    let ended = agent.home.ended(command.env("RUST_LOG", "debug").output().unwrap());
    assert_eq!(ended.stdout, "logs: debug\n", "what the person has chosen stays");
}
