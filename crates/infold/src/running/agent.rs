//! The agents that infold knows how to wire, and where their programs are.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::failure::Refused;
use crate::settings::Surroundings;

/// An agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// OpenCode.
    Opencode,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Opencode];

    /// The agent of this name.
    pub fn named(name: &OsStr) -> Result<Self, Refused> {
        let found = Self::ALL.into_iter().find(|agent| OsStr::new(agent.program()) == name);
        found.ok_or_else(|| {
            Refused::new(format!("there is no agent {:?}", name.to_string_lossy()))
                .hint("infold runs claude, codex and opencode; others can be pointed at `infold serve`")
        })
    }

    /// What its program is called.
    pub fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
        }
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Opencode => "OpenCode",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Claude => "@anthropic-ai/claude-code",
            Self::Codex => "@openai/codex",
            Self::Opencode => "opencode-ai",
        }
    }

    /// Its program, as the shell would find it.
    pub fn find(self, surroundings: &Surroundings) -> Result<PathBuf, Refused> {
        let path = surroundings.variables.get("PATH").cloned().unwrap_or_default();
        let found = std::env::split_paths(&path).map(|folder| folder.join(self.program())).find(|file| runs(file));
        found.ok_or_else(|| {
            Refused::new(format!("there is no `{}` in the folders of PATH", self.program())).hint(format!(
                "install {} with `npm install -g {}`, or add its folder to PATH",
                self.name(),
                self.package()
            ))
        })
    }
}

fn runs(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
