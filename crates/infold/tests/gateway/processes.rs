//! Processes that carry a test's mark in their environment, wherever in the tree they are.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::MARK;
use crate::support::PATIENCE;

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Processes that carry the mark.
pub fn marked(mark: &str) -> Vec<i32> {
    let wanted = format!("{MARK}={mark}");
    let ids = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_marked = |id: &i32| {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    ids.filter(is_marked).collect()
}

/// Waits until `is_so` of the number of marked processes.
pub fn until(mark: &str, is_so: impl Fn(usize) -> bool) {
    let begin = Instant::now();
    while !is_so(marked(mark).len()) {
        assert!(
            begin.elapsed() < PATIENCE,
            "still there: {:?}",
            marked(mark).iter().map(command_line).collect::<Vec<_>>()
        );
        std::thread::sleep(PAUSE);
    }
}

/// Waits until no process carries the mark.
pub fn until_gone(mark: &str) {
    until(mark, |count| count == 0);
}

fn command_line(id: &i32) -> String {
    let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

/// Sends a signal to a process.
pub fn signal(id: u32, signal: Signal) {
    kill_process(Pid::from_raw(id.cast_signed()).unwrap(), signal).unwrap();
}
