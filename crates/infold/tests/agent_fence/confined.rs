//! `infold confine`: what a command cannot do any more.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::cli::home::{Ended, Home};

/// The user who owns nothing.
const NOBODY: u32 = 65534;

/// A home with a folder to work in, and files outside of it.
fn scene() -> Home {
    let home = Home::new();
    fs::create_dir(home.join("work")).unwrap();
    home.write("outside/kept", "kept");
    home
}

/// `infold confine` with a script. `$1` is the home.
fn confine(home: &Home, more: &[&str], script: &str) -> Command {
    let (work, root) = (home.join("work"), home.join(""));
    let mut arguments = vec!["confine", "--folder", work.to_str().unwrap()];
    arguments.extend(more);
    arguments.extend(["--", "/bin/bash", "-c", script, "bash", root.to_str().unwrap()]);
    let mut command = home.command(&arguments);
    command.env("PATH", std::env::var_os("PATH").unwrap()).current_dir(&work);
    command
}

fn run(home: &Home, more: &[&str], script: &str) -> Ended {
    home.ended(confine(home, more, script).output().unwrap())
}

/// Whether this kernel can confine; where it cannot the tests say so, and in CI they fail instead.
fn kernel_can(home: &Home) -> bool {
    let can = run(home, &["--landlock-min", "3", "--filter-required"], "true").code == 0;
    assert!(can || !std::env::var("CI").is_ok_and(|ci| ci == "true"), "this kernel cannot confine, and CI's must");
    if !can {
        eprintln!("skipped: this kernel cannot confine commands");
    }
    can
}

#[test]
fn a_confined_command_writes_in_its_folder_and_nowhere_else() {
    let home = scene();
    if !kernel_can(&home) {
        return;
    }
    let ended =
        run(&home, &[], "mkdir -p a/b && echo in > a/b/c && mv a/b/c d && ln -s d e && rm -r a && cat e >/dev/null");
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    for attempt in [
        "echo out > $1/outside/new",
        "echo out > $1/outside/kept",
        "echo out >> $1/outside/kept",
        "truncate -s 0 $1/outside/kept",
        "rm $1/outside/kept",
        "mkdir $1/outside/folder",
        "mv d $1/outside/d",
        "mv $1/outside/kept kept",
        "ln $1/outside/kept link && echo out > link",
        "ln -s ../outside way; echo out > way/new",
        "echo out > /proc/self/root$1/outside/kept",
        "mknod device c 1 3",
    ] {
        let ended = run(&home, &[], attempt);
        assert_ne!(ended.code, 0, "{attempt}");
        assert_eq!(fs::read_to_string(home.join("outside/kept")).unwrap(), "kept", "{attempt}");
        assert_eq!(fs::read_dir(home.join("outside")).unwrap().count(), 1, "{attempt}");
    }
    assert_eq!(run(&home, &[], "cat $1/outside/kept").stdout, "kept");
}

#[test]
fn what_is_hidden_cannot_be_read_and_what_is_beside_it_can() {
    let home = scene();
    if !kernel_can(&home) {
        return;
    }
    home.write("secrets/key", "hidden");
    home.write("beside", "seen");
    let (folder, file) = (home.join("secrets"), home.join("outside/kept"));
    let hide = ["--hide", folder.to_str().unwrap(), "--hide", file.to_str().unwrap(), "--hide", "/no/such/file"];
    let ended =
        run(&home, &hide, "cat $1/secrets/key; cat $1/outside/kept; ln -s ../secrets s; cat s/key; cat $1/beside");
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "seen"));
    assert_eq!(ended.stderr.matches("Permission denied").count(), 3, "{}", ended.stderr);
    let work = home.join("work");
    let ended = run(&home, &["--hide", work.to_str().unwrap()], "true");
    assert!(ended.stderr.contains("work in another folder"), "{}", ended.stderr);
}

#[test]
fn a_confined_command_has_no_network_unless_it_is_left_open() {
    let home = scene();
    if !kernel_can(&home) {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for attempt in [format!("exec 3<>/dev/tcp/127.0.0.1/{port}"), format!("echo x > /dev/udp/127.0.0.1/{port}")] {
        assert_eq!(run(&home, &["--network"], &attempt).code, 0, "{attempt}");
        let ended = run(&home, &[], &attempt);
        assert_ne!(ended.code, 0, "{attempt}");
        assert!(ended.stderr.contains("not permitted"), "{}", ended.stderr);
    }
}

#[test]
fn other_processes_are_out_of_reach() {
    let home = scene();
    if !kernel_can(&home) {
        return;
    }
    let mut other =
        Command::new("sleep").arg("1000").env("OTHERS", "private-words").stdout(Stdio::null()).spawn().unwrap();
    let id = other.id();
    let ended =
        run(&home, &[], &format!("tr '\\0' '\\n' < /proc/{id}/environ; unshare --user true; unshare --mount true"));
    assert!(!ended.stdout.contains("private-words") && ended.code != 0, "{}", ended.stdout);
    let signals = run(&home, &["--landlock-min", "6"], &format!("kill -9 {id}"));
    let is_known = !signals.stderr.contains("less than before");
    if is_known {
        assert!(signals.stderr.contains("not permitted"), "{}", signals.stderr);
        assert!(other.try_wait().unwrap().is_none());
    } else {
        eprintln!("skipped: this kernel cannot keep signals inside");
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_command_is_not_run_with_less_than_was_asked_for() {
    let home = scene();
    let ended = run(&home, &["--landlock-min", "1000"], "echo ran");
    assert_eq!((ended.code, ended.stdout.as_str()), (3, ""));
    assert!(ended.stderr.contains("the command was not run"), "{}", ended.stderr);
    let ended = home.run(&["confine", "--folder", "/no/such/folder", "--", "/bin/echo", "ran"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (1, ""));
}

#[test]
fn a_user_without_rights_is_confined_as_well() {
    let home = scene();
    if !kernel_can(&home) {
        return;
    }
    for open in ["", "work", "outside"] {
        fs::set_permissions(home.join(open), fs::Permissions::from_mode(0o777)).unwrap();
    }
    let script = "echo in > inside && echo out > $1/outside/new";
    let mut confined = confine(&home, &["--landlock-min", "3", "--filter-required"], script);
    let ended = match confined.uid(NOBODY).gid(NOBODY).output() {
        Ok(output) => home.ended(output),
        Err(error) if std::env::var("CI").is_ok_and(|ci| ci == "true") => {
            panic!("only root can act as another user, and CI must: {error}")
        }
        Err(error) => {
            eprintln!("skipped: only root can act as another user ({error})");
            return;
        }
    };
    assert_ne!(ended.code, 0);
    assert!(ended.stderr.contains("Permission denied"), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(home.join("work/inside")).unwrap(), "in\n");
    assert!(!home.join("outside/new").exists());
}
