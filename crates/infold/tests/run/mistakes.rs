//! What cannot be run is refused, with what to do.

use insta::assert_snapshot;

use crate::cli::home::Home;
use crate::run::stand_in::StandIn;

#[test]
fn an_agent_that_is_not_installed() {
    let ended = Home::new().run(&["run", "opencode"]);
    assert_eq!(ended.code, 3);
    assert_snapshot!(ended.stderr, @"
    error: `opencode` is not installed, or not in PATH
      hint: install OpenCode with `npm install -g opencode-ai`, or add its folder to PATH
    ");
}

#[test]
fn an_agent_that_infold_does_not_know() {
    let ended = Home::new().run(&["run", "vim"]);
    assert_eq!(ended.code, 3);
    assert_snapshot!(ended.stderr, @r#"
    error: unsupported agent "vim"
      hint: supported: claude, codex, opencode, goose, qwen; for other clients of Anthropic's or OpenAI's API, start `infold serve` and set their base URL to http://127.0.0.1:9090/anthropic or http://127.0.0.1:9090/openai/v1
    "#);
}

#[test]
fn settings_of_the_agent_that_cannot_be_read() {
    let agent = StandIn::new("codex", "echo started");
    agent.home.write(".codex/config.toml", "model = \n");
    let ended = agent.run(&[], &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (3, ""));
    assert!(ended.stderr.contains("HOME/.codex/config.toml is not TOML"), "{}", ended.stderr);
}

#[test]
fn an_upstream_that_is_none() {
    let agent = StandIn::new("claude", "echo started");
    let mut command = agent.command(&[], &[]);
    let ended = agent.home.ended(command.env("ANTHROPIC_BASE_URL", "gate.example").output().unwrap());
    assert_eq!(ended.stdout, "", "the agent was started");
    assert!(ended.code != 0 && ended.stderr.contains("proxy.anthropic.upstream"), "{}", ended.stderr);
}

#[test]
fn agents_that_cannot_be_run_are_refused_with_what_works() {
    for (agent, why, instead) in [
        ("gemini", "does not speak the API", "gemini mcp add"),
        ("aider", "does not call tools", "OPENAI_API_BASE=http://127.0.0.1:9090/openai/v1"),
        ("cursor-agent", "its own servers", "~/.cursor/mcp.json"),
    ] {
        let ended = Home::new().run(&["run", agent]);
        assert_eq!(ended.code, 3);
        assert!(ended.stderr.contains(why) && ended.stderr.contains(instead), "{agent}: {}", ended.stderr);
    }
}

#[test]
fn a_provider_of_goose_that_goes_past_infold() {
    let agent = StandIn::new("goose", "echo started");
    agent.home.write(".config/goose/config.yaml", "GOOSE_PROVIDER: \"databricks\"\n");
    let ended = agent.run(&[], &["run", "-t", "hi"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (3, ""));
    assert!(ended.stderr.contains("with the provider \"databricks\""), "{}", ended.stderr);
}
