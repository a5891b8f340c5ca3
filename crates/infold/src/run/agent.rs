//! The agents that infold knows how to wire, and where their programs are.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::failure::Refused;
use crate::settings::Surroundings;

/// An agent that infold can wire to a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// OpenCode.
    Opencode,
    /// goose.
    Goose,
    /// Qwen Code.
    Qwen,
}

/// Agents that infold cannot run: the name, the reason, and what can be used with them all the same.
const OTHERS: [(&str, &str, &str); 4] = [
    (
        "gemini",
        "unsupported agent \"gemini\": infold's proxy does not speak the API that Gemini CLI uses",
        "you can use infold's tools in it, but its prompts stay as they are: start `infold serve`, then run `gemini mcp \
         add --transport http infold http://127.0.0.1:9090/mcp`",
    ),
    (
        "aider",
        "unsupported agent \"aider\": aider does not call tools, so it cannot open branches",
        "to see what its requests cost, start `infold serve` and set OPENAI_API_BASE=http://127.0.0.1:9090/openai/v1 or \
         ANTHROPIC_API_BASE=http://127.0.0.1:9090/anthropic",
    ),
    ("cursor", CURSOR, CURSOR_TOOLS),
    ("cursor-agent", CURSOR, CURSOR_TOOLS),
];

const CURSOR: &str = "unsupported agent \"cursor\": Cursor sends its requests to its own servers";
const CURSOR_TOOLS: &str = "you can use infold's tools in it, but its prompts stay as they are: start `infold serve`, then \
                            add http://127.0.0.1:9090/mcp to ~/.cursor/mcp.json";

impl Agent {
    pub const ALL: [Self; 5] = [Self::Claude, Self::Codex, Self::Opencode, Self::Goose, Self::Qwen];

    /// The agent whose program has this name. The refusal for any other says what can be done instead.
    pub fn named(name: &OsStr) -> Result<Self, Refused> {
        let found = Self::ALL.into_iter().find(|agent| OsStr::new(agent.program()) == name);
        found.ok_or_else(|| match OTHERS.iter().find(|(other, ..)| OsStr::new(other) == name) {
            Some((_, why, instead)) => Refused::new(*why).hint(*instead),
            None => Refused::new(format!("unsupported agent {:?}", name.to_string_lossy())).hint(
                "supported: claude, codex, opencode, goose, qwen; for other clients of Anthropic's or OpenAI's API, start \
                 `infold serve` and set their base URL to http://127.0.0.1:9090/anthropic or \
                 http://127.0.0.1:9090/openai/v1",
            ),
        })
    }

    /// The name of its program, which is also the agent's name on infold's command line.
    pub fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Goose => "goose",
            Self::Qwen => "qwen",
        }
    }

    /// The product's name, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Opencode => "OpenCode",
            Self::Goose => "goose",
            Self::Qwen => "Qwen Code",
        }
    }

    /// The command that resumes its latest session.
    pub fn resuming(self) -> &'static str {
        match self {
            Self::Claude => "claude --continue",
            Self::Codex => "codex resume --last",
            Self::Opencode => "opencode --continue",
            Self::Goose => "goose session --resume",
            Self::Qwen => "qwen --continue",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Claude => "@anthropic-ai/claude-code",
            Self::Codex => "@openai/codex",
            Self::Opencode => "opencode-ai",
            Self::Goose => "@aaif/goose",
            Self::Qwen => "@qwen-code/qwen-code",
        }
    }

    /// Finds its program as the shell would.
    pub fn find(self, surroundings: &Surroundings) -> Result<PathBuf, Refused> {
        on_path(self.program(), surroundings).ok_or_else(|| {
            Refused::new(format!("`{}` is not installed, or not in PATH", self.program())).hint(format!(
                "install {} with `npm install -g {}`, or add its folder to PATH",
                self.name(),
                self.package()
            ))
        })
    }
}

/// Finds a program as the shell would, in the folders of PATH.
pub fn on_path(program: &str, surroundings: &Surroundings) -> Option<PathBuf> {
    let path = surroundings.variables.get("PATH").cloned().unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| runs(file))
}

fn runs(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
