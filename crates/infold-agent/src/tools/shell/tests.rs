//! What `shell` says of a command. A script runs in the tender's place; the tender itself is tested with the program.

use std::ffi::OsString;
use std::sync::Arc;

use infold_core::Scrubber;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::clean;
use super::kept::KeptOutput;
use crate::tools::LocalTool::Shell;
use crate::tools::tests::{Scene, limits};
use crate::tools::{LocalCall, ToolLimits, run};

#[tokio::test]
async fn output_and_errors_come_in_their_order_with_the_exit_status_last() {
    let scene = Scene::new(&[]);
    let command = "echo one; echo two >&2; echo three; pwd; cat; exit 3";
    let output = scene.call(Shell, json!({"command": command})).await;
    let lines: Vec<&str> = output.text.lines().collect();
    assert_eq!(lines[..4], ["one", "two", "three", scene.folder().to_str().unwrap()]);
    assert!(lines[4].starts_with("[exit status 3, "), "{}", output.text);
    let ran = output.command.unwrap();
    assert_eq!((ran.command.as_str(), ran.exit, ran.timed_out), (command, Some(3), false));
    assert!(scene.said(Shell, json!({"command": "true"})).await.starts_with("[exit status 0, "));
}

#[tokio::test]
async fn a_time_limit_and_a_cancellation_end_a_command() {
    let tight = ToolLimits { shell_seconds_max: 1, ..limits() };
    let scene = Scene::with_limits(&[], tight);
    let output = scene.call(Shell, json!({"command": "echo begun; exec sleep 1000", "timeout_seconds": 900})).await;
    assert!(output.text.starts_with("begun\n[a command may take 1 seconds at most; 900 were asked for]\n"));
    assert!(output.text.contains("[ended after 1 s, its time limit"), "{}", output.text);
    assert!(output.command.is_some_and(|ran| ran.timed_out && ran.exit.is_none()));

    let scene = Scene::new(&[]);
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let call = LocalCall::read(Shell, &json!({"command": "exec sleep 1000"})).unwrap();
    let output = run(call, &scene.workplace, &cancelled).await;
    assert!(output.text.contains("[cancelled after "), "{}", output.text);
    assert!(output.command.is_some_and(|ran| !ran.timed_out && ran.exit.is_none()));
}

#[tokio::test]
async fn a_command_that_closes_its_output_is_still_waited_for() {
    let scene = Scene::new(&[]);
    let text = scene.call(Shell, json!({"command": "exec >&- 2>&-; echo x > made; exit 4"})).await.text;
    assert!(text.starts_with("[exit status 4, "), "{text}");
    assert_eq!(scene.text("made"), "x\n");
}

#[tokio::test]
async fn no_command_runs_where_the_sandbox_is_required_and_lacking() {
    let mut scene = Scene::new(&[]);
    Arc::get_mut(&mut scene.workplace).unwrap().shell.sandbox = Err("this machine cannot".to_owned());
    let text = scene.refused(Shell, json!({"command": "echo x > made"})).await;
    assert_eq!(text, "no command can be run: this machine cannot");
    assert!(!scene.folder().join("made").exists());
}

#[tokio::test]
async fn a_change_of_what_tools_may_not_write_is_said() {
    let scene = Scene::new(&[(".git/config", "[core]\n"), (".git/hooks/old", "x"), (".git/hooks/same", "x")]);
    let command = "echo evil > .git/hooks/pre-commit; rm .git/hooks/old; echo x >> .git/config; echo > .infold.toml";
    let output = scene.call(Shell, json!({"command": command})).await;
    let wanted = [".git/config", ".git/hooks/old", ".git/hooks/pre-commit", ".infold.toml"];
    assert_eq!(output.command.unwrap().guarded_changed, wanted);
    assert!(output.text.contains(".git/hooks/pre-commit, .infold.toml: tell the user"), "{}", output.text);
}

#[test]
fn the_start_and_the_end_of_a_long_output_are_kept() {
    let mut kept = KeptOutput::new(40);
    for number in 0..1000 {
        kept.take(format!("line {number}\n").as_bytes());
    }
    let text = kept.text();
    assert!(text.starts_with("line 0\nline 1\n[") && text.ends_with("]\nline 998\nline 999\n"), "{text}");
    let total: usize = (0..1000).map(|number| format!("line {number}\n").len()).sum();
    let shown = "line 0\nline 1\nline 998\nline 999\n".len();
    assert!(text.contains(&format!("[{} bytes are left out here", total - shown)), "{text}");

    let mut kept = KeptOutput::new(10);
    kept.take(b"no line end at all");
    assert_eq!(kept.text().lines().next(), Some("no li"));
    let mut kept = KeptOutput::new(10);
    kept.take(b"0123456789");
    assert_eq!(kept.text(), "0123456789\n");
}

#[test]
fn commands_do_not_get_what_looks_like_a_secret() {
    let token = format!("ghp_{}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    let variables = [
        ("PATH", "/bin"),
        ("PWD", "/"),
        ("LANG", "C"),
        ("CARGO_HOME", "/c"),
        ("ANTHROPIC_BASE_URL", "x"),
        ("OPENAI_API_KEY", "x"),
        ("my_secret_thing", "x"),
        ("GITHUB_TOKEN", "x"),
        ("SSH_AUTH_SOCK", "x"),
        ("INFOLD_DATA", "x"),
        ("PROXY", "http://me:pass@host/"),
        ("HARMLESS", &token),
        ("HOST", "https://host/a@b:c"),
    ];
    let given = variables.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let clean = clean(given, Some(&Scrubber::new([1; 32])));
    let kept: Vec<&str> = clean.kept.iter().filter_map(|(name, _)| name.to_str()).collect();
    assert_eq!(kept, ["PATH", "PWD", "LANG", "CARGO_HOME", "HOST"]);
    let gone =
        "ANTHROPIC_BASE_URL GITHUB_TOKEN HARMLESS INFOLD_DATA OPENAI_API_KEY PROXY SSH_AUTH_SOCK my_secret_thing";
    assert_eq!(clean.taken_out.join(" "), gone);
}
