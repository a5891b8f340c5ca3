//! `infold man`: manual pages, made from the same text as `--help`.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;

use crate::cli::Cli;
use crate::output::Output;

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Write one page per command into this folder instead
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// Prints the main page, or writes one page per command into a folder.
pub fn run(args: &ManArgs, output: &Output) -> anyhow::Result<()> {
    let command = Cli::command();
    match &args.dir {
        Some(dir) => {
            let written = || format!("manual pages cannot be written to {}", dir.display());
            fs::create_dir_all(dir).with_context(written)?;
            clap_mangen::generate_to(command, dir).with_context(written)
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            Ok(output.bytes(&page)?)
        }
    }
}
