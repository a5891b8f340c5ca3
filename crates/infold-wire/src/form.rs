//! The forms that recordings and requests come in, and their names.

use std::fmt;
use std::str::FromStr;

use infold_core::transcript::Client;

use crate::error::WireError;

/// The form of a recording or of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Claude Code's JSONL.
    ClaudeCode,
    /// Codex's rollouts.
    Codex,
    /// OpenCode's export, or the answer of its message API.
    OpenCode,
    /// Requests to Anthropic's Messages API.
    Anthropic,
    /// Requests to OpenAI's Responses or Chat Completions API.
    OpenAi,
    /// infold's own log, an event a line.
    Infold,
    /// Sessions of several clients, a session a line.
    Normalized,
}

impl Format {
    /// Every form that can be read.
    pub const ALL: [Self; 7] =
        [Self::ClaudeCode, Self::Codex, Self::OpenCode, Self::Anthropic, Self::OpenAi, Self::Infold, Self::Normalized];

    /// The name by which it is asked for.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Infold => "infold",
            Self::Normalized => "normalized",
        }
    }

    /// Whose transcripts have it.
    pub const fn client(self) -> Client {
        match self {
            Self::ClaudeCode => Client::ClaudeCode,
            Self::Codex => Client::Codex,
            Self::OpenCode => Client::OpenCode,
            Self::Anthropic => Client::Anthropic,
            Self::OpenAi => Client::OpenAi,
            Self::Infold => Client::Infold,
            Self::Normalized => Client::Normalized,
        }
    }

    /// All names, for messages.
    pub(crate) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = WireError;

    fn from_str(name: &str) -> Result<Self, WireError> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| WireError::NoSuchForm { name: name.to_owned() })
    }
}
