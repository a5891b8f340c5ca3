//! `infold completions`: prints a script that completes infold's commands in a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::output::Output;

pub fn run(shell: Shell, output: &Output) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "infold", &mut script);
    Ok(output.bytes(&script)?)
}
