//! The providers whose requests are taken, each below a path of its own.

/// A provider, by the API that its clients speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic's API, which has messages and counts of tokens.
    Anthropic,
    /// OpenAI's APIs, and those of every compatible service.
    OpenAi,
}

impl Provider {
    /// Every provider, in the order in which routes are made.
    pub const ALL: [Self; 2] = [Self::Anthropic, Self::OpenAi];

    /// The path below which clients send this provider's requests.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Anthropic => "/anthropic",
            Self::OpenAi => "/openai",
        }
    }

    /// The name of the setting that holds the address of this provider's upstream.
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Anthropic => "proxy.anthropic.upstream",
            Self::OpenAi => "proxy.openai.upstream",
        }
    }
}
