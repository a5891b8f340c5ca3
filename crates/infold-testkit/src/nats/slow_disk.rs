//! A disk that is slow: a tracer holds each sync of a running server for a while.
//!
//! The tracer lets go of the server when this is dropped, and ends by itself if the server does. So it ends with the
//! test, however that ends, because the server does.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// How long a sync is held.
const DELAY_MICROSECONDS: usize = 50_000;
const SYNCS: &str = "fsync,fdatasync";
/// What the tracer says when it holds the server.
const ATTACHED: &str = " attached";

/// Keeps the disk of one server slow until it is dropped.
#[derive(Debug)]
pub struct SlowDisk {
    tracer: Child,
    /// Held so that a tracer that says something again does not find it closed.
    _said: BufReader<ChildStderr>,
}

impl SlowDisk {
    /// Begins to hold the syncs of a process, and returns when all of its threads are reached.
    pub fn of(server: Pid) -> Result<Self> {
        let mut command = Command::new("strace");
        command.args(["--follow-forks", "--signal=none", "--output=/dev/null"]);
        command.arg(format!("--trace={SYNCS}")).arg(format!("--inject={SYNCS}:delay_enter={DELAY_MICROSECONDS}"));
        command.arg(format!("--attach={}", server.as_raw_nonzero()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut tracer = command.spawn().context("a slow disk needs strace: install it")?;
        let mut said = BufReader::new(tracer.stderr.take().context("the tracer has no output")?);
        let mut line = String::new();
        let read = said.read_line(&mut line);
        let slow = Self { tracer, _said: said };
        read?;
        ensure!(line.contains(ATTACHED), "the server's disk cannot be made slow: {line}");
        Ok(slow)
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        // Asked to end, the tracer lets go of the server first. If the server has ended, so has the tracer, and waits for us.
        if let Some(tracer) = i32::try_from(self.tracer.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(tracer, Signal::TERM);
        }
        let _ = self.tracer.wait();
    }
}
