//! `infold tend`: no process of a server outlives it.

use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::processes::{marked, signal, until, until_gone};
use super::{MARK, mark};
use crate::cli::home::Home;

/// Starts processes that have left the server's group and session, have no parent any more, and ignore signals.
const RUNAWAYS: &str = "
    setsid sh -c 'trap \"\" TERM HUP INT; sleep 1000 & wait; sleep 1000; sleep 1000' &
    (setsid sh -c '(trap \"\" TERM HUP INT; sleep 1000 & wait; sleep 1000; sleep 1000) &' &)
    sleep 1000 &
";
/// Processes that they are, at least.
const RUNAWAYS_MIN: usize = 5;

/// `infold tend` with a script, as a child of this process.
fn tend(home: &Home, mark: &str, script: &str) -> Command {
    let parent = std::process::id().to_string();
    let mut command = home.command(&["tend", &parent, "--", "sh", "-c", script]);
    command.env(MARK, mark).env("PATH", std::env::var_os("PATH").unwrap());
    command
}

#[test]
fn streams_arguments_and_the_exit_code_are_the_servers_own() {
    let home = Home::new();
    let parent = std::process::id().to_string();
    let script = "cat; echo \"$1 to stderr\" >&2; exit 7";
    let ended = home.run_with_input(&["tend", &parent, "--", "/bin/sh", "-c", script, "sh", "--json"], b"as it came");
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (7, "as it came", "--json to stderr\n"));

    let ended = home.run(&["tend", &parent, "--", "/bin/sh", "-c", "kill -9 $$"]);
    assert_eq!(ended.code, 128 + 9);
    let ended = home.run(&["tend", &parent, "--", "/no/such/program"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (1, ""));
    assert!(ended.stderr.contains("cannot start /no/such/program"), "{}", ended.stderr);
}

#[test]
fn nothing_is_started_for_a_parent_that_is_gone() {
    let ended = Home::new().run(&["tend", "1", "--", "/bin/echo", "started"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (143, ""));
}

#[test]
fn a_server_that_ends_takes_its_runaways_along() {
    let (home, mark) = (Home::new(), mark());
    let mut child = tend(&home, &mark, &format!("{RUNAWAYS} read line; exit 5")).stdin(Stdio::piped()).spawn().unwrap();
    until(&mark, |count| count >= RUNAWAYS_MIN + 2);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(5));
    assert!(marked(&mark).is_empty());
}

#[test]
fn a_signal_ends_a_server_that_ignores_it_and_its_runaways() {
    for asked in [Signal::TERM, Signal::INT, Signal::HUP] {
        let (home, mark) = (Home::new(), mark());
        let script = format!("trap '' TERM HUP INT; {RUNAWAYS} while :; do sleep 1000; done");
        let mut child = tend(&home, &mark, &script).spawn().unwrap();
        until(&mark, |count| count >= RUNAWAYS_MIN + 2);
        signal(child.id(), asked);
        assert_eq!(child.wait().unwrap().code(), Some(128 + 9));
        assert!(marked(&mark).is_empty());
    }
}

#[test]
fn a_server_may_end_in_its_own_way() {
    let (home, mark) = (Home::new(), mark());
    let script = "trap 'echo goodbye; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
    let child = tend(&home, &mark, script).spawn().unwrap();
    until(&mark, |count| count >= 3);
    signal(child.id(), Signal::TERM);
    let ended = home.ended(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "ready\ngoodbye\n"));
}

#[test]
fn a_killed_infold_leaves_no_process_of_its_server() {
    let (home, mark) = (Home::new(), mark());
    let script = format!("{RUNAWAYS} trap '' TERM HUP PIPE; while :; do sleep 1000; done");
    let mut infold = home.command(&["servers", "check", "--env", MARK, "--", "sh", "-c", &script]);
    infold.env(MARK, &mark).env("PATH", std::env::var_os("PATH").unwrap());
    let mut infold = infold.spawn().unwrap();
    // infold itself carries the mark as well, and so does the tender.
    until(&mark, |count| count >= RUNAWAYS_MIN + 3);
    infold.kill().unwrap();
    infold.wait().unwrap();
    until_gone(&mark);
}
