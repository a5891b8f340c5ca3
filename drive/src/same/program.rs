//! The two programs: where they come from, and how they are run so that they draw the same ids.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use infold_testkit::{Daemon, DaemonSetup, TempFolder};

use super::SameArguments;
use super::compare::Pair;
use super::names::Names;
use crate::renamed::SettingNames;
use xtask::workspace::{Workspace, run, shown};

const CHANCE: &str = include_str!("chance.c");

/// One of the two programs.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
    settings: SettingNames,
    /// The library that replaces the system's random numbers.
    chance: PathBuf,
}

/// How a command ended, and what it printed.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
}

/// A daemon, in a folder of its own.
#[derive(Debug)]
pub struct Running {
    pub daemon: Daemon,
    folder: TempFolder,
}

/// Finds or builds both programs.
pub fn both(workspace: &Workspace, arguments: &SameArguments, folder: &Path, chance: &Path) -> Result<Pair<Program>> {
    let before = match (&arguments.before, &arguments.before_commit) {
        (Some(path), _) => path.clone(),
        (None, Some(commit)) => built_from(workspace, commit, folder)?,
        (None, None) => bail!("say with --before or --before-commit which program to compare with"),
    };
    let after = match &arguments.after {
        Some(path) => path.clone(),
        None => workspace.build_shipped_program()?,
    };
    // Each lies in a folder of its own, and both paths are of one length: a program writes its own path into files.
    let program = |from: PathBuf, side: &str| {
        let path = folder.join(side).join("infold");
        fs::create_dir_all(folder.join(side))?;
        fs::copy(&from, &path).with_context(|| format!("there is no {}", from.display()))?;
        let path = path.canonicalize()?;
        anyhow::Ok(Program { settings: SettingNames::of(&path)?, path, chance: chance.to_owned() })
    };
    Ok(Pair { before: program(before, "older")?, after: program(after, "newer")? })
}

/// Builds the program from a commit, unless that was done before.
fn built_from(workspace: &Workspace, commit: &str, folder: &Path) -> Result<PathBuf> {
    let named = workspace.command("git").args(["rev-parse", "--verify", &format!("{commit}^{{commit}}")]).output()?;
    if !named.status.success() {
        bail!("there is no commit {commit}");
    }
    let commit = String::from_utf8_lossy(&named.stdout).trim().to_owned();
    let kept = folder.join("built").join(&commit);
    if kept.is_file() {
        return Ok(kept);
    }
    let tree = folder.join("tree");
    let remove = || workspace.command("git").args(["worktree", "remove", "--force"]).arg(&tree).output();
    // An interrupted run may have left a checkout behind; usually there is none.
    let _ = remove();
    run(workspace.command("git").args(["worktree", "add", "--detach"]).arg(&tree).arg(&commit))?;
    let target = folder.join("build");
    let mut build = workspace.cargo(&["build", "--release", "--package", "infold"]);
    let built = run(build.current_dir(&tree).env("CARGO_TARGET_DIR", &target));
    remove()?;
    built?;
    fs::create_dir_all(folder.join("built"))?;
    fs::copy(target.join("release/infold"), &kept)?;
    Ok(kept)
}

/// Compiles the library that makes chance repeat itself, with the compiler that the program's own C code is built with.
pub fn compile_chance(folder: &Path) -> Result<PathBuf> {
    let (source, library) = (folder.join("chance.c"), folder.join("chance.so"));
    fs::write(&source, CHANCE)?;
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    run(Command::new(compiler).args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source))?;
    Ok(library)
}

impl Program {
    /// Starts a daemon with these settings.
    pub async fn start(&self, settings: &[(&str, &str)]) -> Result<Running> {
        let folder = TempFolder::new()?;
        let setup = DaemonSetup::new(&self.path)
            .env("LD_PRELOAD", &self.chance.to_string_lossy())
            .env("SAME_STARTS", &folder.join("starts").to_string_lossy())
            .set("store.synchronous", "normal");
        let setup = settings.iter().fold(setup, |setup, (key, value)| setup.set(self.settings.name(key), value));
        let daemon = setup.start().await?;
        Ok(Running { daemon, folder })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a command to its end, in a folder that it takes for the person's home.
    pub fn run(&self, home: &Path, arguments: &[OsString], input: Stdio) -> Result<Ran> {
        let mut command = Command::new(&self.path);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("INFOLD_") || name.to_string_lossy().starts_with("XDG_") {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .stdin(input)
            .env("HOME", home)
            .env("LD_PRELOAD", &self.chance)
            .env("SAME_STARTS", home.join("starts"))
            .current_dir(home);
        let output = command.output().with_context(|| format!("cannot run {}", shown(&command)))?;
        Ok(Ran { code: output.status.code(), stdout: output.stdout })
    }
}

impl Running {
    /// Takes the daemon's folders out of what it says.
    pub fn names(&self) -> Names {
        let (data, home) = (self.daemon.data().to_string_lossy(), self.daemon.home());
        let folder = home.parent().unwrap_or(&home).to_string_lossy();
        Names::in_folders(&[&data, &folder, &self.folder.path().to_string_lossy()])
    }
}
