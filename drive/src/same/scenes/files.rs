//! Files that scripted agents have: short ones, long ones, one that is read twice, and some with secrets in them.

use infold_testkit::Rng;
use infold_testkit::agent::Agent;

/// Short files that every agent has.
pub const FILES: usize = 12;
/// A file that is too long to be shown whole.
pub const LONG: &str = "/p/long.txt";
/// Output that is longer than most budgets.
pub const HUGE: &str = "/p/huge.log";
/// A file that changes between two readings.
pub const CHANGED: &str = "/p/harbour.txt";
/// A file with secrets in it.
pub const SECRETS: &str = "/p/env.txt";
/// Logs that together do not fit a small window.
pub const LOGS: usize = 12;

pub fn path(number: usize) -> String {
    format!("/p/file-{number:02}.rs")
}

pub fn log_path(number: usize) -> String {
    format!("/p/log-{number:02}.txt")
}

/// The content of a short file, which differs by number.
pub fn content(number: usize) -> String {
    let name = format!("harbour_{:04}", 7_000 + number * 13);
    (1..=30).map(|line| format!("fn {name}_{line}() -> u32 {{ {} }} // row\n", line * number + 40)).collect()
}

/// The file that changes, with this line in it.
pub fn changing(visitor: &str) -> String {
    let line = |at: usize| match at {
        120 => format!("berth 120 {visitor}\n"),
        at => format!("berth {at} is quiet and nothing moves\n"),
    };
    (0..350).map(line).collect()
}

/// Gives an agent its files.
pub fn put(agent: &mut Agent) {
    for number in 1..=FILES {
        agent.file(&path(number), &content(number));
    }
    for number in 1..=LOGS {
        let line = |line: usize| format!("{line} log {number}: the harbour is quiet and nothing moves\n");
        agent.file(&log_path(number), &(0..180).map(line).collect::<String>());
    }
    let entry = |line: usize| match line {
        700 => "entry 700: error: the crane fell over at pier_seven\n".to_owned(),
        line => format!("entry {line}: the harbour is quiet\n"),
    };
    agent.file(LONG, &(0..1_500).map(entry).collect::<String>());
    let row = |line: usize| format!("{line} the harbour is quiet, nothing moves\n");
    agent.file(HUGE, &(0..9_000).map(row).collect::<String>());
    agent.file(CHANGED, &changing("is quiet and nothing moves"));
    let secrets: String = (1..=3).map(|seed| format!("value = {}\n", secret(seed))).collect();
    agent.file(SECRETS, &secrets);
}

/// A secret, made here, so that nothing in this file looks like one to anybody's scanner.
pub fn secret(seed: u64) -> String {
    const LETTERS: &[u8] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let mut rng = Rng::new(seed);
    let body: String = (0..36).map(|_| char::from(LETTERS[rng.below(LETTERS.len())])).collect();
    format!("{}{body}", "ghp_")
}
