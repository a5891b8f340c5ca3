//! The forms of recordings and requests that can be read, and the names that users give them.

use std::fmt;
use std::str::FromStr;

use infold_core::transcript::Client;

use crate::error::WireError;

/// The form of a recording or of a request: which client or provider defines its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// A session of Claude Code, one JSON object on each line.
    ClaudeCode,
    /// A rollout of Codex, one JSON object on each line.
    Codex,
    /// An export of OpenCode, or an answer of its message API.
    OpenCode,
    /// Requests to Anthropic's Messages API.
    Anthropic,
    /// Requests to OpenAI's Responses or Chat Completions API.
    OpenAi,
    /// infold's own log, one event on each line.
    Infold,
    /// Sessions of any client in one plain form, one session on each line.
    Normalized,
}

impl Format {
    /// Every form, in the order in which help and errors list them.
    pub const ALL: [Self; 7] =
        [Self::ClaudeCode, Self::Codex, Self::OpenCode, Self::Anthropic, Self::OpenAi, Self::Infold, Self::Normalized];

    /// The name that users give the form in commands and settings.
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

    /// The client that transcripts in this form are attributed to.
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

    /// All names in one line, for error messages.
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
