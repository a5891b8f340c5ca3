//! All processes below this one: the server, what it started, and the orphans that the kernel handed over.
//!
//! What must hold: this process is a subreaper and nobody else reaps its children. Then it has a child as long as any
//! process below it lives, because an orphan becomes its child at once.

use std::time::Duration;

use anyhow::Context;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};
use tokio::time::{Instant, sleep};

/// What shells add to the number of the signal that ended a program.
const SIGNALLED: i32 = 128;
/// The pause between two rounds of killing.
const PAUSE: Duration = Duration::from_millis(5);
/// How long processes may take to end by force. One that the kernel itself holds up cannot be waited for without end.
const KILLING_MAX: Duration = Duration::from_secs(30);
/// Rounds in which no process could be signalled, because all that are left belong to another user.
const REFUSED_ROUNDS_MAX: u32 = 20;

/// The server and everything that comes from it.
pub struct ServerFamily {
    server: Pid,
    ended: Option<WaitStatus>,
    is_empty: bool,
}

impl ServerFamily {
    /// The family of a server that was just started.
    pub fn of(server: u32) -> anyhow::Result<Self> {
        let server = Pid::from_raw(server.cast_signed()).context("the kernel gave an odd process id")?;
        Ok(Self { server, ended: None, is_empty: false })
    }

    pub fn server(&self) -> Pid {
        self.server
    }

    /// Whether the server itself has ended. Others of its family may still run.
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// The server's exit code, or 128 and the number of the signal that ended it.
    pub fn code(&self) -> u8 {
        let Some(status) = self.ended else { return u8::MAX };
        let code = status.exit_status().or_else(|| status.terminating_signal().map(|signal| SIGNALLED + signal));
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
    }

    /// Takes the exit codes of children that have ended, so that they are gone for good.
    pub fn reap(&mut self) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.server => self.ended = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return,
                Err(_) => {
                    self.is_empty = true;
                    return;
                }
            }
        }
    }

    /// Kills all processes of the family, until none is left.
    pub async fn end(&mut self) {
        let begin = Instant::now();
        let mut refused_rounds = 0;
        self.reap();
        while !self.is_empty && begin.elapsed() < KILLING_MAX && refused_rounds < REFUSED_ROUNDS_MAX {
            let signalled = below(getpid()).into_iter().filter(|pid| kill_process(*pid, Signal::KILL).is_ok()).count();
            refused_rounds = if signalled == 0 { refused_rounds + 1 } else { 0 };
            sleep(PAUSE).await;
            self.reap();
        }
    }
}

/// The processes below `ancestor`, as far as one look at all processes shows them. What a process starts meanwhile is
/// seen in the next look.
fn below(ancestor: Pid) -> Vec<Pid> {
    let all = processes();
    let mut found = vec![ancestor];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(all.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

/// Every process that can be seen, with its parent.
fn processes() -> Vec<(Pid, Pid)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter_map(|id| Some((Pid::from_raw(id)?, parent(id)?))).collect()
}

/// The parent of a process; `None` if the process is gone, or is the first one.
fn parent(id: i32) -> Option<Pid> {
    let stat = std::fs::read(format!("/proc/{id}/stat")).ok()?;
    // The name of the program comes before it, in brackets, and may itself hold brackets and spaces.
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let fields = std::str::from_utf8(&stat[after_name..]).ok()?;
    Pid::from_raw(fields.split_whitespace().nth(1)?.parse().ok()?)
}
