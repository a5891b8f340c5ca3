//! Flags that every command with infold's agent in it takes: which session, where, and what may be done. Values have a word
//! each for the help.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use infold_agent::{SpokenBy, ThreadEntry};

use crate::settings::{AgentApproval, AgentProvider};

/// Which session, and how it is worked in.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct AgentFlags {
    /// Go on with a session: its id, or the first characters of it
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["fork", "from", "latest"])]
    pub resume: Option<String>,
    /// Go on with the latest session in this folder
    #[arg(long = "continue", conflicts_with_all = ["fork", "from"])]
    pub latest: bool,
    /// Start a new session from all that was said in another one
    #[arg(long, value_name = "SESSION", conflicts_with = "from")]
    pub fork: Option<String>,
    /// Take over a recorded session of Claude Code, Codex or OpenCode: a file, or the id of a session
    #[arg(long, value_name = "FILE")]
    pub from: Option<String>,
    /// The folder to work in [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub folder: Option<PathBuf>,
    /// The model [default: the setting agent.model]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Whose API it is asked through [default: the setting agent.provider]
    #[arg(long, value_name = "NAME")]
    pub provider: Option<AgentProvider>,
    /// What may be done without asking [default: the setting agent.approval]
    #[arg(long, value_name = "MODE")]
    pub approval: Option<AgentApproval>,
    /// Words that the agent keeps as they are, whatever it compacts; can be repeated
    #[arg(long, value_name = "TEXT")]
    pub pin: Vec<String>,
    /// A skill that is active from the beginning; can be repeated
    #[arg(long, value_name = "NAME")]
    pub skill: Vec<String>,
}

impl AgentFlags {
    /// The words that are kept as they are, for a session to begin with.
    pub fn pinned(&self) -> impl Iterator<Item = ThreadEntry> {
        self.pin.iter().map(|text| ThreadEntry::user(text.clone(), SpokenBy::PersonPinned))
    }
}

impl ValueEnum for AgentProvider {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Anthropic => "Anthropic's Messages",
            Self::OpenAi => "OpenAI's Responses",
            Self::OpenAiChat => "OpenAI's Chat Completions, and what is compatible with it",
            Self::Ollama => "Ollama's own",
        };
        Some(PossibleValue::new(self.name()).help(help))
    }
}

impl ValueEnum for AgentApproval {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::ReadOnly, Self::Ask, Self::Edits, Self::All]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::ReadOnly => "Read, and nothing else",
            Self::Ask => "Read, and run commands that settings allow",
            Self::Edits => "Change files too",
            Self::All => "Run every command that the sandbox lets happen",
        };
        Some(PossibleValue::new(self.name()).help(help))
    }
}
