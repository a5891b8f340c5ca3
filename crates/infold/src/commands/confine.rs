//! `infold confine`: the step between the agent and a command that it runs. It gives up what the command must not do, and
//! then becomes the command.
//!
//! The kernel confines only a process that asks for it itself, and then for ever. What must hold: if less is in force than
//! was asked for, the command is not started.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use infold_agent::tools::sandbox::{Confinement, FileRules, NetworkAccess, SandboxLevel, restrict};

use crate::failure::Refused;

/// Arguments of `confine`.
#[derive(Debug, clap::Args)]
pub struct ConfineArgs {
    /// A folder that the command may write
    #[arg(long = "folder", required = true)]
    folders: Vec<PathBuf>,
    /// A file or folder that the command may not read
    #[arg(long = "hide")]
    hidden: Vec<PathBuf>,
    /// Leave the network open
    #[arg(long)]
    network: bool,
    /// Leave files to whoever started this: it is inside of bubblewrap
    #[arg(long)]
    without_landlock: bool,
    /// The version of Landlock that has to be in force
    #[arg(long)]
    landlock_min: Option<i32>,
    /// Whether the filter of system calls has to be in force
    #[arg(long)]
    filter_required: bool,
    /// Print what is in force, as one line of JSON, before the command's own output
    #[arg(long)]
    tell: bool,
    /// The command, and what it takes
    #[arg(required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Confines this process, and then replaces it by the command.
pub fn run(args: &ConfineArgs) -> anyhow::Result<()> {
    let Some((program, arguments)) = args.command.split_first() else { return Ok(()) };
    let confinement = Confinement {
        writable: args.folders.clone(),
        hidden: args.hidden.clone(),
        network: if args.network { NetworkAccess::Open } else { NetworkAccess::Closed },
    };
    let files = if args.without_landlock { FileRules::Elsewhere } else { FileRules::Landlock };
    let level = restrict(&confinement, files)?;
    if is_too_low(args, level) {
        let message = format!("the command was not run: {}, which is less than before", level.describe());
        return Err(Refused::new(message).hint("start the agent again, so that it finds out what is possible").into());
    }
    if args.tell {
        let mut stdout = std::io::stdout().lock();
        serde_json::to_writer(&mut stdout, &level).context("cannot say what is in force")?;
        stdout.write_all(b"\n").and_then(|()| stdout.flush()).context("cannot say what is in force")?;
    }
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("cannot start {}", Path::new(program).display()))
}

fn is_too_low(args: &ConfineArgs, level: SandboxLevel) -> bool {
    args.landlock_min.is_some_and(|wanted| level.landlock_abi < wanted) || (args.filter_required && !level.has_filter)
}
