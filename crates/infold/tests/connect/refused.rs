//! What `infold connect` refuses, and that it changes nothing then.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::cli::home::{Ended, Home};
use crate::strangers::NOBODY;

/// Connects Claude Code to a daemon at `address`, which must be refused and change nothing.
fn refused_at(address: &str) -> Ended {
    let home = Home::new();
    home.write(".claude/settings.json", "{}\n");
    let ended = home.run(&["connect", "claude", "--no-service", "--set", &format!("server.listen={address}")]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("nothing was changed") && ended.stderr.contains("another port"), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(home.join(".claude/settings.json")).unwrap(), "{}\n");
    assert!(!home.data().exists());
    ended
}

#[test]
fn a_port_that_another_program_holds_gets_no_agents_requests() {
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap().to_string();
    // This is the one connection that asks who is there; it is closed unanswered.
    let closer = std::thread::spawn(move || stranger.accept().map(drop));
    let ended = refused_at(&address);
    assert!(ended.stderr.contains("another program listens on"), "{}", ended.stderr);
    closer.join().unwrap().unwrap();
}

#[test]
fn a_port_that_another_users_infold_holds_gets_no_agents_requests() {
    let theirs = Home::new();
    let home = theirs.join("");
    if chown(&home, Some(NOBODY), Some(NOBODY)).is_err() {
        assert!(std::env::var("CI").is_err(), "only root can act as another user, and CI must");
        eprintln!("skipped: only root can act as another user");
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_infold"));
    command.args(["serve", "--listen", "127.0.0.1:0"]).env_clear().env("HOME", &home).current_dir("/");
    let mut daemon = command.uid(NOBODY).gid(NOBODY).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("infold listening on http://").unwrap_or_default();
    let ended = refused_at(address);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert!(ended.stderr.contains("calls itself infold, but is not yours"), "{}", ended.stderr);
}

#[test]
fn a_file_that_cannot_be_understood_stops_everything() {
    let home = Home::new();
    home.write(".claude/settings.json", "{}\n");
    home.write(".claude.json", "{\"mcpServers\": ");
    let ended = home.run(&["connect", "claude"]);
    assert_eq!(ended.code, 3);
    assert!(
        ended.stderr.contains("HOME/.claude.json is not JSON") && ended.stderr.contains("nothing was changed"),
        "{}",
        ended.stderr
    );
    assert_eq!(fs::read_to_string(home.join(".claude/settings.json")).unwrap(), "{}\n");
    assert!(!home.data().exists());
}

#[test]
fn an_agent_that_was_never_connected() {
    let ended = Home::new().run(&["disconnect", "codex"]);
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.contains("Codex is not connected"), "{}", ended.stderr);
}

#[test]
fn a_key_is_not_sent_to_another_host_than_the_users() {
    let home = Home::new();
    home.write(".claude/settings.json", "{\"env\": {\"ANTHROPIC_BASE_URL\": \"https://gate.example\"}}");
    let ended = home.run(&["connect", "claude"]);
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.contains("proxy.anthropic.upstream"), "{}", ended.stderr);
    assert_eq!(home.run(&["connect", "claude", "--set", "proxy.anthropic.upstream=https://gate.example"]).code, 0);
}

#[test]
fn opencode_without_a_provider_that_infold_could_take_is_not_half_connected() {
    let home = Home::new();
    let ended = home.run(&["connect", "opencode"]);
    assert_eq!(ended.code, 3);
    assert!(
        ended.stderr.contains("no provider that infold supports") && ended.stderr.contains("opencode auth login"),
        "{}",
        ended.stderr
    );
    assert!(!home.join(".config/opencode/opencode.json").exists());
    home.write(".local/share/opencode/auth.json", "{\"anthropic\": {\"type\": \"api\"}}");
    assert_eq!(home.run(&["connect", "opencode"]).code, 0);
}

#[test]
fn an_agent_that_is_wired_at_each_start_is_not_connected() {
    let ended = Home::new().run(&["connect", "goose"]);
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.contains("infold run goose"), "{}", ended.stderr);
}
