//! `infold tend`: the step between the gateway and an MCP server that it starts. It leaves no process of the server
//! behind, whatever the server does and however infold ends.
//!
//! A server may fork twice, leave its process group and ignore every signal but one. So this process stays between the
//! two: the kernel gives it every orphan of the server (it is a subreaper), and at the end it kills all processes below
//! it, again and again, until it has no child left. It passes nothing on: the server has infold's pipes itself.
//!
//! The end comes when the server ends, when a signal asks for it, or when infold is gone. The latter is looked for a few
//! times a second. The kernel's own signal is not used, because it follows the thread that started this process and not
//! the whole of infold.

mod family;

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, getpid, getppid, kill_process_group, set_child_subreaper};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use tokio::signal::unix::{self, SignalKind};
use tokio::time::timeout;

use crate::failure::AgentEnded;
use family::ServerFamily;

/// How often it is looked whether infold is still there.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long a server has between the request to end and its end by force.
const GRACE: Duration = Duration::from_secs(2);
/// The exit code if infold had ended before the server was started.
const ALONE: u8 = 128 + 15;

/// Arguments of `tend`.
#[derive(Debug, clap::Args)]
pub struct TendArgs {
    /// The process that the gateway is in
    parent: i32,
    /// The server's program, and what it takes
    #[arg(required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Runs a server, and then ends everything that is left of it.
pub fn run(args: &TendArgs) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot wait")?;
    let code = runtime.block_on(tend(args))?;
    if code == 0 { Ok(()) } else { Err(AgentEnded { code }.into()) }
}

async fn tend(args: &TendArgs) -> anyhow::Result<u8> {
    let Some((program, arguments)) = args.command.split_first() else { return Ok(0) };
    // Signals are caught first, so that none ends this process while it has a child.
    let mut signals = Signals::catch()?;
    set_child_subreaper(Some(getpid())).context("this system cannot hand over orphans")?;
    if is_alone(args.parent) {
        return Ok(ALONE);
    }
    let server = Command::new(program).args(arguments).process_group(0).spawn();
    let server = server.with_context(|| format!("cannot start {}", Path::new(program).display()))?;
    let mut family = ServerFamily::of(server.id())?;
    let_go_of_pipes().context("cannot let go of the server's pipes")?;

    wait_for_a_reason(&mut signals, &mut family, args.parent).await;

    if !family.has_ended() {
        // The server may have ended in this moment; then nobody gets the signal.
        let _ = kill_process_group(family.server(), Signal::TERM);
        let ended = async {
            while !family.has_ended() {
                let _stop_or_child = signals.next().await;
                family.reap();
            }
        };
        let _ended_or_not = timeout(GRACE, ended).await;
    }
    family.end().await;
    Ok(family.code())
}

/// Waits until the server has ended, a signal asks for its end, or infold is gone.
async fn wait_for_a_reason(signals: &mut Signals, family: &mut ServerFamily, parent: i32) {
    while !family.has_ended() && !is_alone(parent) {
        if let Ok(Signalled::Stop) = timeout(LOOK_EVERY, signals.next()).await {
            return;
        }
        family.reap();
    }
}

/// Whether infold has ended, so that this process has another parent now.
fn is_alone(parent: i32) -> bool {
    getppid() != Pid::from_raw(parent)
}

/// Puts nothing in place of this process's copies of the pipes, so that each side sees the other's end.
fn let_go_of_pipes() -> std::io::Result<()> {
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    Ok(())
}

/// The signals that this process acts on.
struct Signals {
    terminate: unix::Signal,
    interrupt: unix::Signal,
    hang_up: unix::Signal,
    child: unix::Signal,
}

impl Signals {
    fn catch() -> anyhow::Result<Self> {
        let catch = |kind| unix::signal(kind).context("cannot handle signals");
        Ok(Self {
            terminate: catch(SignalKind::terminate())?,
            interrupt: catch(SignalKind::interrupt())?,
            hang_up: catch(SignalKind::hangup())?,
            child: catch(SignalKind::child())?,
        })
    }

    /// Waits for the next signal.
    async fn next(&mut self) -> Signalled {
        tokio::select! {
            _ = self.terminate.recv() => Signalled::Stop,
            _ = self.interrupt.recv() => Signalled::Stop,
            _ = self.hang_up.recv() => Signalled::Stop,
            _ = self.child.recv() => Signalled::Child,
        }
    }
}

/// What a signal says.
enum Signalled {
    /// The server is to end.
    Stop,
    /// A child may have ended.
    Child,
}
