//! Where the repository is, and how programs are run in it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// What the program has for tests and people do not get.
const TEST_FEATURES: &str = "infold/conformance";

/// `-D warnings`, in the form in which clippy's compiler takes its flags.
const LINT_FLAGS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// What a warning of the compiler or of clippy leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warnings {
    /// Nothing is built.
    AreErrors,
    /// It is shown, and the build goes on.
    AreShown,
}

/// The repository, as cargo sees it.
#[derive(Debug)]
pub struct Workspace {
    /// The folder that holds the root `Cargo.toml`.
    pub root: PathBuf,
    /// What `cargo metadata` says of our own packages.
    pub metadata: Value,
}

impl Workspace {
    /// Asks cargo for the workspace that this program belongs to.
    pub fn find() -> Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let output = Command::new(cargo())
            .args(["metadata", "--format-version", "1", "--no-deps", "--manifest-path"])
            .arg(&manifest)
            .stderr(Stdio::inherit())
            .output()
            .context("cannot run cargo metadata")?;
        if !output.status.success() {
            bail!("cargo metadata failed");
        }
        let metadata: Value = serde_json::from_slice(&output.stdout)?;
        let root = metadata["workspace_root"].as_str().context("cargo names no workspace root")?;
        Ok(Self { root: PathBuf::from(root), metadata })
    }

    /// Where cargo puts what it builds.
    pub fn target(&self) -> PathBuf {
        self.metadata["target_directory"].as_str().map_or_else(|| self.root.join("target"), PathBuf::from)
    }

    /// The folder with recordings that are not in the repository. It need not be there.
    pub fn test_data(&self) -> PathBuf {
        std::env::var_os("INFOLD_TEST_DATA").map_or_else(|| self.root.join("../shared/data"), PathBuf::from)
    }

    /// The folder for what the tests install. It is ignored by git.
    pub fn tools(&self) -> PathBuf {
        self.root.join(".tools")
    }

    /// A command that runs in the repository's root.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// A cargo command in the repository's root.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(cargo());
        command.args(arguments);
        command
    }

    /// A cargo command on everything that tests need. Its compiler is clippy's, which lints our crates as it builds
    /// them, so that linting costs no build of its own.
    pub fn cargo_on_tests(&self, command: &str, warnings: Warnings) -> Command {
        let mut command = self.cargo_linting(command, warnings);
        command.args(["--features", TEST_FEATURES]);
        command
    }

    /// A cargo command on everything that is shipped, and its tests, with clippy's compiler.
    pub fn cargo_linting(&self, command: &str, warnings: Warnings) -> Command {
        let mut command = self.cargo(&[command, "--workspace"]);
        let flags = match warnings {
            Warnings::AreErrors => LINT_FLAGS,
            Warnings::AreShown => "",
        };
        command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env("CLIPPY_ARGS", flags);
        if in_ci() {
            // Nothing is built a second time there.
            command.env("CARGO_INCREMENTAL", "0");
        }
        command
    }

    /// Where the test command has put the program that it built.
    pub fn tested_program(&self) -> PathBuf {
        self.target().join("debug/infold")
    }

    /// Builds the program that tests drive, and returns where it is.
    pub fn build_tested_program(&self) -> Result<PathBuf> {
        run(self.cargo_on_tests("build", Warnings::AreShown).arg("--bins"))?;
        Ok(self.tested_program())
    }

    /// Builds the program that people run, and returns where it is.
    pub fn build_shipped_program(&self) -> Result<PathBuf> {
        run(&mut self.cargo(&["build", "--package", "infold", "--release"]))?;
        Ok(self.target().join("release/infold"))
    }
}

/// The cargo that runs us, so that a chore uses the same toolchain as the person who called it.
pub fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Whether this runs where a missing tool is a failure.
pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Runs a command with its output shown, and fails if it does.
pub fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status = command.status().with_context(|| format!("cannot run {shown}"))?;
    if !status.success() {
        bail!("{shown} failed ({status})");
    }
    Ok(())
}

/// Runs a command, shows its standard output as it comes, and hands every line to `see`. Returns
/// whether the command succeeded.
pub fn run_seeing_lines(command: &mut Command, mut see: impl FnMut(&str)) -> Result<bool> {
    let shown = shown(command);
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot run {shown}"))?;
    let output = child.stdout.take().context("the command has no standard output")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.with_context(|| format!("cannot read what {shown} says"))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        see(&line);
    }
    Ok(child.wait()?.success())
}

/// A command as a person would type it, for messages.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
