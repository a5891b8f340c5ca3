//! `infold launch`: the step between `infold run` and an agent. It makes the agent end with the process that serves it,
//! even if that process is killed.
//!
//! The kernel can send a process a signal when its parent ends. Only the process itself can ask for that, and it still
//! gets the signal after it has become another program. So `infold run` starts this command, which asks and then
//! becomes the agent: terminal, signals and exit code are the agent's own from then on.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::failure::AgentEnded;

/// The signal that the agent gets. It can still restore the terminal and save its work.
const PARENT_ENDED: Signal = Signal::TERM;
/// The exit code that shells report for a program that this signal ended.
const CODE: u8 = 128 + 15;

/// Arguments of `launch`.
#[derive(Debug, clap::Args)]
pub struct LaunchArgs {
    /// The process that `infold run` is
    parent: i32,
    /// The agent's program, and what it takes
    #[arg(required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

impl LaunchArgs {
    /// infold's arguments that launch `program`. The program's own arguments follow them.
    pub fn for_program(program: &Path) -> [OsString; 3] {
        ["launch".into(), std::process::id().to_string().into(), program.into()]
    }
}

/// Asks for the signal, and then replaces this process by the agent.
pub fn run(args: &LaunchArgs) -> anyhow::Result<()> {
    let Some((program, arguments)) = args.command.split_first() else { return Ok(()) };
    // If the kernel does not offer this, an agent that outlives infold is better than none.
    let _ = set_parent_process_death_signal(Some(PARENT_ENDED));
    // If the parent has ended already, the signal would never come.
    if getppid() != Pid::from_raw(args.parent) {
        return Err(AgentEnded { code: CODE }.into());
    }
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("cannot start {}", Path::new(program).display()))
}
