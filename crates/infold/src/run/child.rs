//! Runs an agent in this terminal, as if infold were not there: its input, output and signals are the
//! user's, and the exit code is its own. Only if this process is killed, the agent gets a signal to end.

use std::io::{self, IsTerminal};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::signal::unix::{self, SignalKind};

use super::Start;
use crate::commands::launch;
use crate::failure::AgentEnded;

/// What shells add to the number of the signal that ended a program.
const SIGNALLED: i32 = 128;

/// This program, even if its file has been replaced since it was started.
const THIS: &str = "/proc/self/exe";

/// Runs the agent to its end. The thread that calls this has to live as long as the process, because the kernel takes
/// the end of this thread for the end of the parent.
pub async fn run(program: &Path, start: &Start) -> anyhow::Result<Result<(), AgentEnded>> {
    let mut signals = Signals::catch()?;
    let mut command = Command::new(THIS);
    command.arg0("infold").args(launch::LaunchArgs::for_program(program));
    command.args(&start.arguments).envs(start.environment.iter().map(|(name, value)| (name, value)));
    let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status.context("cannot wait for the agent")?,
            signal = signals.next() => pass_on(&child, signal),
        }
    };
    Ok(outcome(status))
}

fn outcome(status: ExitStatus) -> Result<(), AgentEnded> {
    let code = status.code().or_else(|| status.signal().map(|signal| SIGNALLED + signal)).unwrap_or(SIGNALLED);
    match u8::try_from(code) {
        Ok(0) => Ok(()),
        Ok(code) => Err(AgentEnded { code }),
        Err(_) => Err(AgentEnded { code: u8::MAX }),
    }
}

fn pass_on(child: &Child, signal: Signal) {
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    // The child may have ended in this moment, and then there is nobody to signal.
    let _ = pid.map(|pid| kill_process(pid, signal));
}

/// Signals that the agent has to react to, and not infold.
struct Signals {
    interrupt: unix::Signal,
    quit: unix::Signal,
    terminate: unix::Signal,
    hang_up: unix::Signal,
    /// At a terminal, Ctrl-C and Ctrl-\ signal the agent as well as infold, so they must not be passed on again.
    keys_reach_the_agent: bool,
}

impl Signals {
    fn catch() -> anyhow::Result<Self> {
        let catch = |kind| unix::signal(kind).context("cannot handle signals");
        Ok(Self {
            interrupt: catch(SignalKind::interrupt())?,
            quit: catch(SignalKind::quit())?,
            terminate: catch(SignalKind::terminate())?,
            hang_up: catch(SignalKind::hangup())?,
            keys_reach_the_agent: io::stdin().is_terminal(),
        })
    }

    /// Waits for a signal that has to be passed on to the agent.
    async fn next(&mut self) -> Signal {
        loop {
            let (signal, is_a_key) = tokio::select! {
                _ = self.interrupt.recv() => (Signal::INT, true),
                _ = self.quit.recv() => (Signal::QUIT, true),
                _ = self.terminate.recv() => (Signal::TERM, false),
                _ = self.hang_up.recv() => (Signal::HUP, false),
            };
            if !(is_a_key && self.keys_reach_the_agent) {
                return signal;
            }
        }
    }
}
