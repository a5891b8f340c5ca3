//! A rescue that is killed in the middle leaves nothing under any name, and the next one works.

use std::fs;
use std::process::Child;

use super::home::Home;
use super::sessions::{CLAUDE_FOLDER, ID, claude_home, names, printed};

/// At how many points of its work a run is killed, at most.
const KILLS_MAX: u64 = 24;
const ARGUMENTS: [&str; 5] = ["rescue", ID, "--window", "40000", "--json"];

#[test]
fn a_kill_leaves_either_nothing_or_the_whole_file() {
    let (home, original) = claude_home(40);
    let before = fs::read(&original).unwrap();
    let lines = printed(&home.run(&ARGUMENTS))["written"]["lines"].as_u64().unwrap();
    remove_written(&home, lines);
    let whole_bytes = killed_at(&home, u64::MAX);
    remove_written(&home, lines);

    let kills = kills();
    for step in 0..kills {
        killed_at(&home, whole_bytes * step / kills);
        remove_written(&home, lines);
    }
    assert_eq!(fs::read(&original).unwrap(), before);
    printed(&home.run(&ARGUMENTS));
}

/// Fewer where `INFOLD_KILLS`, which says how often a daemon is killed, asks for few.
fn kills() -> u64 {
    let asked = std::env::var("INFOLD_KILLS").ok().and_then(|text| text.parse::<u64>().ok());
    asked.map_or(KILLS_MAX, |kills| (kills / 3).clamp(1, KILLS_MAX))
}

/// Runs a rescue and kills it once it has read and written so many bytes. Returns how many it had when last seen.
fn killed_at(home: &Home, bytes: u64) -> u64 {
    let mut child = home.command(&ARGUMENTS).spawn().unwrap();
    let mut moved = 0;
    while child.try_wait().unwrap().is_none() {
        moved = moved_bytes(&child).unwrap_or(moved).max(moved);
        if moved >= bytes {
            child.kill().unwrap();
        }
        std::thread::yield_now();
    }
    moved
}

/// The bytes that a process has read and written so far; `None` once it has ended.
fn moved_bytes(child: &Child) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/io", child.id())).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    Some(field("rchar:")? + field("wchar:")?)
}

/// Removes what was written beside the original, which must be whole and have its proper name.
fn remove_written(home: &Home, lines: u64) {
    for name in names(&home.join(CLAUDE_FOLDER)).iter().filter(|name| **name != format!("{ID}.jsonl")) {
        let path = home.join(&format!("{CLAUDE_FOLDER}/{name}"));
        let text = fs::read_to_string(&path).unwrap();
        assert!(name.ends_with(".jsonl") && text.lines().count() as u64 == lines, "{name} is not whole");
        fs::remove_file(path).unwrap();
    }
}
