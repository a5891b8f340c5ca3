//! A home that is not the person's, and the program run in it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A temporary home, with a folder to work in.
pub struct Home {
    folder: TempDir,
}

/// How the program ended, and what it printed.
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Home {
    /// An empty home.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("project/inner")).unwrap();
        Self { folder }
    }

    pub fn join(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// The data folder that the program uses by default.
    pub fn data(&self) -> PathBuf {
        self.join(".local/share/infold")
    }

    /// Writes a file below this home, with the folders above it.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The program, ready to be started in this home.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_infold"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder.path())
            .env("LANG", "C.UTF-8")
            .current_dir(self.join("project/inner"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.ended(self.command(arguments).output().unwrap())
    }

    /// Runs the program with something to read.
    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        // The program may refuse before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input);
        self.ended(child.wait_with_output().unwrap())
    }

    /// The outcome of a run, with this home's path written as HOME.
    pub fn ended(&self, output: Output) -> Ended {
        let text = |bytes| String::from_utf8(bytes).unwrap().replace(&self.folder.path().display().to_string(), "HOME");
        Ended { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// The permission bits of a file or folder.
pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).unwrap().mode() & 0o777
}
