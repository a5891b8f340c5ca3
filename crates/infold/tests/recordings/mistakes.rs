//! Inputs that are not what they should be: each gets a clear error, and nothing is left behind.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use super::fixture;
use super::home::{Ended, Home};

/// A user who owns nothing.
const NOBODY: u32 = 65_534;

/// Runs both commands on a file with these bytes. Each is asked to write a file, which must not be there afterwards.
fn refused(bytes: &[u8]) -> [Ended; 2] {
    let home = Home::new();
    fs::write(home.join("in.jsonl"), bytes).unwrap();
    let (input, output) = (home.join("in.jsonl"), home.join("out"));
    let (input, output) = (input.to_str().unwrap(), output.to_str().unwrap());
    let ended = [home.run(&["fork", input, "--output", output]), home.run(&["replay", input, "--html", output])];
    for one in &ended {
        assert_eq!(one.code, 3, "{}\n{}", one.stdout, one.stderr);
        assert_eq!(one.stdout, "");
    }
    assert!(!home.join("out").exists());
    ended
}

#[test]
fn files_that_are_no_recordings() {
    let cases: [(&[u8], &str); 6] = [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"hello, this is a text\n", "is not a session transcript"),
        (&[0, 159, 146, 150, 255, 7, 0], "is not a session transcript"),
        (b"{\"some\": \"json\"}", "is not a session transcript"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "is not a session transcript"),
    ];
    for (bytes, said) in cases {
        for ended in refused(bytes) {
            assert!(ended.stderr.contains(said), "{bytes:?}: {}", ended.stderr);
            assert!(ended.stderr.contains("in.jsonl"), "{bytes:?}: {}", ended.stderr);
        }
    }
}

#[test]
fn a_recording_that_was_cut_off_is_read_up_to_there() {
    let home = Home::new();
    let text = fs::read_to_string(fixture("claude-code/tools.jsonl")).unwrap();
    home.write("cut.jsonl", &text[..text.len() - 100]);
    let ended = home.run(&["fork", home.join("cut.jsonl").to_str().unwrap()]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.starts_with("warning: HOME/cut.jsonl: entry "), "{}", ended.stderr);
    assert!(!ended.stdout.is_empty());
}

#[test]
fn an_export_that_was_cut_off_is_read_up_to_there() {
    let home = Home::new();
    let text = fs::read_to_string(fixture("opencode/tools.json")).unwrap();
    home.write("cut.json", &text[..text.len() / 2]);
    let ended = home.run(&["fork", home.join("cut.json").to_str().unwrap()]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("warning: HOME/cut.json: "), "{}", ended.stderr);
}

#[test]
fn a_line_of_a_hundred_megabytes_is_left_out_and_named() {
    let home = Home::new();
    let mut text = fs::read(fixture("claude-code/tools.jsonl")).unwrap();
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    text.extend(format!("{{\"type\":\"user\",\"message\":\"{}\"}}\n", "x".repeat(100 << 20)).bytes());
    fs::write(home.join("long.jsonl"), text).unwrap();
    for command in ["fork", "replay"] {
        let ended = home.run(&[command, home.join("long.jsonl").to_str().unwrap()]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let said = format!("entry {}: ", lines + 1);
        assert!(
            ended.stderr.contains(&said) && ended.stderr.contains("longer than 67108864 bytes"),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn a_folder_that_may_not_be_read() {
    let home = Home::new();
    home.write("closed/session.jsonl", "{}\n");
    let folder = home.join("closed");
    fs::set_permissions(&folder, Permissions::from_mode(0o000)).unwrap();
    let mut command = home.command(&["replay", folder.to_str().unwrap()]);
    if rustix::process::geteuid().is_root() {
        // Root may read every folder, so somebody else asks.
        fs::set_permissions(home.join(""), Permissions::from_mode(0o755)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    let ended = home.ended(command.output().unwrap());
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("cannot read the folder HOME/closed"), "{}", ended.stderr);
}

#[test]
fn files_and_folders_that_are_not_there() {
    let home = Home::new();
    for (arguments, said) in [
        (["fork", "no/such.jsonl"], "no file or session no/such.jsonl"),
        (["fork", "no-such-session"], "there is no file and no session no-such-session"),
        (["fork", "."], ". is a folder"),
        (["replay", "no/such"], "no file no/such"),
        (["replay", "."], "no transcript in ."),
        (["replay", "--quiet"], "no session of Claude Code or Codex was found"),
    ] {
        let ended = home.run(&arguments);
        assert_eq!(ended.code, 3, "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(said) && ended.stderr.contains("hint: "), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn a_target_that_cannot_be_written() {
    let home = Home::new();
    let source = fixture("claude-code/tools.jsonl");
    let target = home.join("no/such/folder/out");
    let ended = home.run(&["fork", &source, "--output", target.to_str().unwrap()]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("there is no folder"), "{}", ended.stderr);
}

#[test]
fn a_fork_that_is_killed_leaves_nothing_behind() {
    let home = Home::new();
    fs::create_dir(home.join("out")).unwrap();
    let target = home.join("out/child.txt");
    let mut command = home.command(&["fork", "-", "--output", target.to_str().unwrap()]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // The program waits for more input; its output has no name yet.
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), &fs::read(fixture("claude-code/tools.jsonl")).unwrap())
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read_dir(home.join("out")).unwrap().count(), 0);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let home = Home::new();
    let mut child = home.command(&["fork", &fixture("codex/rollout-large-result.jsonl")]).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}
