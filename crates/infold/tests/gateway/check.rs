//! `infold servers check`: what a person sees of a server.

use std::process::Command;

use super::HANDSHAKE;
use crate::cli::home::{Ended, Home};

fn check(home: &Home, arguments: &[&str]) -> Ended {
    let mut command: Command = home.command(&["servers", "check"]);
    command.args(arguments).env("PATH", std::env::var_os("PATH").unwrap());
    home.ended(command.output().unwrap())
}

#[test]
fn a_server_is_shown_with_what_it_lists_and_what_is_wrong() {
    let home = Home::new();
    let tools = r#"{"tools":[{"name":"one"},{"name":"t\u001b[31mwo"},3]}"#;
    let script = format!("{HANDSHAKE} echo noise; shake; next; answer $id '{tools}'; next");
    let ended = check(&home, &["--", "sh", "-c", &script]);
    let text = ended.stdout.lines().map(|line| line.split(" ready in ").next().unwrap()).collect::<Vec<_>>();
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    assert_eq!(text[0], "script 1, MCP 2025-11-25,");
    assert_eq!(
        text[1..5],
        ["2 tools, 38 bytes", "  one", "  t[31mwo", "  ! an entry is not an object and was left out"]
    );
    assert!(text[6].starts_with("dropped: 1 lines that are no message"), "{text:?}");

    let ended = check(&home, &["--json", "--", "sh", "-c", &script]);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&report["era"], &report["lists"]["tools"]["names"][0]), (&"legacy".into(), &"one".into()));
    assert_eq!(report["dropped"]["unreadable"], 1);
}

#[test]
fn a_server_that_cannot_be_used_is_refused_with_the_reason() {
    let home = Home::new();
    let ended = check(&home, &["--", "sh", "-c", "echo no token >&2; exit 2"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (3, ""));
    assert_eq!(ended.stderr, "error: the server ended (exit code 2). It said: no token\n");
    let ended = check(&home, &["--timeout-ms", "100", "--", "sleep", "1000"]);
    assert!(ended.stderr.starts_with("error: the server did not answer initialize within"), "{}", ended.stderr);
    let ended = check(&home, &["http://127.0.0.1:1/mcp"]);
    assert!(ended.stderr.starts_with("error: cannot reach the server: Connection refused"), "{}", ended.stderr);
    let ended = check(&home, &["https://127.0.0.1:1/", "--header", "odd"]);
    assert!(ended.stderr.contains("hint: the form is --header 'NAME: VALUE'"), "{}", ended.stderr);
}
