//! The providers whose requests are taken, each below a path of its own.

/// Whose API a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic's.
    Anthropic,
    /// OpenAI's, and everything compatible.
    OpenAi,
}

impl Provider {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Anthropic, Self::OpenAi];

    /// The path below which its requests come.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Anthropic => "/anthropic",
            Self::OpenAi => "/openai",
        }
    }

    /// The setting that says where they go.
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Anthropic => "proxy.anthropic.upstream",
            Self::OpenAi => "proxy.openai.upstream",
        }
    }
}
