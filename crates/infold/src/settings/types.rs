//! The settings as types. What each means stands in `default.toml`.
//!
//! These shapes belong to the settings file; the crates inward have their own, made from these when
//! the parts are put together.

use serde::Deserialize;

/// All settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The data folder as given; empty for the usual place.
    pub data: String,
    /// The daemon.
    pub server: Server,
    /// Branches.
    pub folding: Folding,
    /// The main thread.
    pub context: Context,
    /// Counting tokens.
    pub count: Count,
    /// Taking secrets out.
    pub scrub: Scrub,
    /// Long results.
    pub shape: Shape,
    /// Reading transcripts.
    pub transcripts: Transcripts,
    /// Forks.
    pub fork: Fork,
    /// Rescues.
    pub rescue: Rescue,
    /// Requests to model providers.
    pub proxy: Proxy,
    /// Agents that are started.
    pub run: Run,
    /// Playing recorded sessions.
    pub windows: Windows,
    pub prices: Prices,
    /// The database.
    pub store: Store,
    /// The MCP tools.
    pub mcp: Mcp,
    /// Who may come in.
    pub auth: Auth,
    /// Logs, traces, metrics.
    pub telemetry: Telemetry,
    /// For infold's own tests.
    pub testing: Testing,
}

/// `[server]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Server {
    pub listen: String,
    pub worker_threads: usize,
    pub connections_max: usize,
    pub streams_max: usize,
    pub head_bytes_max: usize,
    pub head_timeout_ms: u64,
    pub body_bytes_max: u64,
    pub transcript_bytes_max: u64,
    pub stall_timeout_ms: u64,
    pub idle_timeout_ms: u64,
    pub drain_timeout_ms: u64,
}

/// `[folding]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Folding {
    pub default_budget: u64,
    pub max_budget: u64,
    pub max_depth: u32,
    pub default_timeout_seconds: u64,
    pub max_timeout_seconds: u64,
    pub max_concurrent_per_session: u32,
    pub max_concurrent_per_instance: u32,
    pub max_branches_per_minute: u32,
    pub allocation: Allocation,
    pub isolation: Isolation,
    pub session_budget: u64,
    pub session_end_timeout_seconds: u64,
}

/// Where a branch's budget comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allocation {
    /// Each branch has its own.
    Independent,
    /// It is taken out of the parent's remainder.
    Pool,
}

/// What a branch's thread begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Its brief.
    Isolated,
    /// Its parent's conversation.
    Inherit,
}

/// `[context]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Context {
    pub context_limit: u64,
    pub context_hard_limit: bool,
}

/// `[count]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// Whose tokens are counted.
    pub family: Family,
}

/// A family of models that count tokens alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// OpenAI's models, and the nearest guess for anybody else's.
    Gpt,
    /// Claude up to 4.6.
    Claude,
    /// Claude since 4.7.
    ClaudeNew,
}

/// `[scrub]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Scrub {
    pub timeout_ms: u64,
    pub max_bytes: usize,
}

/// `[shape]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Shape {
    pub file_bytes_max: usize,
    pub output_bytes_max: usize,
    pub reread_bytes_min: usize,
    pub lines_chars_max: usize,
    pub names_chars_max: usize,
}

/// `[transcripts]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Transcripts {
    pub entry_bytes_max: usize,
    pub problems_max: usize,
}

/// `[fork]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Fork {
    pub profile: Profile,
    pub char_budget: usize,
}

/// How a fork spends its characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// By the age of each tool result.
    Seed,
    /// Where they are used again.
    Recall,
}

impl From<Profile> for infold_core::fork::Profile {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Seed => Self::Seed,
            Profile::Recall => Self::Recall,
        }
    }
}

/// `[rescue]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Rescue {
    pub window_tokens: u64,
    pub reserve_tokens: u64,
}

/// `[proxy]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Proxy {
    pub plan: bool,
    pub shape: bool,
    pub body_bytes_max: usize,
    pub connect_timeout_ms: u64,
    pub silence_timeout_ms: u64,
    pub hold_ms: u64,
    pub retries_max: u32,
    pub retry_statuses: Vec<u16>,
    pub retry_after_max_ms: u64,
    pub sessions_max: usize,
    pub sessions_bytes_max: usize,
    pub anthropic: Upstream,
    pub openai: Upstream,
}

/// `[windows]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Windows {
    pub default_tokens: u64,
    pub models: Vec<Window>,
}

/// Tokens that a model takes: its name, in which `*` stands for anything, how many clients fill, and how many it takes
/// from those that ask for more.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Window {
    /// One size for everybody.
    Fixed(String, u64),
    /// A usual size, and a larger one for those that ask.
    Extendable(String, u64, u64),
}

impl Window {
    /// The model's name.
    pub fn model(&self) -> &str {
        match self {
            Self::Fixed(model, _) | Self::Extendable(model, ..) => model,
        }
    }

    /// Tokens that clients fill.
    pub fn tokens(&self) -> u64 {
        match self {
            Self::Fixed(_, tokens) | Self::Extendable(_, tokens, _) => *tokens,
        }
    }

    /// Tokens that it takes from those that ask for more.
    pub fn largest_tokens(&self) -> u64 {
        match self {
            Self::Fixed(_, tokens) | Self::Extendable(_, _, tokens) => *tokens,
        }
    }
}

/// `[proxy.anthropic]` and `[proxy.openai]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// Where requests go.
    pub upstream: String,
}

/// `[run]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Run {
    pub window_tokens: u64,
    pub default_budget_percent: u32,
    pub max_budget_percent: u32,
    pub default_timeout_seconds: u64,
    pub max_timeout_seconds: u64,
    pub max_branches_per_minute: u32,
    pub max_concurrent_per_session: u32,
    pub always_load: bool,
}

/// `[prices]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Prices {
    pub models: Vec<Price>,
}

/// What a provider asks for a million tokens: a model's name, in which `*` stands for anything, then
/// input, output, cache read and cache write.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Price(pub String, pub f64, pub f64, pub f64, pub f64);

/// `[store]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Store {
    pub synchronous: Synchronous,
    pub retention_days: u32,
    pub live_hours: u32,
    pub busy_timeout_ms: u64,
    pub readers: usize,
    pub checkpoint_pages: u32,
    pub result_offload_threshold: usize,
}

/// How hard the database holds on to what it acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Synchronous {
    /// Survives power loss.
    Full,
    /// Can lose the last writes at power loss.
    Normal,
}

/// `[mcp]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Mcp {
    pub tools: Vec<ToolFamily>,
    pub session: SessionSource,
    pub errors: ErrorForm,
    pub message_bytes_max: usize,
    pub sessions_max: usize,
    pub session_idle_seconds: u64,
}

/// A family of MCP tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolFamily {
    /// `branch_create` and its kin.
    Branch,
    /// `context_branch` and its kin.
    Context,
    /// What an agent behind the proxy needs, and no more.
    Lean,
}

/// Who says which session a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionSource {
    /// Whoever calls.
    Caller,
    /// The proxy, which saw the model make the call.
    Proxy,
}

/// How the `context_*` tools tell of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorForm {
    /// As a JSON-RPC error.
    Jsonrpc,
    /// As a tool result.
    Result,
}

/// `[auth]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Auth {
    pub validator: Validator,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub jwt: Jwt,
}

/// Whether sessions are kept apart by who made them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validator {
    /// A session belongs to whoever made it.
    Strict,
    /// Everyone who may come in shares all sessions.
    Permissive,
}

/// `[auth.jwt]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Jwt {
    pub algorithm: String,
    pub issuer: String,
    pub audience: String,
    pub key_file: String,
    pub jwks_file: String,
    pub leeway_seconds: u64,
}

impl Jwt {
    /// Whether tokens of others are accepted at all.
    pub fn is_on(&self) -> bool {
        [&self.algorithm, &self.issuer, &self.audience, &self.key_file, &self.jwks_file]
            .into_iter()
            .any(|value| !value.is_empty())
    }
}

/// `[telemetry]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Telemetry {
    pub log_format: LogFormat,
    pub log_level: LogLevel,
    pub otlp_endpoint: String,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// The least important thing that is still logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the usual names")]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// `[testing]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "default.toml has a sentence for each")]
pub struct Testing {
    pub fixtures: bool,
    pub scrub_fault: ScrubFault,
}

/// A way for the scrubber to misbehave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScrubFault {
    /// It works.
    None,
    /// It panics.
    Panic,
    /// It never answers.
    Stall,
    /// It is not there.
    Missing,
}
