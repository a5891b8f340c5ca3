//! What cannot be run is refused, with what to do.

use insta::assert_snapshot;

use crate::home::Home;
use crate::stand_in::StandIn;

#[test]
fn an_agent_that_is_not_installed() {
    let ended = Home::new().run(&["run", "opencode"]);
    assert_eq!(ended.code, 3);
    assert_snapshot!(ended.stderr, @r"
    error: there is no `opencode` in the folders of PATH
      hint: install OpenCode with `npm install -g opencode-ai`, or add its folder to PATH
    ");
}

#[test]
fn an_agent_that_infold_does_not_know() {
    let ended = Home::new().run(&["run", "vim"]);
    assert_eq!(ended.code, 3);
    assert_snapshot!(ended.stderr, @r#"
    error: there is no agent "vim"
      hint: infold runs claude, codex and opencode; others can be pointed at `infold serve`
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
