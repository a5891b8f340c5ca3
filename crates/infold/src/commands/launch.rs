//! `infold launch`: the step between `infold run` and an agent, which lets the agent end with the process that
//! serves it, even if that is killed.
//!
//! The kernel tells a process that its parent has gone if the process has asked for it, and still does when it has
//! become another program. Only the process itself can ask. So `infold run` starts this, which asks and becomes the
//! agent: terminal, signals and exit code are the agent's own from then on.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::failure::AgentEnded;

/// What the agent is told: it has a terminal to put back, and perhaps something to save.
const TOLD: Signal = Signal::TERM;
/// What shells say of a program that this signal ended.
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
    /// What has to be typed for `program`, in front of its own arguments.
    pub fn for_program(program: &Path) -> [OsString; 3] {
        ["launch".into(), std::process::id().to_string().into(), program.into()]
    }
}

/// Becomes the agent.
pub fn run(args: &LaunchArgs) -> anyhow::Result<()> {
    let Some((program, arguments)) = args.command.split_first() else { return Ok(()) };
    // Where this cannot be asked for, an agent that outlives infold is better than none.
    let _ = set_parent_process_death_signal(Some(TOLD));
    // A parent that had gone before will not go again.
    if getppid() != Pid::from_raw(args.parent) {
        return Err(AgentEnded { code: CODE }.into());
    }
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("cannot start {}", Path::new(program).display()))
}
