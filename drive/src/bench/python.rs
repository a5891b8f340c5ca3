//! Programs from the Python registry, each in a folder of its own that is not committed: they need different versions of
//! the same packages.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use xtask::workspace::{Workspace, shown};

/// A program of a package with its version.
#[derive(Debug, Clone, Copy)]
pub struct PythonProgram {
    pub package: &'static str,
    pub program: &'static str,
}

impl PythonProgram {
    /// Installs the program, if it is not there, and returns where it is.
    pub fn install(self, workspace: &Workspace) -> Result<PathBuf> {
        let folder = workspace.tools().join("bench").join(self.program);
        let program = folder.join("bin").join(self.program);
        if program.exists() {
            return Ok(program);
        }
        std::fs::create_dir_all(&folder)?;
        quietly(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        quietly(Command::new(folder.join("bin/pip")).args(["install", "--quiet", self.package]))?;
        Ok(program)
    }
}

fn quietly(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot run {}", shown(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}: {}", shown(command), said.lines().last().unwrap_or_default());
    }
    Ok(())
}
