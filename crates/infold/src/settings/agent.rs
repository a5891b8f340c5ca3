//! `[agent]` as types. `default.toml` says what each setting means.

use serde::Deserialize;

/// `[agent]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct AgentPart {
    pub provider: AgentProvider,
    pub model: String,
    pub upstream: String,
    pub key_env: String,
    pub effort: AgentEffort,
    pub context_budget: u64,
    pub max_output_tokens: u64,
    pub compact_trigger: f64,
    pub hard_block: f64,
    pub summary_reserve: u64,
    pub compact_target: f64,
    pub compaction_turns: u64,
    pub tool_deferral_threshold: f64,
    pub context_note: f64,
    pub words_chars_max: usize,
    pub summary_chars_max: usize,
    pub image_bytes_max: u64,
    pub images_bytes_max: u64,
    pub compactions_max: u32,
    pub approval: AgentApproval,
    pub allow: Vec<String>,
    pub deny: Vec<String>,
    pub sandbox: AgentSandbox,
    pub network: bool,
    pub readable: Vec<String>,
    pub writable: Vec<String>,
    pub turns_max: u64,
    pub run_tokens_max: u64,
    pub attempts_max: u32,
    pub first_wait_ms: u64,
    pub retry_after_max_ms: u64,
    pub answer_timeout_ms: u64,
    pub shell_seconds: u64,
    pub shell_seconds_max: u64,
}

/// Whose API the agent's model is asked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentProvider {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    #[serde(rename = "openai")]
    OpenAi,
    /// OpenAI's Chat Completions.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// Ollama's own.
    Ollama,
}

impl AgentProvider {
    /// Every one of them.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::OpenAi, Self::OpenAiChat, Self::Ollama];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiChat => "openai-chat",
            Self::Ollama => "ollama",
        }
    }
}

/// How much the model is asked to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub enum AgentEffort {
    Off,
    Low,
    Medium,
    High,
}

/// What the agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentApproval {
    /// Read, and nothing else.
    ReadOnly,
    /// Read, and run commands that settings allow.
    Ask,
    /// Change files too.
    Edits,
    /// Run every command that the sandbox lets happen.
    All,
}

impl AgentApproval {
    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Ask => "ask",
            Self::Edits => "edits",
            Self::All => "all",
        }
    }
}

/// How commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub enum AgentSandbox {
    Required,
    Best,
    Bubblewrap,
    Off,
}
