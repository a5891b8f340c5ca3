//! A server's process, whose life hangs on a pipe: when the pipe is closed, by us or by the end of the test's process,
//! however it ended, the shell at its other end kills the server.
//!
//! A server may run under a tracer that is no parent of it, so that the shell's child is the server.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

/// Starts the server, says its process id, waits for the end of its own input, and kills the server. The kernel hangs up
/// on a process group that is left behind with a paused process in it; the keeper must survive that to do its work.
/// The server and its tracer hold the keeper's output, so that its end is also the end of both.
const KEEPER: &str = r#"trap '' HUP; "$@" 3>&1 >>"$0" 2>&1 & echo $!; read -r _; kill -9 $!; wait"#;

/// Most bytes of a server's log in a failure message.
const LOG_SHOWN_BYTES_MAX: usize = 8_000;

/// A running server. It is killed when this is dropped.
#[derive(Debug)]
pub struct NatsProcess {
    keeper: Child,
    output: BufReader<ChildStdout>,
    pid: Pid,
    log: PathBuf,
}

impl NatsProcess {
    /// Runs a command that becomes the server, in a process group of its own. What it says is added to `log`.
    pub fn start(server: &[OsString], log: &Path) -> Result<Self> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(KEEPER).arg(log).args(server);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut keeper = command.spawn().context("cannot run sh")?;
        let mut output = BufReader::new(keeper.stdout.take().context("the keeper has no output")?);
        let mut said = String::new();
        output.read_line(&mut said)?;
        let pid = said.trim().parse().ok().and_then(Pid::from_raw).context("the keeper gave no process id")?;
        Ok(Self { keeper, output, pid, log: log.to_owned() })
    }

    /// The server's own process, whatever it runs under.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Stops the server where it is, until [`NatsProcess::resume`].
    pub fn pause(&self) -> Result<()> {
        kill_process(self.pid, Signal::STOP).context("cannot stop the server")
    }

    /// Lets a paused server go on.
    pub fn resume(&self) -> Result<()> {
        kill_process(self.pid, Signal::CONT).context("cannot resume the server")
    }

    /// Whether the server has ended by itself: it waits for its keeper then, which waits for us.
    pub fn has_ended(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid.as_raw_nonzero()));
        stat.map_or(true, |stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
    }

    /// The end of what the server has said, over all its starts.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        let start = bytes.len().saturating_sub(LOG_SHOWN_BYTES_MAX);
        String::from_utf8_lossy(&bytes[start..]).into_owned()
    }
}

impl Drop for NatsProcess {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // The keeper leaves once the server is dead, which SIGKILL makes sure of even if it was paused.
        let _ = self.keeper.wait();
        // A tracer still writes down the server's end.
        let _ = self.output.read_to_end(&mut Vec::new());
    }
}
