//! Inputs that are not what they should be: each gets a clear error, and nothing is written.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use super::home::{Ended, Home};
use super::sessions::{CLAUDE_FOLDER, ID, Session, claude_home, lines, names, printed};

/// A user who owns nothing.
const NOBODY: u32 = 65_534;

/// Rescues a file with these bytes into a folder of its own, which must stay empty.
fn refused(bytes: &[u8], more: &[&str]) -> Ended {
    let home = Home::new();
    fs::write(home.join("in.jsonl"), bytes).unwrap();
    fs::create_dir(home.join("out")).unwrap();
    let (input, output) = (home.join("in.jsonl"), home.join("out"));
    let mut arguments = vec!["rescue", input.to_str().unwrap(), "--output", output.to_str().unwrap()];
    arguments.extend(["--window", "20000"]);
    arguments.extend(more);
    let ended = home.run(&arguments);
    assert_eq!(ended.code, 3, "{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(ended.stdout, "");
    assert_eq!(names(&output), Vec::<String>::new());
    assert_eq!(fs::read(home.join("in.jsonl")).unwrap(), bytes);
    ended
}

#[test]
fn files_that_are_no_recordings() {
    let cases: [(&[u8], &str); 6] = [
        (b"", "empty"),
        (b"\n\n", ""),
        (b"hello, this is a text\n", "no known form"),
        (&[0, 159, 146, 150, 255, 7, 0], "no known form"),
        (b"{\"info\":{\"id\":\"ses_1\"},\"messages\":[]}", "only sessions of Claude Code and Codex"),
        (b"\x1f\x8b\x08\x00broken", ""),
    ];
    for (bytes, said) in cases {
        let ended = refused(bytes, &[]);
        assert!(ended.stderr.contains(said), "{bytes:?}: {}", ended.stderr);
    }
}

#[test]
fn the_form_that_was_named_must_be_the_one() {
    let ended = refused(Session::claude(8).text().as_bytes(), &["--from", "codex"]);
    assert!(ended.stderr.contains("claude-code, not codex"), "{}", ended.stderr);
}

#[test]
fn a_recording_without_a_conversation() {
    let ended = refused(
        b"{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"sessionId\":\"x\"}\n",
        &["--from", "claude-code"],
    );
    assert!(ended.stderr.contains("holds no conversation"), "{}", ended.stderr);
}

#[test]
fn a_line_that_is_too_long_is_named() {
    let mut text = Session::claude(8).text().into_bytes();
    text.extend(format!("{{\"type\":\"user\",\"uuid\":\"x\",\"message\":\"{}\"}}\n", "x".repeat(100 << 20)).bytes());
    let ended = refused(&text, &[]);
    assert!(ended.stderr.contains("is longer than 67108864 bytes"), "{}", ended.stderr);
    assert!(ended.stderr.contains("transcripts.entry_bytes_max"), "{}", ended.stderr);
}

#[test]
fn a_recording_that_was_cut_off_is_rescued_up_to_there() {
    let (home, original) = claude_home(8);
    let text = fs::read_to_string(&original).unwrap();
    fs::write(&original, &text[..text.len() - 40]).unwrap();
    let ended = home.run(&["rescue", ID, "--window", "30000", "--json"]);
    let report = printed(&ended);
    assert_eq!(report["broken_lines"][0]["reason"], "cut off in the middle");
    assert!(ended.stderr.contains(": cut off in the middle; skipped"), "{}", ended.stderr);
}

#[test]
fn of_many_broken_lines_the_first_are_named_and_all_are_counted() {
    let (home, original) = claude_home(8);
    let text = fs::read_to_string(&original).unwrap();
    fs::write(&original, format!("{text}{}", "{broken\n".repeat(7))).unwrap();
    let arguments = ["rescue", ID, "--window", "30000", "--json", "--set", "transcripts.problems_max=3"];
    let ended = home.run(&arguments);
    let report = printed(&ended);
    assert_eq!(report["broken_lines"].as_array().unwrap().len(), 3);
    assert_eq!(report["broken_lines_total"], 7);
    assert_eq!(ended.stderr.lines().count(), 4, "{}", ended.stderr);
    assert!(ended.stderr.contains("4 more entries were skipped"), "{}", ended.stderr);

    let lines = lines(report["written"]["path"].as_str().unwrap(), &home);
    let receipt = lines[0]["message"]["content"].as_str().unwrap();
    assert!(receipt.contains("7 lines of the original could not be read"), "{receipt}");
    assert!(!receipt.contains("Every message"), "{receipt}");

    let quiet = home.run(&[&arguments[..], &["--quiet"]].concat());
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
}

#[test]
fn sessions_and_folders_that_are_not_there() {
    let home = Home::new();
    for (source, said) in [
        ("nobody-knows-this", "there is no recording of a session"),
        ("no/such.jsonl", "no file or session no/such.jsonl"),
        (".", "is a folder"),
        ("-", "cannot be a pipe"),
    ] {
        let ended = home.run(&["rescue", source]);
        assert_eq!(ended.code, 3, "{}", ended.stderr);
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
    }
    let (home, _) = claude_home(8);
    let ended = home.run(&["rescue", ID, "--window", "30000", "--output", "no/such/folder/x.jsonl"]);
    assert!(ended.code == 3 && ended.stderr.contains("there is no folder"), "{}", ended.stderr);
    let ended = home.run(&["rescue", ID, "--window", "30000", "--reserve", "30000"]);
    assert!(ended.code == 3 && ended.stderr.contains("leaves nothing"), "{}", ended.stderr);
}

#[test]
fn a_folder_that_cannot_be_written() {
    let (home, _) = claude_home(8);
    let folder = home.join(CLAUDE_FOLDER);
    fs::set_permissions(&folder, Permissions::from_mode(0o555)).unwrap();
    let mut command = home.command(&["rescue", ID, "--window", "30000"]);
    if rustix::process::geteuid().is_root() {
        // Root can write everywhere, so somebody else does it, in a home of their own.
        std::os::unix::fs::chown(home.join(""), Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    let ended = home.ended(command.output().unwrap());
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("cannot be written"), "{}", ended.stderr);
    assert_eq!(names(&folder).len(), 1);
}

#[test]
fn a_file_that_cannot_grow_any_more_leaves_nothing_behind() {
    let (home, original) = claude_home(200);
    // Files of this process may have two megabytes; writing more fails as on a full disk.
    let script = format!(
        "ulimit -f 2048; trap '' XFSZ; exec '{}' rescue {ID} --force --window 10000000",
        env!("CARGO_BIN_EXE_infold")
    );
    let command = home.command(&[]);
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &script]).env_clear().current_dir(command.get_current_dir().unwrap());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = home.ended(shell.output().unwrap());
    assert_eq!(ended.code, 1, "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("cannot be written"), "{}", ended.stderr);
    assert_eq!(names(original.parent().unwrap()), [format!("{ID}.jsonl")]);
}

#[test]
fn a_result_that_is_too_long_to_be_scrubbed_stops_everything() {
    let (home, original) = claude_home(8);
    let ended = home.run(&["rescue", ID, "--window", "30000", "--set", "scrub.max_bytes=2048"]);
    assert_ne!(ended.code, 0);
    assert_eq!(names(original.parent().unwrap()).len(), 1);
}

#[test]
fn a_session_that_is_still_written_is_noticed() {
    let (home, original) = claude_home(60);
    let mut file = fs::OpenOptions::new().append(true).open(&original).unwrap();
    let mut child = home.command(&["rescue", ID, "--window", "30000"]).spawn().unwrap();
    while child.try_wait().unwrap().is_none() {
        writeln!(file, "{{\"type\":\"mode\"}}").unwrap();
        std::thread::yield_now();
    }
    let ended = home.ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("changed while it was read"), "{}", ended.stderr);
    assert_eq!(names(&home.join(CLAUDE_FOLDER)).len(), 1);
}
