//! Commands on files need the key at most: they open no database, and make nothing else in the data folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::fixture;
use super::home::{Ended, Home};

const SECRET: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

/// Each command that works on files alone, run once.
fn run_each(home: &Home) -> Vec<Ended> {
    let (claude, codex) = (fixture("claude-code/tools.jsonl"), fixture("codex/rollout-tools.jsonl"));
    let rescued = home.join("rescued").to_str().unwrap().to_owned();
    fs::create_dir(&rescued).unwrap();
    let ended = vec![
        home.run(&["fork", &claude]),
        home.run(&["fork", &codex, "--profile", "recall", "--json"]),
        home.run(&["replay", &claude, &codex]),
        home.run_with_input(&["scrub"], SECRET.as_bytes()),
        home.run(&["rescue", &claude, "--force", "--output", &rescued]),
        home.run(&["rescue", &codex, "--force", "--output", &rescued]),
        home.run(&["rescue", &claude, "--window", "1000", "--dry-run"]),
    ];
    for one in &ended {
        assert_eq!(one.code, 0, "{}", one.stderr);
    }
    ended
}

#[test]
fn nothing_but_the_key_is_made() {
    let home = Home::new();
    run_each(&home);
    assert_eq!(names_in(&home), ["infold.key"]);
    let again = |home: &Home| home.run_with_input(&["scrub"], SECRET.as_bytes()).stdout;
    assert_eq!(again(&home), again(&home));
}

#[test]
fn a_data_folder_that_cannot_be_made_keeps_nobody_from_reading_a_file() {
    let home = Home::new();
    fs::write(home.join("taken"), "").unwrap();
    let data = home.join("taken/data");
    let ended = home.run_with_input(&["--data", data.to_str().unwrap(), "scrub"], SECRET.as_bytes());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.starts_with("[SECRET:"), "{}", ended.stdout);
}

fn names_in(home: &Home) -> Vec<std::ffi::OsString> {
    fs::read_dir(home.data()).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

#[test]
fn a_data_folder_that_cannot_be_written_to_is_enough_for_the_key() {
    let home = Home::new();
    fs::create_dir_all(home.data()).unwrap();
    fs::write(home.data().join("infold.key"), [7; 32]).unwrap();
    fs::set_permissions(home.data(), fs::Permissions::from_mode(0o500)).unwrap();
    let first: Vec<String> = run_each(&home).into_iter().map(|ended| ended.stdout).collect();
    assert_eq!(names_in(&home), ["infold.key"]);
    fs::set_permissions(home.data(), fs::Permissions::from_mode(0o700)).unwrap();

    // The key makes the placeholder: with it, the same secret has the same one.
    let again = home.run_with_input(&["scrub"], SECRET.as_bytes()).stdout;
    assert_eq!(first[3], again);
    assert!(!again.contains(SECRET));
    let other = Home::new().run_with_input(&["scrub"], SECRET.as_bytes()).stdout;
    assert_ne!(again, other);
}

#[test]
fn a_key_that_is_damaged_is_refused() {
    let home = Home::new();
    fs::create_dir_all(home.data()).unwrap();
    fs::set_permissions(home.data(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(home.data().join("infold.key"), "short").unwrap();
    let ended = home.run(&["fork", &fixture("claude-code/tools.jsonl")]);
    assert_ne!(ended.code, 0);
    assert!(ended.stdout.is_empty() && ended.stderr.contains("not a key"), "{}", ended.stderr);
}
