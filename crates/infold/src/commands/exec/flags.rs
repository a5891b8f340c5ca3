//! Settings of the agent that can be flags as well: their values on the command line, with a word on each for the help.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::settings::{AgentApproval, AgentProvider};

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
        let (name, help) = match self {
            Self::ReadOnly => ("read_only", "Read, and nothing else"),
            Self::Ask => ("ask", "Read, and run commands that settings allow"),
            Self::Edits => ("edits", "Change files too"),
            Self::All => ("all", "Run every command that the sandbox lets happen"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}
