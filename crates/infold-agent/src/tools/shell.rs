//! `shell`: runs a command in the working folder, confined, and leaves nothing of it behind.
//!
//! Two steps of infold's own are between the agent and the command. `infold tend` ends every process that comes from the
//! command, when the command ends, when it is asked to, or when infold is gone; `infold confine` gives up what a command
//! must not do and then becomes the command. Output and errors share one pipe, so that they come in their order.

mod environment;
mod guarded;
mod kept;

#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::arguments::ShellCall;
use super::sandbox::{Confinement, SandboxLevel};
use super::{CommandRan, ToolOutput, Workplace};
use crate::ResultOutcome;
use guarded::GuardedFiles;
use kept::KeptOutput;

pub use environment::{CleanEnvironment, clean};
pub(crate) use guarded::GUARDED;

/// Shells, the best one first.
const SHELLS: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/bin/sh"];
/// How long the tender has after it was asked to end a command: it gives the command two seconds.
const TENDER_MAX: Duration = Duration::from_secs(10);
/// How long output is waited for after the command's end. Only a process of another user could hold it open.
const DRAIN_MAX: Duration = Duration::from_secs(2);
/// Bytes that are read at a time.
const READ_BYTES: usize = 16 * 1024;

/// How commands are run.
#[derive(Debug, Clone)]
pub struct ShellSetup {
    /// infold's own program, which has the commands `tend` and `confine`.
    pub program: PathBuf,
    /// What commands may do, or why none may run.
    pub sandbox: Result<SandboxLevel, String>,
    /// What commands may write and not read, and whether they may reach the network.
    pub confinement: Confinement,
    /// The folder for their temporary files. They may write it.
    pub temporary: PathBuf,
    /// The variables that they get.
    pub environment: CleanEnvironment,
}

/// Why a command did not come to its own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndedBy {
    Itself,
    TimeLimit,
    Cancelling,
}

/// Runs a command to its end.
pub(super) async fn run(call: &ShellCall, workplace: &Workplace, cancelled: &CancellationToken) -> ToolOutput {
    let setup = &workplace.shell;
    let level = match &setup.sandbox {
        Ok(level) => *level,
        Err(why) => return ToolOutput::failed(format!("no command can be run: {why}")),
    };
    let limits = &workplace.limits;
    let asked = call.timeout_seconds.unwrap_or(limits.shell_usual_seconds);
    let seconds = asked.min(limits.shell_seconds_max);
    let guarded = GuardedFiles::of(&workplace.fence);
    let begin = Instant::now();
    let (mut tended, pipe) = match start(call, workplace, level) {
        Ok(started) => started,
        Err(error) => return ToolOutput::failed(format!("the command could not be started: {error}")),
    };

    let mut output = OutputReader { pipe, kept: KeptOutput::new(limits.shell_bytes_max), is_at_end: false };
    let (status, ended_by) = wait(&mut tended, &mut output, Duration::from_secs(seconds), cancelled).await;

    let ran = CommandRan {
        command: call.command.clone(),
        exit: status.and_then(|status| status.code()).filter(|_| ended_by == EndedBy::Itself),
        duration_ms: u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX),
        timed_out: ended_by == EndedBy::TimeLimit,
        guarded_changed: guarded.changed(&workplace.fence),
    };
    let mut text = output.kept.text();
    if asked > seconds && ended_by == EndedBy::TimeLimit {
        text.push_str(&format!("[a command may take {seconds} seconds at most; {asked} were asked for]\n"));
    }
    if !ran.guarded_changed.is_empty() {
        let files = ran.guarded_changed.join(", ");
        text.push_str(&format!("[the command changed {files}: tell the user, who should look at it]\n"));
    }
    if !tended.has_ended {
        text.push_str("[it could not be ended in time: some of its processes may still run]\n");
    }
    text.push_str(&last_line(&ran, ended_by, seconds));
    let outcome = if ran.exit == Some(0) { ResultOutcome::Succeeded } else { ResultOutcome::Failed };
    ToolOutput { outcome, command: Some(ran), ..ToolOutput::said(text) }
}

fn last_line(ran: &CommandRan, ended_by: EndedBy, seconds: u64) -> String {
    let took = format!("{}.{} s", ran.duration_ms / 1000, ran.duration_ms % 1000 / 100);
    match (ended_by, ran.exit) {
        (EndedBy::Itself, Some(code)) => format!("[exit status {code}, {took}]"),
        (EndedBy::Itself, None) => format!("[ended by force, {took}]"),
        (EndedBy::TimeLimit, _) => format!(
            "[ended after {seconds} s, its time limit, and what it started with it; `timeout_seconds` sets another]"
        ),
        (EndedBy::Cancelling, _) => format!("[cancelled after {took}, and what it started with it]"),
    }
}

/// Starts a command under its tender, and gives its output.
fn start(call: &ShellCall, workplace: &Workplace, level: SandboxLevel) -> io::Result<(TendedCommand, Receiver)> {
    let setup = &workplace.shell;
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(&setup.program);
    command.arg0("infold").arg("tend").arg(std::process::id().to_string()).arg("--");
    command.args(setup.confinement.steps(&setup.program, level));
    let shell = SHELLS.iter().find(|shell| std::path::Path::new(shell).exists()).unwrap_or(&"sh");
    command.args([shell, "-c", call.command.as_str()]);
    command.env_clear().envs(setup.environment.kept.iter().map(|(name, value)| (name, value)));
    command.env("TMPDIR", &setup.temporary).env("PWD", workplace.fence.folder());
    command.current_dir(workplace.fence.folder());
    // A group of its own keeps it from signals that a terminal sends to infold.
    command.process_group(0).stdin(Stdio::null());
    command.stdout(Stdio::from(writer.try_clone()?)).stderr(Stdio::from(writer));
    let child = command.spawn()?;
    // The command's own copies of the pipe are let go of with it, so that its end can be seen.
    drop(command);
    let output = Receiver::from_owned_fd(reader.into())?;
    Ok((TendedCommand { child, has_ended: false }, output))
}

/// Waits until a command and everything that it started have ended, by themselves or by force.
async fn wait(
    tended: &mut TendedCommand,
    output: &mut OutputReader,
    limit: Duration,
    cancelled: &CancellationToken,
) -> (Option<ExitStatus>, EndedBy) {
    let ended_by = tokio::select! {
        status = until_end(tended, output) => return (status, EndedBy::Itself),
        () = tokio::time::sleep(limit) => EndedBy::TimeLimit,
        () = cancelled.cancelled() => EndedBy::Cancelling,
    };
    tended.ask_to_end();
    (timeout(TENDER_MAX, until_end(tended, output)).await.ok().flatten(), ended_by)
}

/// Waits for the tender, and for the rest of the output.
async fn until_end(tended: &mut TendedCommand, output: &mut OutputReader) -> Option<ExitStatus> {
    let status = loop {
        tokio::select! {
            status = tended.child.wait() => break status.ok(),
            () = output.read(), if !output.is_at_end => {}
        }
    };
    tended.has_ended = true;
    let rest = async {
        while !output.is_at_end {
            output.read().await;
        }
    };
    let _all_or_not = timeout(DRAIN_MAX, rest).await;
    status
}

/// Reads a command's output as it comes.
struct OutputReader {
    pipe: Receiver,
    kept: KeptOutput,
    is_at_end: bool,
}

impl OutputReader {
    /// Reads what is there. Whoever gives up waiting loses nothing.
    async fn read(&mut self) {
        let mut buffer = [0; READ_BYTES];
        match self.pipe.read(&mut buffer).await {
            Ok(0) | Err(_) => self.is_at_end = true,
            Ok(count) => self.kept.take(&buffer[..count]),
        }
    }
}

/// A command under its tender. Whoever forgets it leaves no process behind either.
struct TendedCommand {
    child: Child,
    has_ended: bool,
}

impl TendedCommand {
    fn ask_to_end(&self) {
        let tender = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        // It may have ended in this moment, and then there is nobody to signal.
        let _ = tender.map(|pid| kill_process(pid, Signal::TERM));
    }
}

impl Drop for TendedCommand {
    fn drop(&mut self) {
        if !self.has_ended {
            self.ask_to_end();
        }
    }
}
